#include "gantry/Support/Capped.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

TEST(Capped, SumsEndAtTheMost) {
  EXPECT_EQ(cappedSum(1, 2), 3u);
  EXPECT_EQ(cappedSum(mostBytes, 0), mostBytes);
  EXPECT_EQ(cappedSum(mostBytes - 1, 1), mostBytes);
  EXPECT_EQ(cappedSum(mostBytes, 1), mostBytes);
  EXPECT_EQ(cappedSum(1, mostBytes), mostBytes);
  EXPECT_EQ(cappedSum(UINT64_MAX, 1), mostBytes);
  EXPECT_EQ(cappedSum(1, UINT64_MAX), mostBytes);
}

TEST(Capped, ProductsEndAtTheMost) {
  const uint64_t half = uint64_t(1) << 32;
  EXPECT_EQ(cappedProduct({}), 1u);
  EXPECT_EQ(cappedProduct({3, 5, 7}), 105u);
  EXPECT_EQ(cappedProduct({half, half}), mostBytes);
  EXPECT_EQ(cappedProduct({half, half >> 1}), mostBytes);
  EXPECT_EQ(cappedProduct({half, half >> 2}), uint64_t(1) << 62);
  EXPECT_EQ(cappedProduct({half, half, 0}), 0u);
  EXPECT_EQ(cappedProduct({0, half, half}), 0u);
  EXPECT_EQ(cappedProduct({UINT64_MAX, UINT64_MAX, UINT64_MAX}), mostBytes);
}

} // namespace
