#include "gantry/Target/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <thread>

namespace gantry {
namespace {

TEST(FatalErrors, endTheCallNotTheProcess) {
  bool after = false;
  const Status fatal = runGuarded([&] {
    llvm::report_fatal_error("no such register");
    after = true;
  });
  EXPECT_EQ(fatal.code(), StatusCode::internal);
  EXPECT_EQ(fatal.message(), "no such register");
  EXPECT_FALSE(after);
  EXPECT_TRUE(runGuarded([&] { after = true; }).ok());
  EXPECT_TRUE(after);
}

TEST(FatalErrors, belongToTheirThread) {
  Status inner, outer;
  outer = runGuarded([&] {
    std::thread([&] { inner = runGuarded([] { llvm::report_fatal_error("inner"); }); }).join();
    llvm::report_fatal_error("outer");
  });
  EXPECT_EQ(inner.message(), "inner");
  EXPECT_EQ(outer.message(), "outer");
}

TEST(FatalErrors, leaveTheInnermostGuard) {
  Status inner;
  EXPECT_TRUE(
      runGuarded([&] { inner = runGuarded([] { llvm::report_fatal_error("near"); }); }).ok());
  EXPECT_EQ(inner.message(), "near");
}

/// As much as nobody has, behind the optimiser's back.
void allocateTooMuch() {
  volatile size_t tooMuch = PTRDIFF_MAX;
  ::operator delete(::operator new(tooMuch));
}

TEST(FatalErrors, memoryThatIsShortDoesNotFit) {
  bool after = false;
  const Status status = runGuarded([&] {
    allocateTooMuch();
    after = true;
  });
  EXPECT_EQ(status.code(), StatusCode::doesNotFit);
  EXPECT_EQ(status.message(), "there is no more memory to compile with");
  EXPECT_FALSE(after);
  // And nothing is left of it.
  EXPECT_TRUE(runGuarded([&] { after = true; }).ok());
  EXPECT_EQ(runGuarded([] { llvm::report_fatal_error("again"); }).message(), "again");
}

TEST(FatalErrorsDeathTest, ofOthersAreLLVMs) {
  (void)runGuarded([] {});
  EXPECT_EXIT(llvm::report_fatal_error("not ours", false), testing::ExitedWithCode(1), "not ours");
}

} // namespace
} // namespace gantry
