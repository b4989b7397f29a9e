// Copy budgets: what is read, what is refused, which copy counts where.
#include "gantry/Device/CopyBudget.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

DeviceName name(const std::string &text) { return *DeviceName::parse(text); }

TEST(CopyBudget, X4_ReadsLimitsByDirection) {
  const CopyBudget budget = *parseCopyBudget("d2h:0, h2d : 1 MiB");
  EXPECT_EQ(budget.of(CopyDirection::d2h), 0u);
  EXPECT_EQ(budget.of(CopyDirection::h2d), 1u << 20);
  EXPECT_FALSE(budget.of(CopyDirection::d2d));
  EXPECT_FALSE(parseCopyBudget("")->of(CopyDirection::h2d));
}

TEST(CopyBudget, X4_ErrorsSayTheColumn) {
  auto wrong = [](const std::string &text) { return parseCopyBudget(text).status().message(); };
  EXPECT_EQ(wrong("h2d:1MiB,up:3"), "copy budget 'h2d:1MiB,up:3', column 10: 'up:3' is not "
                                    "DIRECTION:BYTES; the directions are h2d, d2h, d2d");
  EXPECT_EQ(wrong("h2d:1,"), "copy budget 'h2d:1,', column 7: '' is not DIRECTION:BYTES; the "
                             "directions are h2d, d2h, d2d");
  EXPECT_EQ(wrong("h2d:1,h2d:2"), "copy budget 'h2d:1,h2d:2', column 7: h2d is given twice");
  EXPECT_TRUE(wrong("d2d:many").starts_with("copy budget 'd2d:many', column 5: 'many' is not a"));
  EXPECT_TRUE(wrong("d2d").starts_with("copy budget 'd2d', column 5: '' is not a byte count"));
}

TEST(CopyBudget, X4_CopiesBetweenDevicesOfATypeAreD2D) {
  EXPECT_EQ(copyDirection(name("CPU:0"), name("GPU:0")), CopyDirection::h2d);
  EXPECT_EQ(copyDirection(name("GPU:0"), name("CPU:0")), CopyDirection::d2h);
  EXPECT_EQ(copyDirection(name("GPU:0"), name("GPU:1")), CopyDirection::d2d);
  EXPECT_EQ(copyDirection(name("CPU:0"), name("/task:1/device:CPU:0")), CopyDirection::d2d);
}

} // namespace
} // namespace gantry
