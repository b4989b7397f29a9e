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

TEST(Chain, EvenChainsTakeRevolvesNumberOfSteps) {
  int chains = 0;
  for (Solver solver : {Solver::chains, Solver::portfolio})
    for (uint32_t length = 2; length <= 52; length += length < 12 ? 1 : 10)
      for (uint32_t checkpoints = 1; checkpoints <= 6; ++checkpoints, ++chains) {
        Problem problem = evenChain(length, checkpoints);
        Answer found = solve(problem, 2000, solver);
        ASSERT_EQ(check(problem, found), "");
        EXPECT_LE(found.peak, problem.limit);
        EXPECT_EQ(found.seconds, revolve(length, checkpoints))
            << length << " steps, " << checkpoints << " checkpoints, solver " << int(solver);
      }
  std::printf("%d even chains\n", chains);
}

/// A chain whose states, gradients and seconds are uneven; the way back reads the states, and tapes
/// where there are any.
Problem unevenChain(std::mt19937 &random, uint32_t length, bool hasTapes) {
  auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  test::ProblemBuilder b;
  std::vector<uint32_t> states{b.value(1 + below(9))}, tapes;
  for (uint32_t i = 0; i < length; ++i) {
    const double seconds = 1 + below(9);
    states.push_back(b.step(seconds, {states.back()}, 1 + below(9)));
    if (hasTapes) {
      tapes.push_back(b.value(1 + below(9)));
      b.last().makes.push_back(tapes.back());
    }
  }
  uint32_t gradient = b.step(1, {states.back()}, 1 + below(4));
  for (uint32_t i = length; i-- > 0;) {
    const double seconds = 1 + below(9);
    std::vector<uint32_t> reads{states[i], gradient};
    if (hasTapes)
      reads.push_back(tapes[i]);
    gradient = b.step(seconds, std::move(reads), 1 + below(4));
  }
  return b.problem;
}

TEST(Chain, UnevenChainsAgainstEveryAnswer) {
  std::mt19937 random(1);
  const int count = test::shortOrLong(100, 1000);
  struct Tally {
    Solver solver;
    int optimal = 0, missed = 0;
    double worst = 1;
  } all{Solver::portfolio}, chains{Solver::chains};
  for (int round = 0; round < count;) {
    Problem problem = unevenChain(random, 2 + random() % 5, round % 2 == 0);
    test::Exhaustive exhaustive(problem);
    const uint64_t least = exhaustive.leastPeak();
    problem.limit = UINT64_MAX;
    const uint64_t plain = solve(problem, 0).peak;
    if (least == plain)
      continue;
    ++round;
    problem.limit = least + random() % (plain - least);
    const double best = exhaustive.fewestSeconds(problem.limit);
    for (Tally *tally : {&all, &chains}) {
      const Answer found = solve(problem, 5000, tally->solver);
      ASSERT_EQ(check(problem, found), "");
      if (found.peak > problem.limit) {
        ++tally->missed;
        continue;
      }
      EXPECT_GE(found.seconds, best);
      tally->optimal += found.seconds == best;
      tally->worst = std::max(tally->worst, found.seconds / best);
    }
  }
  for (const Tally *tally : {&all, &chains})
    std::printf("%d uneven chains, %s: %d optimal, worst ratio %.3f, %d without an answer within "
                "the limit\n",
                count, tally == &all ? "all solvers" : "dynamic programming", tally->optimal,
                tally->worst, tally->missed);
  EXPECT_GE(all.optimal, count * 95 / 100);
  EXPECT_LE(all.worst, 1.1);
  EXPECT_LE(all.missed, count / 50);
  EXPECT_GE(chains.optimal, count * 7 / 10);
}

} // namespace
