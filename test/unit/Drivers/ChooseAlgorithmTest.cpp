#include "CUDA/Libraries/ChooseAlgorithm.h"

#include <gtest/gtest.h>
#include <vector>

namespace gantry::runtime::cuda::cublaslt {
namespace {

constexpr uint64_t many = uint64_t(1) << 30, few = uint64_t(1) << 20;
constexpr size_t none = 99;

/// Index of the one that is chosen among algorithms of so many waves; negative: one that failed.
size_t chosen(std::initializer_list<float> waves, uint64_t flops = many) {
  std::vector<Heuristic> found;
  for (float each : waves) {
    Heuristic &next = found.emplace_back();
    next.waves = each < 0 ? -each : each;
    next.state = each < 0 ? Result::notSupported : Result::success;
  }
  return chooseAlgorithm(found, flops).value_or(none);
}

TEST(ChooseAlgorithm, TakesTheFirstThatKeepsTheGPUBusy) {
  EXPECT_EQ(chosen({0.9f, 1, 2}), 0u);
  EXPECT_EQ(chosen({12.1f, 1}), 0u);
  EXPECT_EQ(chosen({0.3f, 1}), 0u); // the library's order is worth more than that
}

TEST(ChooseAlgorithm, PassesOverThoseThatLeaveItIdle) {
  EXPECT_EQ(chosen({3 / 132.f, 20 / 132.f, 96 / 132.f}), 2u);
  EXPECT_EQ(chosen({3 / 132.f, 48 / 132.f, 96 / 132.f}), 1u);
  EXPECT_EQ(chosen({3 / 132.f, 5 / 132.f, 24 / 132.f}, few), 2u);
}

TEST(ChooseAlgorithm, PassesOverThoseThatFailed) {
  EXPECT_EQ(chosen({-1, 0.5f}), 1u);
  EXPECT_EQ(chosen({0.02f, -1, 0.05f}, few), 0u);
  EXPECT_EQ(chosen({-1}), none);
  EXPECT_EQ(chosen({}), none);
}

TEST(ChooseAlgorithm, LeavesLargeProductsThatWouldBeIdleToOthers) {
  EXPECT_EQ(chosen({3 / 132.f, 6 / 132.f}), none);
  EXPECT_EQ(chosen({3 / 132.f, 6 / 132.f}, few), 0u); // whose launch takes as long
  EXPECT_EQ(chosen({3 / 132.f, 9 / 132.f}), 0u);
}

TEST(ChooseAlgorithm, TakesTheLibrarysWordWhereItSaysNothingOfWaves) {
  EXPECT_EQ(chosen({0, 0}), 0u);
  EXPECT_EQ(chosen({0.02f, 0}), 1u);
}

} // namespace
} // namespace gantry::runtime::cuda::cublaslt
