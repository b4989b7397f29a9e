#include "gantry/Support/BadIndex.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

std::string textOf(BadIndex bad, std::initializer_list<int64_t> shape,
                   std::initializer_list<int64_t> sizes) {
  return describeBadIndex(bad, "ids", std::span(shape.begin(), shape.size()),
                          std::span(sizes.begin(), sizes.size()));
}

TEST(BadIndex, TheFirstIsFound) {
  const int64_t sizes[] = {9}, indices[] = {-9, 8, 9, -10};
  auto bad = findBadIndex(indices, sizes);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->position, 2);
  EXPECT_EQ(bad->value, 9);
  EXPECT_FALSE(findBadIndex(std::span(indices, 2), sizes));
  EXPECT_FALSE(findBadIndex({}, sizes));
}

TEST(BadIndex, ComponentsHaveTheirOwnSizes) {
  const int64_t sizes[] = {4, 5}, indices[] = {3, 4, 4, 3};
  auto bad = findBadIndex(indices, sizes);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->position, 2);
}

TEST(BadIndex, NoIndexIsInADimensionOfNone) {
  const int64_t sizes[] = {0}, indices[] = {0};
  EXPECT_TRUE(findBadIndex(indices, sizes));
}

TEST(BadIndex, ItsPlaceIsTold) {
  EXPECT_EQ(textOf({17, 50257}, {1, 128}, {50257}),
            "reads index 50257 at [0, 17] of operand 'ids', which must be in [-50257, 50257)");
  EXPECT_EQ(textOf({0, -3}, {}, {2}), "reads index -3 of operand 'ids', which must be in [-2, 2)");
  EXPECT_EQ(textOf({5, 7}, {3, 2}, {4, 5}),
            "reads index 7 at [2, 1] of operand 'ids', which must be in [-5, 5)");
}
} // namespace
