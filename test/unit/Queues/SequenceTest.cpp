// Orders that hold few bytes: the judge by hand, and every search against all orders.
#include "gantry/Queues/Sequence.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace gantry::queues;

namespace {

using Order = std::vector<uint32_t>;

/// a = 8 bytes, b = 4 from a, c = 4 from a, d from b and c.
Sequence diamond() {
  return {{{{}, {0}, {}, {}, 0},
           {{0}, {1}, {}, {}, 0},
           {{0}, {2}, {}, {}, 2},
           {{1, 2}, {3}, {}, {}, 0}},
          {8, 4, 4, 1}};
}

TEST(PeakOf, CountsValuesFromTheirMakerToTheirLastReader) {
  // a, b, c and the scratch memory of c.
  EXPECT_EQ(peakOf(diamond(), {0, 1, 2, 3}), 18u);
  EXPECT_EQ(peakOf(diamond(), {0, 2, 1, 3}), 16u);
  EXPECT_EQ(peakOf(Sequence(), {}), 0u);
}

TEST(PeakOf, AValueMayTakeThePlaceOfOneThatEnds) {
  // The second step may write over the first one's value, when the third does not want it.
  Sequence chain{{{{}, {0}, {}, {}, 0}, {{0}, {1}, {0}, {}, 0}, {{1}, {}, {}, {}, 0}}, {8, 8}};
  EXPECT_EQ(peakOf(chain, {0, 1, 2}), 8u);
  chain.steps[2].reads = {0, 1};
  EXPECT_EQ(peakOf(chain, {0, 1, 2}), 16u);
  // What has another size has another place.
  chain.steps[2].reads = {1};
  chain.bytes = {8, 4};
  EXPECT_EQ(peakOf(chain, {0, 1, 2}), 12u);
}

TEST(PeakOf, RefusesWhatCannotRun) {
  for (const Order &order :
       std::vector<Order>{{0, 1, 2}, {0, 1, 1, 3}, {1, 0, 2, 3}, {0, 1, 2, 4}, {0, 1, 2, 3, 3}})
    EXPECT_EQ(peakOf(diamond(), order), UINT64_MAX);
  Sequence after = diamond();
  after.steps[1].after = {2};
  EXPECT_EQ(peakOf(after, {0, 1, 2, 3}), UINT64_MAX);
  EXPECT_EQ(peakOf(after, {0, 2, 1, 3}), 16u);
}

Sequence drawSequence(std::mt19937 &random, uint32_t steps) {
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Sequence sequence;
  for (uint32_t i = 0; i < steps; ++i) {
    Step step;
    for (uint32_t value = 0; value < sequence.bytes.size(); ++value)
      if (below(3) == 0) {
        step.reads.push_back(value);
        if (below(2) == 0)
          step.mayReplace.push_back(value);
      }
    if (i > 0 && below(8) == 0)
      step.after.push_back(below(i));
    step.scratch = below(4) == 0 ? below(50) : 0;
    step.makes.push_back(sequence.bytes.size());
    sequence.bytes.push_back(1 + below(3) * 20);
    sequence.steps.push_back(step);
  }
  return sequence;
}

uint64_t leastPeak(const Sequence &sequence) {
  Order order(sequence.steps.size());
  std::iota(order.begin(), order.end(), 0);
  uint64_t least = UINT64_MAX;
  do
    least = std::min(least, peakOf(sequence, order));
  while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(Orders, CanRunAndABeamOfAllStatesFindsTheBest) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Sequence sequence = drawSequence(random, 1 + random() % 7);
    uint64_t least = leastPeak(sequence);
    EXPECT_EQ(peakOf(sequence, orderByBeam(sequence, 1000)), least);
    for (const Order &order : {orderDepthFirst(sequence, false), orderDepthFirst(sequence, true),
                               orderGreedily(sequence), orderByBeam(sequence, 2)}) {
      uint64_t peak = peakOf(sequence, order);
      EXPECT_GE(peak, least);
      EXPECT_NE(peak, UINT64_MAX);
    }
  }
}

TEST(Orders, DepthFirstBringsInWhatIsNeededLate) {
  // Weights are made first, and one step of a chain reads each.
  Sequence weights;
  for (uint32_t i = 0; i < 8; ++i)
    weights.steps.push_back({{}, {i}, {}, {}, 0});
  for (uint32_t i = 0; i < 8; ++i)
    weights.steps.push_back(
        {i ? std::vector<uint32_t>{i, 7 + i} : std::vector<uint32_t>{0}, {8 + i}, {}, {}, 0});
  weights.bytes.assign(16, 10);
  EXPECT_EQ(peakOf(weights, orderDepthFirst(weights, false)), 90u);
  EXPECT_EQ(peakOf(weights, orderDepthFirst(weights, true)), 30u);
}

TEST(Orders, ManyStepsTakeLittle) {
  std::mt19937 random(6);
  Sequence sequence;
  for (uint32_t i = 0; i < 20000; ++i) {
    sequence.steps.push_back({{}, {i}, {}, {}, 0});
    sequence.bytes.push_back(1 + random() % 9);
    if (i > 0)
      sequence.steps.back().reads = {uint32_t(i - 1 - random() % std::min(i, 5u))};
  }
  EXPECT_NE(peakOf(sequence, orderDepthFirst(sequence, false)), UINT64_MAX);
  EXPECT_NE(peakOf(sequence, orderGreedily(sequence)), UINT64_MAX);
}

} // namespace
