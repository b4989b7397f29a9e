// Chains: against the number of steps that Revolve's theorem gives for even ones, and against every
// answer for uneven ones.
#include "Exhaustive.h"
#include "LongTests.h"
#include "Problems.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace {
using namespace gantry;
using namespace gantry::remat;

/// Steps that advance a state, each in its place, and steps that go back, each from the state in
/// front of it: the setting of Griewank and Walther. The first state is given.
Problem evenChain(uint32_t length, uint32_t checkpoints) {
  test::ProblemBuilder b;
  std::vector<uint32_t> states{b.value(1)};
  for (uint32_t i = 1; i < length; ++i)
    states.push_back(b.step(1, {states.back()}, 1,
                            i == 1 ? std::vector<uint32_t>() : std::vector{states.back()}));
  uint32_t gradient = b.value(1);
  for (uint32_t i = length; i-- > 0;) {
    gradient = b.step(0, {states[i], gradient}, 1, {gradient});
    if (i + 1 == length)
      b.last().replaces.clear();
  }
  // One checkpoint is the first state; one state besides is the one that advances; the gradient.
  b.problem.limit = checkpoints + 1;
  return b.problem;
}

/// Algorithm 799: the fewest advances for a chain, r t - beta(c + 1, r - 1), where r is the least
/// with beta(c, r) = (c + r)! / (c! r!) at least the length.
double revolve(uint32_t length, uint32_t checkpoints) {
  auto beta = [](uint32_t c, uint32_t r) {
    double result = 1;
    for (uint32_t i = 1; i <= r; ++i)
      result = result * (c + i) / i;
    return result;
  };
  uint32_t r = 0;
  while (beta(checkpoints, r) < length)
    ++r;
  return r == 0 ? 0 : double(r) * length - beta(checkpoints + 1, r - 1);
}

TEST(Chain, RevolvesNumbersAreTheOptimum) {
  for (uint32_t length = 2; length <= 9; ++length)
    for (uint32_t checkpoints = 1; checkpoints <= 3; ++checkpoints) {
      Problem problem = evenChain(length, checkpoints);
      EXPECT_EQ(test::Exhaustive(problem).fewestSeconds(problem.limit),
                revolve(length, checkpoints))
          << length << " " << checkpoints;
    }
}

/// Without effort, that is by dynamic programming and the greedy solver alone.
TEST(Chain, EvenChainsTakeAboutRevolvesNumberOfSteps) {
  int chains = 0, equal = 0;
  for (Solver solver : {Solver::chains, Solver::portfolio})
    for (uint32_t length = 2; length <= 60; length += length < 12 ? 1 : 8)
      for (uint32_t checkpoints = 1; checkpoints <= 6; ++checkpoints, ++chains) {
        Problem problem = evenChain(length, checkpoints);
        Answer found = solve(problem, 0, solver);
        ASSERT_EQ(check(problem, found), "");
        EXPECT_LE(found.peak, problem.limit);
        const double fewest = revolve(length, checkpoints);
        equal += found.seconds == fewest;
        EXPECT_GE(found.seconds, fewest);
        EXPECT_LE(found.seconds, 1.3 * fewest)
            << length << " steps, " << checkpoints << " checkpoints, solver " << int(solver);
      }
  std::printf("%d even chains, %d with Revolve's number of steps\n", chains, equal);
  EXPECT_GE(equal, chains / 4);
}

/// A chain whose states, gradients and seconds are uneven, and whose way back reads state and
/// result, or has a tape of its own.
Problem unevenChain(std::mt19937 &random, uint32_t length) {
  auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  test::ProblemBuilder b;
  std::vector<uint32_t> states{b.value(1 + below(9))}, tapes;
  for (uint32_t i = 0; i < length; ++i) {
    states.push_back(b.step(1 + below(9), {states.back()}, 1 + below(9)));
    tapes.push_back(b.value(1 + below(9)));
    b.last().makes.push_back(tapes.back());
  }
  uint32_t gradient = b.step(1, {states.back()}, 1 + below(4));
  for (uint32_t i = length; i-- > 0;)
    gradient = b.step(1 + below(9), {states[i], tapes[i], gradient}, 1 + below(4));
  return b.problem;
}

TEST(Chain, UnevenChainsAgainstEveryAnswer) {
  std::mt19937 random(1);
  const int count = test::shortOrLong(40, 1000);
  int chains = 0, optimal[2] = {};
  double worst[2] = {1, 1};
  while (chains < count) {
    Problem problem = unevenChain(random, 2 + random() % 5);
    test::Exhaustive exhaustive(problem);
    const uint64_t least = exhaustive.leastPeak();
    problem.limit = UINT64_MAX;
    const Answer plain = solve(problem, 0);
    if (least == plain.peak)
      continue;
    problem.limit = least + random() % (plain.peak - least);
    const double best = exhaustive.fewestSeconds(problem.limit);
    ++chains;
    for (Solver solver : {Solver::portfolio, Solver::chains}) {
      Answer found = solve(problem, 5000, solver);
      ASSERT_EQ(check(problem, found), "");
      EXPECT_GE(found.peak > problem.limit ? best : found.seconds, best);
      const bool fits = found.peak <= problem.limit;
      optimal[int(solver)] += fits && found.seconds == best;
      if (fits)
        worst[int(solver)] = std::max(worst[int(solver)], found.seconds / best);
      EXPECT_TRUE(fits || solver == Solver::chains);
    }
  }
  std::printf("%d uneven chains: %d optimal, worst ratio %.3f; by dynamic programming alone %d, "
              "%.3f\n",
              chains, optimal[0], worst[0], optimal[1], worst[1]);
  EXPECT_GE(optimal[0], chains * 95 / 100);
  EXPECT_LE(worst[0], 1.1);
  EXPECT_GE(optimal[1], chains * 2 / 3);
}

} // namespace
