// What is held when, by runs whose bytes can be added up by hand; what the judge refuses; sizes at
// the ends of what there can be.
#include "gantry/Remat/Remat.h"
#include "Problems.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry::remat;
using gantry::test::ProblemBuilder;

/// The answer with these repetitions; the judge says what its peak is.
Answer answer(const Problem &problem, std::vector<Again> again) {
  Answer answer{std::move(again), 0, 0};
  std::vector<Again> sorted = answer.again;
  std::ranges::stable_sort(sorted, {}, &Again::before);
  size_t at = 0;
  for (size_t step = 0; step <= problem.steps.size(); ++step) {
    for (; at < sorted.size() && sorted[at].before == step; ++at)
      answer.seconds += problem.steps[sorted[at].step].seconds;
    answer.seconds += step < problem.steps.size() ? problem.steps[step].seconds : 0;
  }
  return answer;
}

/// What the judge says of a peak of that many bytes.
std::string judge(const Problem &problem, std::vector<Again> again, uint64_t peak) {
  Answer given = answer(problem, std::move(again));
  given.peak = peak;
  return check(problem, given);
}

/// a = f(x); b = g(a); c = h(b); d = k(a, c): a waits for k.
Problem waiting() {
  ProblemBuilder b;
  uint32_t x = b.value(1000);
  uint32_t a = b.step(1, {x}, 10);
  uint32_t c = b.step(2, {a}, 20);
  uint32_t d = b.step(4, {c}, 5);
  uint32_t e = b.step(8, {a, d}, 1);
  b.problem.kept = {e};
  return b.problem;
}

//===----------------------------------------------------------------------===//
// What is held
//===----------------------------------------------------------------------===//

TEST(Held, FromTheRunThatMakesItToItsLastReader) {
  Problem problem = waiting(); // 10, 10 + 20, 10 + 20 + 5, 10 + 5 + 1
  EXPECT_EQ(judge(problem, {}, 35), "");
  EXPECT_EQ(judge(problem, {}, 34), "the peak is 35, not 34");
}

TEST(Held, ACopyEndsWithItsLastReaderBeforeTheNext) {
  Problem problem = waiting(); // 10, 10 + 20, 20 + 5, 5 + 10, 10 + 5 + 1
  EXPECT_EQ(judge(problem, {{0, 3}}, 30), "");
  // Made again too early, nothing is won.
  EXPECT_EQ(judge(problem, {{0, 2}}, 35), "");
}

TEST(Held, ACopyThatNobodyReadsInTheRunThatMakesIt) {
  ProblemBuilder b;
  b.step(1, {}, 7);
  b.step(1, {}, 5);
  EXPECT_EQ(judge(b.problem, {}, 7), "");
  EXPECT_EQ(judge(b.problem, {{0, 2}, {0, 2}}, 7), "");
}

TEST(Held, ScratchWhileAStepRuns) {
  Problem problem = waiting();
  problem.steps[1].scratch = 6;
  EXPECT_EQ(judge(problem, {{0, 3}}, 36), "");
}

TEST(Held, KeptValuesToTheEnd) {
  Problem problem = waiting();
  problem.kept.push_back(2); // of 20 bytes
  EXPECT_EQ(judge(problem, {{0, 3}}, 36), "");
  // Made again at the end, from a value that is held until then; in the order given.
  EXPECT_EQ(judge(problem, {{0, 3}, {1, 4}}, 31), "");
  EXPECT_EQ(judge(problem, {{0, 3}, {0, 4}, {1, 4}}, 31), "");
}

TEST(Held, RepetitionsInFrontOfAStepRunInTheOrderGiven) {
  ProblemBuilder b;
  uint32_t a = b.step(1, {}, 4), c = b.step(1, {}, 8);
  b.step(1, {a}, 32);
  b.step(1, {a, c}, 2);
  b.last().makes.clear();
  // a, then c is held beside a; the other way round as well, but for the scratch of a.
  b.problem.steps[0].scratch = 100;
  EXPECT_EQ(judge(b.problem, {{0, 3}, {1, 3}}, 104), "");
  EXPECT_EQ(judge(b.problem, {{1, 3}, {0, 3}}, 112), "");
}

TEST(Held, AResultInThePlaceOfAnOperandThatEnds) {
  Problem problem = waiting();
  problem.bytes[2] = 10;
  problem.steps[1].replaces = {1};
  EXPECT_EQ(judge(problem, {}, 25), ""); // a is read again
  EXPECT_EQ(judge(problem, {{0, 3}}, 16), "");
  problem.bytes[2] = 9; // of other sizes
  EXPECT_EQ(judge(problem, {{0, 3}}, 19), "");
}

