// Random training steps: against every answer of small ones, and the judge against answers that
// were damaged.
#include "Exhaustive.h"
#include "LongTests.h"
#include "Problems.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace {
using namespace gantry;
using namespace gantry::remat;

double secondsOf(const Problem &problem) {
  double seconds = 0;
  for (const Step &step : problem.steps)
    seconds += step.seconds;
  return seconds;
}

/// A problem that needs repetitions: with a limit between the least peak of all and the one without
/// any.
struct Limited {
  Problem problem;
  uint64_t least;
  double best; ///< seconds

  static Limited draw(std::mt19937 &random, size_t mostSteps) {
    while (true) {
      Limited drawn{test::randomTraining(random, mostSteps), 0, 0};
      test::Exhaustive exhaustive(drawn.problem);
      drawn.least = exhaustive.leastPeak();
      drawn.problem.limit = UINT64_MAX;
      const uint64_t plain = solve(drawn.problem, 0).peak;
      if (drawn.least == plain)
        continue;
      drawn.problem.limit = drawn.least + random() % (plain - drawn.least);
      drawn.best = exhaustive.fewestSeconds(drawn.problem.limit);
      return drawn;
    }
  }
};

TEST(Property, AgainstEveryAnswerOfSmallProblems) {
  std::mt19937 random(1);
  const int count = test::shortOrLong(500, 5000);
  int optimal = 0, missed = 0, tight = 0;
  double worst = 1, worstAdded = 1;
  for (int round = 0; round < count; ++round) {
    const Limited drawn = Limited::draw(random, 4 + random() % 9);
    ASSERT_LE(drawn.problem.steps.size(), 12u);
    tight += leastPeak(drawn.problem) == drawn.least;
    EXPECT_LE(leastPeak(drawn.problem), drawn.least);
    Answer found = solve(drawn.problem, 5000);
    ASSERT_EQ(check(drawn.problem, found), "");
    if (found.peak > drawn.problem.limit) {
      ++missed;
      continue;
    }
    EXPECT_GE(found.seconds, drawn.best);
    optimal += found.seconds == drawn.best;
    worst = std::max(worst, found.seconds / drawn.best);
    const double plain = secondsOf(drawn.problem);
    if (drawn.best > plain)
      worstAdded = std::max(worstAdded, (found.seconds - plain) / (drawn.best - plain));
  }
  std::printf("%d problems: %d optimal, worst ratio %.3f (of added seconds %.2f), %d without an "
              "answer within the limit; the bound is the least peak of %d\n",
              count, optimal, worst, worstAdded, missed, tight);
  EXPECT_GE(optimal, count * 98 / 100);
  EXPECT_LE(worst, 1.1);
  EXPECT_LE(missed, count / 500);
}

TEST(Property, TheLeastPeakOfSmallProblems) {
  std::mt19937 random(2);
  const int count = test::shortOrLong(100, 1000);
  int optimal = 0;
  double worst = 1;
  for (int round = 0; round < count; ++round) {
    Limited drawn = Limited::draw(random, 4 + random() % 9);
    drawn.problem.limit = round % 2 == 0 ? 0 : drawn.least - 1;
    Answer found = solve(drawn.problem, 5000);
    ASSERT_EQ(check(drawn.problem, found), "");
    EXPECT_GE(found.peak, drawn.least);
    optimal += found.peak == drawn.least;
    worst = std::max(worst, double(found.peak) / double(drawn.least));
  }
  std::printf("%d problems: %d with the least peak, worst ratio %.3f\n", count, optimal, worst);
  EXPECT_GE(optimal, count * 95 / 100);
  EXPECT_LE(worst, 1.1);
}

/// Any steps with any number of results and places; nothing of a training step.
Problem randomSteps(std::mt19937 &random) {
  auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  Problem problem;
  const uint32_t sizes = 1 + below(6); // few, so that places are taken
  for (uint32_t i = 0; i < 3; ++i)
    problem.bytes.push_back(below(sizes));
  for (uint32_t i = 0, count = below(40); i < count; ++i) {
    Step step{double(below(4)), {}, {}, {}, below(3), below(4) != 0};
    for (uint32_t value = 0; value < problem.bytes.size(); ++value)
      if (below(uint32_t(problem.bytes.size())) < 2) {
        step.reads.push_back(value);
        if (below(2))
          step.replaces.push_back(value);
      }
    std::ranges::shuffle(step.replaces, random);
    for (uint32_t results = below(4); results-- > 0;) {
      step.makes.push_back(uint32_t(problem.bytes.size()));
      problem.bytes.push_back(below(sizes));
    }
    problem.steps.push_back(std::move(step));
  }
  for (uint32_t value = 0; value < problem.bytes.size(); ++value)
    if (below(5) == 0)
      problem.kept.push_back(value);
  return problem;
}

