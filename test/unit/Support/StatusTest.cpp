#include "gantry/Support/Status.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Version.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

TEST(Status, KeepsCodeAndMessageWhenCopied) {
  Status status = Status::notFound("no 'x'");
  Status copy = status;
  EXPECT_EQ(copy.code(), StatusCode::notFound);
  EXPECT_EQ(copy.message(), "no 'x'");
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().message(), "");
}

Status failing() { return Status::corrupt("torn"); }
Status passesOn() {
  GANTRY_RETURN_IF_ERROR(Status());
  GANTRY_RETURN_IF_ERROR(failing());
  return Status::internal("not reached");
}

TEST(Status, ReturnIfErrorPassesTheFirstFailureOn) { EXPECT_EQ(passesOn().message(), "torn"); }

TEST(Expected, HoldsWhatCanOnlyBeMoved) {
  Expected<std::unique_ptr<int>> value = std::make_unique<int>(3);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value.take(), 3);
  Expected<std::unique_ptr<int>> none = Status::doesNotFit("big");
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::doesNotFit);
}

TEST(AlignedBuffer, StartsAtACacheLine) {
  for (uint64_t size : {0, 1, 100, 100000}) {
    AlignedBuffer buffer = AlignedBuffer::allocate(size);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), size);
  }
}

TEST(AlignedBuffer, SaysWhenMemoryIsShort) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator stops the program instead";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer's allocator stops the program instead";
#endif
#endif
  AlignedBuffer buffer = AlignedBuffer::allocate(uint64_t(1) << 60);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(Version, TextAndNumbersAgree) {
  EXPECT_EQ(std::to_string(GANTRY_VERSION_MAJOR) + "." + std::to_string(GANTRY_VERSION_MINOR) +
                "." + std::to_string(GANTRY_VERSION_PATCH),
            GANTRY_VERSION_STRING);
}

} // namespace