TEST(Held, EachPlaceOnceInTheOrderOfTheOperands) {
  ProblemBuilder b;
  uint32_t x = b.value(8), y = b.value(8);
  uint32_t a = b.step(1, {x}, 8);
  uint32_t p = b.value(8), q = b.value(8);
  b.problem.steps.push_back({1, {a, y}, {p, q}, {y, a}});
  // p lies in the place of y, a given value, and takes no bytes; q in that of a.
  EXPECT_EQ(judge(b.problem, {}, 8), "");
  b.step(1, {p}, 1);
  EXPECT_EQ(judge(b.problem, {}, 8), "");
  b.step(1, {q, y}, 1); // y is read again: p takes the place of a, q its own
  EXPECT_EQ(judge(b.problem, {}, 17), "");
}

TEST(Held, AnUpdateTakesBytesWhereTheOldValueIsReadLater) {
  ProblemBuilder b;
  uint32_t w = b.value(100), x = b.value(10);
  uint32_t h = b.step(1, {x, w}, 30);
  uint32_t updated = b.step(1, {w, h}, 100, {w});
  b.last().mayRepeat = false;
  b.step(1, {h}, 1);
  b.problem.kept = {updated};
  EXPECT_EQ(judge(b.problem, {}, 31), "");
  // Made again from the old w, which has to stay: the new one needs a place of its own.
  EXPECT_EQ(judge(b.problem, {{0, 2}}, 131), "");
  // What lies in the place of one in a given place takes no bytes either.
  uint32_t again = b.step(1, {updated}, 100, {updated});
  b.problem.kept = {again};
  EXPECT_EQ(judge(b.problem, {}, 31), "");
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST(Judge, RefusesRepetitionsThatCannotBe) {
  Problem problem = waiting();
  problem.steps[1].mayRepeat = false;
  EXPECT_EQ(judge(problem, {{3, 4}, {0, 3}}, 30), "");
  auto refusal = [&](std::vector<Again> again) {
    return check(problem, {std::move(again), 35, 15});
  };
  EXPECT_EQ(refusal({{0, 3}, {1, 3}}), "repetition 1: step 1 may not run again");
  EXPECT_EQ(refusal({{4, 4}}), "repetition 0: step 4 in front of 4, and there are 4");
  EXPECT_EQ(refusal({{0, 5}}), "repetition 0: step 0 in front of 5, and there are 4");
  EXPECT_EQ(refusal({{2, 2}}), "repetition 0: step 2 in front of 2, before it has run");
  EXPECT_EQ(refusal({{3, 1}}), "repetition 0: step 3 in front of 1, before it has run");
}

TEST(Judge, RefusesOtherSeconds) {
  Problem problem = waiting();
  EXPECT_EQ(check(problem, {{}, 35, 15}), "");
  EXPECT_EQ(check(problem, {{}, 35, 16}), "the run takes 15.000000 s, not 16.000000");
  EXPECT_NE(check(problem, {{}, 35, 15 + 1e-9}), "");
}

TEST(Judge, RefusesProblemsWithoutMeaning) {
  auto refusal = [](auto &&damage) {
    Problem problem = waiting();
    damage(problem);
    EXPECT_EQ(check(problem, {{}, 35, 15}), checkProblem(problem));
    return checkProblem(problem);
  };
  EXPECT_EQ(refusal([](Problem &) {}), "");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].seconds = -1; }), "step 1 takes -1.000000 seconds");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].seconds = 1e308 * 10; }),
            "step 1 takes inf seconds");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[0].seconds = p.steps[1].seconds = 1e308; }),
            "the steps take no finite number of seconds together");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].reads = {9}; }),
            "step 1 reads value 9, and there are 5");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].reads = {1, 0, 1}; }),
            "step 1 reads value 1 twice");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].makes = {2, 2}; }), "step 1 makes value 2 twice");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].replaces = {0}; }),
            "step 1 replaces value 0, which it does not read");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].makes = {1}; }),
            "step 1 makes value 1, as another step does");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[1].makes = {0}; }),
            "step 1 makes value 0, which is read before");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[0].makes = {0}; }),
            "step 0 makes value 0, which is read before");
  EXPECT_EQ(refusal([](Problem &p) { p.kept = {5}; }), "kept are: value 5, and there are 5");
  EXPECT_EQ(refusal([](Problem &p) { p.bytes[2] = uint64_t(1) << 60; }),
            "the values have 2^60 bytes or more together");
  EXPECT_EQ(refusal([](Problem &p) { p.steps[3].scratch = UINT64_MAX; }),
            "step 3: values and scratch have 2^60 bytes or more together");
}

