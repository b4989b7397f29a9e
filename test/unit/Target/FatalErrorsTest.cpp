#include "gantry/Target/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <thread>

namespace gantry {
namespace {

TEST(FatalErrors, endTheCallNotTheProcess) {
  bool after = false;
  auto reason = runGuarded([&] {
    llvm::report_fatal_error("no such register");
    after = true;
  });
  EXPECT_EQ(reason, "no such register");
  EXPECT_FALSE(after);
  EXPECT_EQ(runGuarded([&] { after = true; }), std::nullopt);
  EXPECT_TRUE(after);
}

TEST(FatalErrors, belongToTheirThread) {
  std::optional<std::string> inner, outer;
  outer = runGuarded([&] {
    std::thread([&] { inner = runGuarded([] { llvm::report_fatal_error("inner"); }); }).join();
    llvm::report_fatal_error("outer");
  });
  EXPECT_EQ(inner, "inner");
  EXPECT_EQ(outer, "outer");
}

TEST(FatalErrors, leaveTheInnermostGuard) {
  std::optional<std::string> inner;
  EXPECT_EQ(runGuarded([&] { inner = runGuarded([] { llvm::report_fatal_error("near"); }); }),
            std::nullopt);
  EXPECT_EQ(inner, "near");
}

TEST(FatalErrorsDeathTest, ofOthersAreLLVMs) {
  (void)runGuarded([] {});
  EXPECT_EXIT(llvm::report_fatal_error("not ours", false), testing::ExitedWithCode(1), "not ours");
}

} // namespace
} // namespace gantry
