// Automatic placement on random graphs: against every placement of tiny ones, against the judge,
// and under other numberings.
#include "Exact.h"
#include "LongTests.h"
#include "Problems.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace {
using namespace gantry;
using namespace gantry::placement;

struct Best {
  bool fits = false;
  double seconds = notAllowed;
};

bool keepsGroups(const AutoProblem &problem, const std::vector<uint32_t> &devices) {
  std::map<uint32_t, uint32_t> deviceOf;
  for (size_t t = 0; t < devices.size(); ++t) {
    if (problem.tasks[t].seconds[devices[t]] == notAllowed)
      return false;
    uint32_t group = problem.tasks[t].group;
    if (group != noIndex && deviceOf.try_emplace(group, devices[t]).first->second != devices[t])
      return false;
  }
  return true;
}

/// The best of all placements in that order.
Best tryAll(const AutoProblem &problem, const std::vector<uint32_t> &order) {
  Best best;
  std::vector<uint32_t> devices(problem.tasks.size());
  while (true) {
    if (keepsGroups(problem, devices)) {
      AutoSchedule schedule = simulate(problem, {devices, order});
      if (fitsMemory(problem, schedule) && fitsBudgets(problem, schedule)) {
        best.fits = true;
        best.seconds = std::min(best.seconds, schedule.seconds);
      }
    }
    size_t t = 0;
    while (t < devices.size() && ++devices[t] == problem.numDevices())
      devices[t++] = 0;
    if (t == devices.size())
      return best;
  }
}

/// Every order in which makers come first, until there are too many.
void forEachOrder(const AutoProblem &problem, std::vector<uint32_t> &order,
                  std::vector<char> &isDone, int &budget, const std::function<void()> &visit) {
  if (order.size() == problem.tasks.size()) {
    --budget;
    visit();
    return;
  }
  for (uint32_t t = 0; t < problem.tasks.size() && budget > 0; ++t) {
    bool isReady = !isDone[t];
    for (uint32_t other = 0; other < problem.tasks.size(); ++other)
      for (uint32_t value : problem.tasks[t].inputs)
        isReady &= isDone[other] || problem.tasks[other].outputs[0] != value;
    if (!isReady)
      continue;
    isDone[t] = 1;
    order.push_back(t);
    forEachOrder(problem, order, isDone, budget, visit);
    order.pop_back();
    isDone[t] = 0;
  }
}

class AutoRandom : public testing::TestWithParam<RandomShape> {};

TEST_P(AutoRandom, p11_AgainstEveryPlacementOfTinyGraphs) {
  std::mt19937 random(1);
  int problems = 0, optimal = 0, inOrder = 0, missed = 0;
  double worst = 1;
  for (int round = 0; round < 60; ++round) {
    AutoProblem problem = randomProblem(random, GetParam());
    if (!checkProblem(problem).ok())
      continue; // a group whose tasks share no device
    auto found = searchPlacement(problem);
    ASSERT_TRUE(found.ok());
    Status judged = validateSchedule(problem, found->placement, found->schedule);
    EXPECT_EQ(judged.ok(), found->fits) << judged.message();
    Best best = tryAll(problem, found->placement.order);
    if (best.fits && !found->fits)
      ++missed;
    Best anyOrder;
    std::vector<uint32_t> order;
    std::vector<char> isDone(problem.tasks.size());
    int budget = 20;
    forEachOrder(problem, order, isDone, budget, [&] {
      anyOrder.seconds = std::min(anyOrder.seconds, tryAll(problem, order).seconds);
    });
    EXPECT_LE(found->lowerBound, std::min(anyOrder.seconds, best.seconds) * (1 + 1e-9));
    if (!best.fits || !found->fits)
      continue;
    ++problems;
    inOrder += found->schedule.seconds < best.seconds * (1 + 2e-3);
    double ratio = found->schedule.seconds / std::min(best.seconds, anyOrder.seconds);
    optimal += ratio < 1 + 2e-3; // fewer devices win within a part in a thousand
    worst = std::max(worst, ratio);
  }
  std::printf("%d problems, %d optimal (%d in their order), worst ratio %.3f, %d missed\n",
              problems, optimal, inOrder, worst, missed);
  EXPECT_GT(problems, 20);
  // In its order the search misses next to nothing; the best pair of order and devices is harder.
  EXPECT_GE(inOrder, problems * 95 / 100);
  EXPECT_GE(optimal, problems * 7 / 10);
  EXPECT_LE(worst, 1.5);
  EXPECT_EQ(missed, 0);
}