//===----------------------------------------------------------------------===//
// Solving
//===----------------------------------------------------------------------===//

/// Solved and judged.
Answer solved(const Problem &problem, uint64_t effort = 2000) {
  Answer found = solve(problem, effort);
  EXPECT_EQ(check(problem, found), "");
  EXPECT_LE(leastPeak(problem), found.peak);
  return found;
}

TEST(Solve, MakesAgainWhatWaits) {
  Problem problem = waiting();
  problem.limit = 35;
  EXPECT_EQ(solved(problem).again, std::vector<Again>());
  problem.limit = 34;
  Answer found = solved(problem);
  EXPECT_EQ(found.again, (std::vector<Again>{{0, 3}}));
  EXPECT_EQ(found.peak, 30u);
  EXPECT_EQ(found.seconds, 16);
  problem.limit = 29; // b and what it is made of
  EXPECT_EQ(solved(problem).peak, 30u);
}

TEST(Solve, NothingNeedsNothing) {
  EXPECT_EQ(solved({}).peak, 0u);
  EXPECT_EQ(solved({{}, {5, 6}, 0, {1}}).peak, 0u); // all given
  Problem one;
  one.bytes = {3, 4};
  one.steps.push_back({1, {0}, {1}, {}, 2});
  EXPECT_EQ(solved(one).peak, 6u);
  EXPECT_EQ(leastPeak(one), 6u);
  one.kept = {0, 1};
  EXPECT_EQ(solved(one).peak, 6u);
  one.steps[0].makes.clear();
  one.kept.clear();
  EXPECT_EQ(solved(one).peak, 2u);
}

TEST(Solve, ValuesWithoutBytesAndWithoutReaders) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    Problem problem = gantry::test::randomTraining(random, 12);
    for (uint64_t &bytes : problem.bytes)
      bytes = random() % 3 == 0 ? bytes : 0;
    for (Step &step : problem.steps)
      if (random() % 4 == 0) {
        problem.bytes.push_back(random() % 20);
        step.makes.push_back(uint32_t(problem.bytes.size() - 1));
      }
    for (uint64_t limit : {0, 10, 20, 30}) {
      problem.limit = limit;
      solved(problem, 200);
    }
  }
}

TEST(Solve, WithoutEffortAndSeconds) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    Problem problem = gantry::test::randomTraining(random, 16);
    for (Step &step : problem.steps)
      step.seconds = 0;
    problem.limit = 40;
    solved(problem, 0);
    EXPECT_EQ(solved(problem, 500).seconds, 0);
  }
}

TEST(Solve, LimitsAtTheEnds) {
  Problem problem = waiting();
  const uint64_t huge = uint64_t(1) << 55;
  for (uint64_t scale : {uint64_t(1), huge / 1000}) {
    Problem scaled = problem;
    for (uint64_t &bytes : scaled.bytes)
      bytes *= scale;
    scaled.limit = 0;
    EXPECT_EQ(solved(scaled).peak, 30 * scale);
    scaled.limit = 35 * scale - 1;
    EXPECT_EQ(solved(scaled).peak, 30 * scale);
    for (uint64_t limit : {UINT64_MAX, UINT64_MAX - 1, uint64_t(1) << 63, 35 * scale}) {
      scaled.limit = limit;
      EXPECT_EQ(solved(scaled).again, std::vector<Again>());
    }
  }
}

TEST(Solve, AnUpdateIsNotRunAgain) {
  ProblemBuilder b;
  uint32_t a = b.step(1, {b.value(1)}, 10);
  b.last().mayRepeat = false;
  uint32_t c = b.step(1, {a}, 20);
  b.step(1, {c}, 30);
  b.step(1, {a}, 1);
  b.problem.limit = 50;
  EXPECT_EQ(solved(b.problem).peak, 60u);
  EXPECT_EQ(leastPeak(b.problem), 60u);
}

TEST(Solve, TheSameAnswerEachTime) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    Problem problem = gantry::test::randomTraining(random, 40);
    problem.limit = solve(problem, 0).peak + 8;
    Answer first = solved(problem, 3000), second = solved(problem, 3000);
    EXPECT_EQ(first.again, second.again);
    EXPECT_EQ(first.peak, second.peak);
    EXPECT_EQ(first.seconds, second.seconds);
  }
}

} // namespace