TEST(Property, TheJudgeAcceptsEveryAnswer) {
  std::mt19937 random(3);
  size_t repetitions = 0;
  for (int round = 0; round < test::shortOrLong(300, 5000); ++round) {
    Problem problem = randomSteps(random);
    ASSERT_EQ(checkProblem(problem), "") << "round " << round;
    problem.limit = UINT64_MAX;
    const uint64_t plain = solve(problem, 0).peak, least = leastPeak(problem);
    ASSERT_LE(least, plain);
    problem.limit = least + (plain - least) * (random() % 4) / 4;
    for (Solver solver : {Solver::portfolio, Solver::chains, Solver::greedy, Solver::search}) {
      Answer found = solve(problem, 300, solver);
      ASSERT_EQ(check(problem, found), "") << "round " << round << ", solver " << int(solver);
      ASSERT_GE(found.peak, least) << "round " << round;
      repetitions += found.again.size();
    }
  }
  EXPECT_GT(repetitions, 300u);
}

/// An answer that is wrong for sure; of a problem whose limit is under its peak without
/// repetitions.
Answer damaged(const Problem &problem, Answer answer, std::mt19937 &random) {
  auto below = [&](size_t limit) { return static_cast<uint32_t>(random() % limit); };
  const uint32_t steps = uint32_t(problem.steps.size());
  std::vector<Again> &again = answer.again;
  auto insert = [&](Again one) { again.insert(again.begin() + below(again.size() + 1), one); };
  while (true)
    switch (below(10)) {
    case 0: // another peak
      answer.peak = below(2) ? answer.peak + 1 + below(9) : answer.peak - 1;
      return answer;
    case 1: // other seconds
      answer.seconds = below(2) ? answer.seconds * (1 + 1e-9) + 1e-9 : -answer.seconds - 1;
      return answer;
    case 2: // no such step
      insert({steps + below(3), steps});
      return answer;
    case 3: // no such place
      insert({below(steps), steps + 1 + below(3)});
      return answer;
    case 4: { // before the step has run: what it reads is not there, or what it makes is
      uint32_t step = below(steps);
      insert({step, below(step + 1)});
      return answer;
    }
    case 5: { // of a step that may not repeat, with its seconds
      uint32_t step = below(steps);
      if (problem.steps[step].mayRepeat)
        continue;
      insert({step, step + 1 + below(steps - step)});
      answer.seconds += problem.steps[step].seconds;
      return answer;
    }
    case 6: { // one more than its seconds say
      uint32_t step = below(steps);
      if (problem.steps[step].seconds == 0)
        continue;
      insert({step, step + 1 + below(steps - step)});
      return answer;
    }
    case 7: { // one less than its seconds say
      uint32_t at = below(again.size());
      if (problem.steps[again[at].step].seconds == 0)
        continue;
      again.erase(again.begin() + at);
      return answer;
    }
    case 8: // none, with the seconds of none: the peak is over the limit then
      again.clear();
      answer.seconds = secondsOf(problem);
      return answer;
    default: // no more than what no answer is below
      answer.peak = leastPeak(problem) == 0 ? UINT64_MAX : leastPeak(problem) - 1;
      return answer;
    }
}

TEST(Property, TheJudgeRefusesEveryDamagedAnswer) {
  std::mt19937 random(4);
  int refused = 0;
  const int count = 1000;
  for (int round = 0; round < count;) {
    const Limited drawn = Limited::draw(random, 12);
    const Answer found = solve(drawn.problem, 500);
    if (found.peak > drawn.problem.limit)
      continue;
    ASSERT_EQ(check(drawn.problem, found), "");
    for (int i = 0; i < 5; ++i, ++round) {
      const Answer wrong = damaged(drawn.problem, found, random);
      refused += !check(drawn.problem, wrong).empty();
    }
  }
  std::printf("%d of %d damaged answers refused\n", refused, count);
  EXPECT_EQ(refused, count);
}

} // namespace