/// All orders and devices of up to 12 tasks, by branch and bound.
TEST(AutoExact, p11_IsNearTheOptimumOfSmallGraphs) {
  std::mt19937 random(5);
  int problems = 0, near = 0;
  double worst = 1;
  for (uint32_t round = 0; round < 40; ++round) {
    RandomShape shape{2 + round % 3, 4 + round % 9, round % 4 != 0};
    shape.roomForValues = true;
    AutoProblem problem = randomProblem(random, shape);
    auto found = searchPlacement(problem);
    ASSERT_TRUE(found.ok() && found->fits);
    Exact exact(problem, found->schedule.seconds);
    const double best = exact.run(500'000);
    EXPECT_LE(found->lowerBound, best * (1 + 1e-9));
    if (!exact.isComplete)
      continue;
    ++problems;
    near += found->schedule.seconds <= best * 1.02;
    worst = std::max(worst, found->schedule.seconds / best);
  }
  std::printf("%d problems, %d within 2 %%, worst ratio %.3f\n", problems, near, worst);
  EXPECT_GT(problems, 25);
  EXPECT_GE(near, problems * 95 / 100);
  EXPECT_LE(worst, 1.1);
}

TEST_P(AutoRandom, p12_OtherNumbersGiveTheSamePlacement) {
  std::mt19937 random(2);
  RandomShape shape = GetParam();
  shape.tasks = 40;
  for (int round = 0; round < test::shortOrLong(2, 4); ++round) {
    AutoProblem problem = randomProblem(random, shape);
    auto found = searchPlacement(problem);
    if (!found.ok())
      continue;
    for (int i = 0; i < test::shortOrLong(3, 10); ++i) {
      std::vector<uint32_t> taskOf;
      AutoProblem other = shuffled(problem, random, taskOf);
      auto again = searchPlacement(other);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->schedule.seconds, found->schedule.seconds);
      for (size_t t = 0; t < taskOf.size(); ++t)
        EXPECT_EQ(again->placement.devices[taskOf[t]], found->placement.devices[t]) << t;
    }
  }
}

TEST_P(AutoRandom, p11_LargerGraphsPassTheJudgeAndBeatOneDevice) {
  std::mt19937 random(3);
  RandomShape shape = GetParam();
  for (uint32_t tasks : {100u, 500u}) {
    shape.tasks = tasks;
    AutoProblem problem = randomProblem(random, shape);
    auto found = searchPlacement(problem);
    if (!found.ok())
      continue;
    Status judged = validateSchedule(problem, found->placement, found->schedule);
    EXPECT_EQ(judged.ok(), found->fits) << judged.message();
    EXPECT_LE(found->lowerBound, found->schedule.seconds * (1 + 1e-9));
    if (!shape.tight && !shape.groups)
      for (uint32_t d = 0; d < shape.devices; ++d) {
        AutoPlacement one{std::vector<uint32_t>(tasks, d), asNumbered(problem)};
        EXPECT_LE(found->schedule.seconds, simulate(problem, one).seconds * (1 + 1e-3));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AutoRandom,
                         testing::Values(RandomShape{2, 6}, RandomShape{3, 5},
                                         RandomShape{2, 6, true}, RandomShape{3, 5, true},
                                         RandomShape{2, 6, true, true},
                                         RandomShape{2, 6, false, false, true},
                                         RandomShape{3, 5, true, false, true}));

/// Equal branches are equal: however they are numbered, as many go to each device.
TEST(AutoSymmetry, p12_EqualBranchesShareTheDevicesEqually) {
  AutoProblem problem = devices(2);
  uint32_t input = addArgument(problem, 64, 0);
  std::vector<uint32_t> tips;
  for (int branch = 0; branch < 6; ++branch) {
    uint32_t value = input;
    for (int i = 0; i < 5; ++i)
      value = addTask(problem, {value}, {1, 1}, 64);
    tips.push_back(value);
  }
  problem.ends.push_back({addTask(problem, tips, {1, 1}, 64), 0});
  std::mt19937 random(4);
  for (int i = 0; i < 20; ++i) {
    std::vector<uint32_t> taskOf;
    auto found = searchPlacement(shuffled(problem, random, taskOf));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->schedule.seconds, 16);
    EXPECT_EQ(std::count(found->placement.devices.begin(), found->placement.devices.end(), 0), 16);
  }
}
} // namespace
