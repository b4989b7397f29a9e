// Code that several images share: what is theirs alone, and how long it stays.
#include "PTX/RunText.h"

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

const std::string counter = kernel("ld.global.u64 %rd5, [count];\nadd.u64 %rd5, %rd5, 1;\n"
                                   "st.global.u64 [count], %rd5;\nst.global.u64 [%rd4], %rd5;",
                                   ".global .u64 count;\n");
const std::string copy = kernel("ld.global.u64 %rd5, [%rd3];\nst.global.u64 [%rd4], %rd5;");

std::shared_ptr<Code> codeOf(const std::string &text, const std::string &file = "test.ptx") {
  auto code = Code::of(text, file);
  EXPECT_TRUE(code.ok()) << code.status().message();
  return code.take();
}

std::unique_ptr<Loaded> load(std::shared_ptr<Code> code) {
  auto loaded = std::make_unique<Loaded>();
  auto image = Image::load(std::move(code), loaded->memory);
  EXPECT_TRUE(image.ok()) << image.status().message();
  loaded->image = image.take();
  return loaded;
}

/// What a thread stores that gets `in`.
uint64_t runOnce(Loaded &loaded, uint64_t in) {
  uint64_t out = 0;
  EXPECT_TRUE(loaded.memory.add(&in, sizeof in, "in").ok());
  EXPECT_TRUE(loaded.memory.add(&out, sizeof out, "out").ok());
  const void *arguments[] = {&in, &out};
  Launch launch;
  launch.kernel = "k";
  launch.arguments = std::as_bytes(std::span(arguments));
  auto outcome = run(*loaded.image, launch);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(texts(*outcome), "");
  EXPECT_TRUE(loaded.memory.remove(&in).ok());
  EXPECT_TRUE(loaded.memory.remove(&out).ok());
  return out;
}

TEST(CodeTest, isTheSameForAnEqualTextWhileSomebodyHasIt) {
  std::shared_ptr<Code> code = codeOf(copy);
  EXPECT_EQ(codeOf(copy), code);
  EXPECT_NE(codeOf(copy + "\n"), code);
  EXPECT_NE(codeOf(copy, "other.ptx"), code);
  EXPECT_EQ(codeOf(copy, "other.ptx")->module().file, "other.ptx"); // messages name it
  std::weak_ptr<Code> last = code;
  code.reset();
  EXPECT_TRUE(last.expired());
  EXPECT_EQ(runOnce(*load(codeOf(copy)), 7), 7u);
}

TEST(CodeTest, isDecodedOnceForAllImages) {
  std::shared_ptr<Code> code = codeOf(copy);
  std::unique_ptr<Loaded> first = load(code), second = load(code);
  code.reset();
  auto one = first->image->kernel("k"), other = second->image->kernel("k");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(*one, *other);
  first.reset(); // the second one still has it
  EXPECT_EQ(runOnce(*second, 5), 5u);
}

TEST(CodeTest, hasVariablesInEachImage) {
  std::shared_ptr<Code> code = codeOf(counter);
  std::unique_ptr<Loaded> first = load(code), second = load(code);
  EXPECT_EQ(runOnce(*first, 0), 1u);
  EXPECT_EQ(runOnce(*first, 0), 2u);
  EXPECT_EQ(runOnce(*second, 0), 1u);
  EXPECT_EQ(runOnce(*first, 0), 3u);
  first.reset(); // and its variable with it
  EXPECT_EQ(runOnce(*second, 0), 2u);
}

TEST(CodeTest, whatIsNoPTXIsRefusedEachTime) {
  for (int i = 0; i < 2; ++i) {
    auto code = Code::of("nonsense", "a.ptx");
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.status().message().substr(0, 8), "a.ptx:1:");
  }
}

} // namespace
