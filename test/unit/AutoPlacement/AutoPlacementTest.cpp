// Automatic placement on small graphs whose best placement is known, and the judge on schedules
// that were spoilt.
#include "Problems.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;
using namespace gantry::placement;

AutoOutcome search(const AutoProblem &problem, std::span<const AutoStart> starts = {}) {
  auto found = searchPlacement(problem, {}, starts);
  EXPECT_TRUE(found.ok()) << found.status().message();
  Status judged = validateSchedule(problem, found->placement, found->schedule);
  EXPECT_EQ(found->fits, judged.ok()) << judged.message();
  EXPECT_LE(found->lowerBound, found->schedule.seconds * (1 + 1e-9));
  return found.take();
}

uint32_t countUsed(const AutoOutcome &found) {
  std::vector<uint32_t> used = found.placement.devices;
  std::sort(used.begin(), used.end());
  return static_cast<uint32_t>(std::unique(used.begin(), used.end()) - used.begin());
}

std::string check(const AutoProblem &problem) { return checkProblem(problem).message(); }

//===----------------------------------------------------------------------===//
// p11: what the search finds
//===----------------------------------------------------------------------===//

TEST(Auto, p11_AChainStaysOnOneDevice) {
  AutoOutcome found = search(chain(devices(3, 0, 0.1, 1e-6), 20, 1000, 100));
  EXPECT_EQ(countUsed(found), 1u);
  EXPECT_EQ(found.schedule.seconds, 20);
  EXPECT_EQ(found.lowerBound, 20);
  EXPECT_EQ(found.schedule.copies.size(), 0u);
}

TEST(Auto, p11_AChainStaysOnOneDeviceWhereCopiesAreFreeToo) {
  EXPECT_EQ(countUsed(search(chain(devices(2), 20, 1000, 100))), 1u);
}

TEST(Auto, p11_AChainThatFitsNowhereIsCutOnce) {
  // 20 constants of 6400 bytes; each device takes 60 % of them.
  AutoProblem problem = chain(devices(2, 20 * 6400 * 6 / 10, 0.1), 20, 6400, 64);
  AutoOutcome found = search(problem);
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(countUsed(found), 2u);
  // One copy to the other device, and the result back to where it is wanted.
  EXPECT_LE(found.schedule.copies.size(), 2u);
  EXPECT_LE(found.schedule.seconds, found.lowerBound * 1.02);
}

TEST(Auto, p11_BranchesRunSideBySide) {
  AutoProblem problem = devices(2, 0, 0.01);
  uint32_t input = addArgument(problem, 64, 0);
  std::vector<uint32_t> tips;
  for (int branch = 0; branch < 2; ++branch) {
    uint32_t value = input;
    for (int i = 0; i < 10; ++i)
      value = addTask(problem, {value}, {1, 1}, 64);
    tips.push_back(value);
  }
  problem.ends.push_back({addTask(problem, tips, {1, 1}, 64), 0});
  AutoOutcome found = search(problem);
  EXPECT_NEAR(found.schedule.seconds, 11.02, 1e-9);
}

TEST(Auto, p11_BranchesStayTogetherWhereCopiesCostMore) {
  AutoProblem problem = devices(2, 0, 8);
  uint32_t input = addArgument(problem, 64, 0);
  uint32_t a = addTask(problem, {input}, {10, 10}, 64);
  uint32_t b = addTask(problem, {input}, {10, 10}, 64);
  problem.ends.push_back({addTask(problem, {a, b}, {1, 1}, 64), 0});
  AutoOutcome found = search(problem);
  EXPECT_EQ(countUsed(found), 1u);
  EXPECT_EQ(found.schedule.seconds, 21);
}

TEST(Auto, p11_PinnedTasksAndGroupsAreObeyed) {
  AutoProblem problem = chain(devices(2, 0, 0.5), 6, 64, 64);
  problem.tasks[2].seconds[0] = notAllowed;
  problem.tasks[2].group = problem.tasks[5].group = 1;
  AutoOutcome found = search(problem);
  EXPECT_EQ(found.placement.devices[2], 1u);
  EXPECT_EQ(found.placement.devices[5], 1u);
}

/// A job: of each device a chain of three tasks that have to run there, 1, 2 and 3 seconds, then
/// one of a second that reads all chains and may run anywhere. Copies take a second.
AutoProblem job(uint32_t count) {
  AutoProblem problem;
  problem.limits.assign(count, 0);
  problem.numQueues = 3 * count;
  problem.linkOf = [](uint32_t, uint32_t to) { return AutoLink{1, 0, 3 * to}; };
  std::vector<uint32_t> ends;
  for (uint32_t device = 0; device < count; ++device) {
    uint32_t value = addArgument(problem, 64, device);
    for (double seconds : {1, 2, 3}) {
      value = addTask(problem, {value}, {seconds}, 64);
      problem.tasks.back().only = device;
    }
    ends.push_back(value);
  }
  problem.ends.push_back({addTask(problem, ends, std::vector<double>(count, 1), 64), 0});
  return problem;
}

TEST(Auto, p11_JobsHaveNoTablesOfPairsOfDevices) {
  // Tables of 4000 devices by themselves and by tasks would be hundreds of MB and 2e11 steps.
  for (uint32_t count : {200u, 4000u}) {
    AutoProblem problem = job(count);
    ASSERT_EQ(checkProblem(problem).message(), "");
    EXPECT_EQ(lowerBound(problem), 7); // copies to what may be anywhere may cost nothing
  }
  AutoProblem problem = job(200);
  AutoPlacement placed;
  for (const AutoTask &task : problem.tasks) {
    placed.devices.push_back(task.only == noIndex ? 0 : task.only);
    placed.order.push_back(uint32_t(placed.order.size()));
  }
  AutoSchedule schedule = simulate(problem, placed);
  EXPECT_EQ(validateSchedule(problem, placed, schedule).message(), "");
  EXPECT_EQ(schedule.seconds, 6 + 199 + 1); // they come one after the other
  placed.devices[3] = 0;                    // has to run on device 1
  EXPECT_NE(validateSchedule(problem, placed, schedule).message(), "");
}

TEST(Auto, p11_ProblemsOfJobsAreChecked) {
  AutoProblem problem = job(200);
  problem.tasks[0].only = 200;
  EXPECT_EQ(checkProblem(problem).message(),
            "placement problem: task 0 has to run on a device that is not there");
  problem.tasks[0].only = 3;
  problem.tasks[0].seconds = {1, 1};
  EXPECT_EQ(checkProblem(problem).message(),
            "placement problem: task 0 has times for 2 of 1 devices");
}

TEST(Auto, p11_SlowDevicesAreUsedOnlyWhereTheyHelp) {
  AutoProblem problem = devices(2);
  uint32_t input = addArgument(problem, 64, 0);
  for (int i = 0; i < 10; ++i)
    problem.ends.push_back({addTask(problem, {input}, {1, 9}, 64), 0});
  AutoOutcome found = search(problem);
  EXPECT_EQ(found.schedule.seconds, 9); // one there, nine here
}

/// A chain from and to device 0 whose first task has to be on device 1 and whose second is faster
/// there: copying what the second makes back is over the budget, copying what the first makes not.
AutoProblem chainThatComesBack(uint64_t budget) {
  AutoProblem problem = devices(2);
  uint32_t input = addArgument(problem, 64, 0);
  uint32_t first = addTask(problem, {input}, {notAllowed, 1}, 128);
  uint32_t second = addTask(problem, {first}, {3, 1}, 1024);
  problem.ends.push_back({addTask(problem, {second}, {1, 1}, 1024), 0});
  problem.budgets = {64, budget};
  problem.links[1].budget = 0;
  problem.links[2].budget = 1;
  return problem;
}

TEST(Auto, x4_TakesAnotherPlacementForABudget) {
  for (auto [budget, seconds] : {std::pair(1024, 3.0), std::pair(1023, 5.0), std::pair(128, 5.0)}) {
    AutoProblem problem = chainThatComesBack(budget);
    AutoOutcome found = *searchPlacement(problem);
    EXPECT_TRUE(found.fits) << budget;
    EXPECT_EQ(found.schedule.seconds, seconds) << budget;
    EXPECT_EQ(validateSchedule(problem, found.placement, found.schedule).message(), "");
  }
}

TEST(Auto, x4_SaysWhenNoPlacementIsWithinTheBudget) {
  AutoProblem problem = chainThatComesBack(127);
  // As far over it as need be, and no baseline that is further over wins.
  const AutoStart fastest{"fastest", {{1, 1, 1}, {0, 1, 2}}};
  AutoOutcome found = *searchPlacement(problem, {}, {&fastest, 1});
  EXPECT_FALSE(found.fits);
  EXPECT_EQ(found.placement.devices, (std::vector<uint32_t>{1, 0, 0}));
  EXPECT_EQ(validateSchedule(problem, found.placement, found.schedule).message(),
            "placement: 128 bytes are copied of a budget of 127");
}

/// Budgets count what values have, memory and time what they take.
TEST(Auto, x4_CountsBytesThatAreNotRounded) {
  AutoProblem problem = devices(2);
  problem.budgets = {24};
  problem.links[1].budget = 0;
  addTask(problem, {addArgument(problem, 24, 0)}, {notAllowed, 1}, 24);
  EXPECT_TRUE(searchPlacement(problem)->fits);
  problem.budgets = {23};
  EXPECT_FALSE(searchPlacement(problem)->fits);
}

TEST(Auto, p11_SaysWhenNothingFits) {
  AutoProblem problem = chain(devices(2, 10'000), 4, 6400, 64);
  AutoOutcome found = search(problem);
  EXPECT_FALSE(found.fits);
}

TEST(Auto, p11_IsNeverSlowerThanTheBaseline) {
  AutoProblem problem = chain(devices(2, 0, 0.1), 8, 64, 64);
  AutoStart baseline{"default", {std::vector<uint32_t>(8, 0), asNumbered(problem)}};
  EXPECT_LE(search(problem, {&baseline, 1}).schedule.seconds, 8);
}

TEST(Auto, AnEmptyGraphTakesNoTime) {
  AutoOutcome found = search(devices(2));
  EXPECT_EQ(found.schedule.seconds, 0);
  EXPECT_TRUE(found.fits);
}

//===----------------------------------------------------------------------===//
// The simulator
//===----------------------------------------------------------------------===//

TEST(AutoSimulate, CopiesOverlapCompute) {
  AutoProblem problem = devices(2, 0, 1);
  uint32_t a = addTask(problem, {}, {1, 1}, 64);
  addTask(problem, {}, {2, 2}, 64);
  addTask(problem, {a}, {1, 1}, 64);
  AutoSchedule schedule = simulate(problem, {{0, 0, 1}, {0, 1, 2}});
  EXPECT_EQ(schedule.start, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(schedule.seconds, 3);
  ASSERT_EQ(schedule.copies.size(), 1u);
  EXPECT_EQ(schedule.copies[0].start, 1);
  EXPECT_EQ(schedule.copies[0].end, 2);
}

TEST(AutoSimulate, OneCopyServesAllReadersOfADevice) {
  AutoProblem problem = devices(2, 0, 1);
  uint32_t a = addTask(problem, {}, {1, 1}, 64);
  addTask(problem, {a}, {1, 1}, 64);
  addTask(problem, {a}, {1, 1}, 64);
  EXPECT_EQ(simulate(problem, {{0, 1, 1}, {0, 1, 2}}).copies.size(), 1u);
}

TEST(AutoSimulate, CopiesOfOneQueueTakeTurns) {
  AutoProblem problem = devices(2, 0, 0, 1.0 / 64);
  uint32_t x = addArgument(problem, 64, 0), y = addArgument(problem, 64, 0);
  addTask(problem, {x, y}, {1, 1}, 64);
  EXPECT_EQ(simulate(problem, {{1}, {0}}).seconds, 3);
}

/// As plans send them (spec X5): as long as the bytes take no longer than the latency, and the
/// value is there as the first one starts.
TEST(AutoSimulate, SmallCopiesThatCouldStartTogetherPayOneLatency) {
  AutoProblem problem = devices(2, 0, 1, 0.5 / 64);
  std::vector<uint32_t> inputs;
  for (int i = 0; i < 4; ++i)
    inputs.push_back(addArgument(problem, 64, 0));
  inputs.push_back(addTask(problem, {}, {1, 1}, 64));
  addTask(problem, inputs, {1, 1}, 64);
  const AutoPlacement placement{{0, 1}, {0, 1}};
  const AutoSchedule schedule = simulate(problem, placement);
  EXPECT_EQ(validateSchedule(problem, placement, schedule).message(), "");
  std::vector<double> starts, ends;
  std::vector<bool> joined;
  for (const AutoCopy &copy : schedule.copies) {
    starts.push_back(copy.start);
    ends.push_back(copy.end);
    joined.push_back(copy.joined);
  }
  // Two transfers of two, then one that is there in time for the second, which is full. What goes
  // together is there together.
  EXPECT_EQ(starts, (std::vector<double>{0, 0, 2, 2, 4}));
  EXPECT_EQ(ends, (std::vector<double>{2, 2, 4, 4, 5.5}));
  EXPECT_EQ(joined, (std::vector<bool>{false, true, false, true, false}));
  EXPECT_EQ(schedule.seconds, 6.5);
}

TEST(AutoSimulate, CountsConstantsOncePerDeviceAndValuesWhileTheyLive) {
  AutoProblem problem = devices(2, 0, 1);
  uint32_t weight = addConstant(problem, 1000); // 1024 with rounding
  uint32_t a = addTask(problem, {weight}, {1, 1}, 128);
  uint32_t b = addTask(problem, {a, weight}, {1, 1}, 64);
  uint32_t c = addTask(problem, {b, weight}, {1, 1}, 64);
  problem.ends.push_back({c, 0});
  AutoSchedule schedule = simulate(problem, {{0, 0, 1}, {0, 1, 2}});
  EXPECT_EQ(schedule.peaks, (std::vector<uint64_t>{1024 + 192, 1024 + 128}));
}

TEST(AutoSimulate, TheCriticalPathLeadsFromTheEndToTheBeginning) {
  AutoProblem problem = devices(2, 0, 1);
  uint32_t a = addTask(problem, {}, {3, 3}, 64);
  uint32_t b = addTask(problem, {}, {1, 1}, 64);
  addTask(problem, {a, b}, {1, 1}, 64);
  EXPECT_EQ(simulate(problem, {{0, 1, 1}, {0, 1, 2}}).criticalPath, (std::vector<uint32_t>{0, 2}));
}

/// A chain on device 1 whose constants can come from device 0.
AutoProblem chainWithStreams(uint64_t limit) {
  AutoProblem problem = chain(devices(2, 0, 0, 0.5 / 65536), 4, 65536, 64);
  for (AutoValue &value : problem.values)
    if (value.isConstant)
      value.home = 0;
  problem.limits[1] = limit;
  return problem;
}

TEST(AutoSimulate, StreamedConstantsComeFromTheirHomeInEachStep) {
  AutoProblem problem = chainWithStreams(0);
  AutoPlacement placement{{1, 1, 1, 1}, {0, 1, 2, 3}};
  for (const AutoValue &value : problem.values)
    placement.streamed.push_back(value.isConstant);
  AutoSchedule schedule = simulate(problem, placement);
  EXPECT_EQ(validateSchedule(problem, placement, schedule).message(), "");
  // The first one takes half a second, the others come while something is computed.
  EXPECT_NEAR(schedule.seconds, 4.5, 0.01);
  EXPECT_EQ(schedule.copies.size(), 6u);
  EXPECT_EQ(schedule.peaks[0], 4u * 65536);
}

TEST(AutoSimulate, StreamedConstantsComeAsEarlyAsThereIsRoom) {
  auto playWithRoomFor = [](uint64_t constants, uint32_t spare) {
    AutoProblem problem = chainWithStreams(constants * 65536 + 256);
    AutoPlacement placement{{1, 1, 1, 1}, {0, 1, 2, 3}};
    for (const AutoValue &value : problem.values)
      placement.streamed.push_back(value.isConstant);
    placement.spare = {0, spare};
    AutoSchedule schedule = simulate(problem, placement);
    EXPECT_EQ(validateSchedule(problem, placement, schedule).message(), "");
    return schedule;
  };
  // One behind the other: each waits until the task before is done.
  EXPECT_NEAR(playWithRoomFor(1, 0).seconds, 6, 0.01);
  EXPECT_LE(playWithRoomFor(1, 0).peaks[1], 65536u + 256);
  // The next one comes while one is in use.
  EXPECT_NEAR(playWithRoomFor(2, 0).seconds, 4.5, 0.01);
  EXPECT_LE(playWithRoomFor(2, 0).peaks[1], 2u * 65536 + 256);
  // Of room for four a quarter is left free, and of room for two.
  EXPECT_NEAR(playWithRoomFor(4, 4).seconds, 4.5, 0.01);
  EXPECT_NEAR(playWithRoomFor(2, 4).seconds, 6, 0.01);
}

TEST(AutoSimulate, TheJudgeRefusesStreamsOfWhatHasNoHome) {
  AutoProblem problem = chainWithStreams(0);
  AutoPlacement placement{{1, 1, 1, 1}, {0, 1, 2, 3}};
  placement.streamed.assign(problem.values.size(), 0);
  AutoSchedule schedule = simulate(problem, placement);
  placement.streamed[0] = 1;
  EXPECT_EQ(validateSchedule(problem, placement, schedule).message(),
            "placement: value 0 is streamed, but no constant with a home");
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

/// Device 0 is a slow host, device 1 has room for two of four constants.
TEST(Auto, p11_StreamsConstantsWhereTheHostIsSlow) {
  AutoProblem problem = chainWithStreams(3 * 65536);
  for (AutoTask &task : problem.tasks)
    task.seconds[0] = 100;
  AutoOutcome found = search(problem);
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(found.placement.devices, (std::vector<uint32_t>{1, 1, 1, 1}));
  EXPECT_NEAR(found.schedule.seconds, 4, 0.6);
  EXPECT_NEAR(found.unlimited.seconds, 4, 0.01);
}

/// One constant is large, and its task takes no longer on the host: it goes there, wherever it
/// stands.
TEST(Auto, p11_SpillsWhatCostsLeastForItsBytes) {
  for (uint32_t large : {0u, 2u, 5u}) {
    AutoProblem problem = chain(devices(3, 0, 0.01), 6, 6400, 64);
    for (uint32_t t = 0; t < 6; ++t) {
      problem.tasks[t].seconds[0] = t == large ? 1.1 : 100;
      if (t == large)
        problem.values[problem.tasks[t].inputs[1]].bytes = 64000;
    }
    problem.limits = {0, 6400 * 3 + 512, 6400 * 3 + 512};
    AutoOutcome found = search(problem);
    EXPECT_TRUE(found.fits);
    EXPECT_EQ(found.placement.devices[large], 0u);
    EXPECT_LT(found.schedule.seconds, 6.2);
  }
}

/// The slow device takes the half that costs it less, at the front or at the back.
TEST(Auto, p11_UnequalDevicesTakeTheHalfThatSuitsThem) {
  for (bool isFront : {false, true}) {
    AutoProblem problem = chain(devices(2, 10 * 640 + 256, 0.01), 20, 640, 64);
    for (uint32_t t = 0; t < 20; ++t)
      problem.tasks[t].seconds = {(t < 10) == isFront ? 1.0 : 4.0, 2.0};
    AutoOutcome found = search(problem);
    EXPECT_TRUE(found.fits);
    EXPECT_LT(found.schedule.seconds, 30.1);
  }
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

TEST(AutoBound, CountsCopiesThatNoPlacementAvoids) {
  AutoProblem problem = devices(2, 0, 5);
  uint32_t input = addArgument(problem, 64, 0);
  problem.ends.push_back({addTask(problem, {input}, {notAllowed, 1}, 64), 0});
  EXPECT_EQ(lowerBound(problem), 11);
}

TEST(AutoBound, OfATaskThatMayRunNowhere) {
  AutoProblem problem = devices(2, 0, 5);
  uint32_t input = addArgument(problem, 64, 0);
  problem.ends.push_back({addTask(problem, {input}, {notAllowed, notAllowed}, 64), 0});
  EXPECT_EQ(lowerBound(problem), notAllowed);
}

TEST(AutoBound, DividesTheWorkByTheSpeedOfTheDevices) {
  AutoProblem problem = devices(3);
  for (int i = 0; i < 70; ++i)
    addTask(problem, {}, {1, 2, 4}, 64);
  EXPECT_NEAR(lowerBound(problem), 40, 1);
  EXPECT_LE(lowerBound(problem), 40 * (1 + 1e-9));
}

TEST(AutoBound, KnowsMemoryAndLinks) {
  // Half of the constants have no room: they come at 2 bytes a second, or a device that takes a
  // thousand times as long computes with them.
  AutoProblem problem = chain(devices(2, 0, 0, 0.5), 10, 64, 64);
  problem.limits[1] = 5 * 64;
  for (AutoTask &task : problem.tasks)
    task.seconds = {1000, 1};
  for (AutoValue &value : problem.values)
    if (value.isConstant)
      value.home = 0;
  EXPECT_GE(lowerBound(problem), 5 * 64 * 0.5 * 0.9);
  AutoOutcome found = search(problem);
  EXPECT_TRUE(found.fits);
  EXPECT_LE(lowerBound(problem), found.schedule.seconds * (1 + 1e-9));
  problem.limits[1] = 0;
  EXPECT_LE(lowerBound(problem), 10 + 64.0 + 1e-6);
}

//===----------------------------------------------------------------------===//
// What memory is worth, and how the best was found
//===----------------------------------------------------------------------===//

TEST(AutoPrice, MoreMemorySavesWhatIsStreamedLess) {
  constexpr uint64_t mebibyte = 1 << 20;
  const double perByte = 8.0 / mebibyte;
  AutoProblem problem = chain(devices(2, 0, 0, perByte), 32, mebibyte, 64);
  problem.limits[1] = 24 * mebibyte;
  for (AutoTask &task : problem.tasks)
    task.seconds = {1000, 1};
  for (AutoValue &value : problem.values)
    if (value.isConstant)
      value.home = 0;
  AutoOutcome found = search(problem);
  ASSERT_TRUE(found.fits);
  std::vector<AutoPrice> prices = priceMemory(problem, found.placement);
  EXPECT_EQ(prices[0].more, 0);
  EXPECT_EQ(prices[0].less, 0);
  // At most a constant less comes for each that has room.
  EXPECT_GT(prices[1].more, 0);
  EXPECT_LE(prices[1].more, perByte * 1.5);
  EXPECT_GT(prices[1].less, 0);
}

TEST(AutoPrice, PlentyIsWorthNothing) {
  AutoProblem problem = chain(devices(2, 1 << 24), 10, 64, 64);
  std::vector<AutoPrice> prices = priceMemory(problem, search(problem).placement);
  for (const AutoPrice &price : prices) {
    EXPECT_EQ(price.more, 0);
    EXPECT_EQ(price.less, 0);
  }
}

TEST(Auto, SaysFromWhereAndByWhichMoves) {
  AutoProblem problem = chain(devices(2, 700, 0.1), 20, 64, 64);
  AutoOutcome found = search(problem);
  ASSERT_FALSE(found.candidates.empty());
  EXPECT_FALSE(found.tried.empty());
  for (const AutoCandidate &candidate : found.candidates) {
    EXPECT_FALSE(candidate.start.empty());
    double start = candidate.seconds;
    for (const AutoGain &gain : candidate.gains) {
      EXPECT_GT(gain.moves, 0u);
      start += gain.seconds;
    }
    EXPECT_GE(start, candidate.seconds * (1 - 1e-9)) << candidate.start;
  }
}

//===----------------------------------------------------------------------===//
// The judge
//===----------------------------------------------------------------------===//

struct AutoJudge : testing::Test {
  AutoProblem problem = chain(devices(2, 10'000, 1), 4, 640, 64);
  AutoPlacement placement{{0, 0, 1, 1}, {0, 1, 2, 3}};
  AutoSchedule schedule = simulate(problem, placement);
  std::string judge() { return validateSchedule(problem, placement, schedule).message(); }
};

TEST_F(AutoJudge, AcceptsWhatTheSimulatorPlays) { EXPECT_EQ(judge(), ""); }

TEST_F(AutoJudge, RefusesAReadBeforeTheCopyIsThere) {
  schedule.start[2] -= 0.5;
  schedule.end[2] -= 0.5;
  EXPECT_EQ(judge(), "placement: task 2 reads value 4 before it is there");
}

TEST_F(AutoJudge, RefusesAMissingCopy) {
  schedule.copies.erase(schedule.copies.begin());
  EXPECT_EQ(judge(), "placement: task 2 reads value 4 before it is there");
}

TEST_F(AutoJudge, RefusesASecondCopy) {
  schedule.copies.push_back(schedule.copies.front());
  EXPECT_EQ(judge(), "placement: value 4 is copied twice to device 1");
}

TEST_F(AutoJudge, RefusesTwoThingsAtOnce) {
  schedule.start[1] -= 0.5;
  schedule.end[1] -= 0.5;
  problem.tasks[1].inputs.erase(problem.tasks[1].inputs.begin());
  EXPECT_EQ(judge(), "placement: device 0 does two things at once");
}

struct AutoJudgeOfTransfers : testing::Test {
  AutoJudgeOfTransfers() {
    const uint32_t a = addArgument(problem, 64, 0), b = addArgument(problem, 64, 0);
    addTask(problem, {a, b}, {1, 1}, 64);
    schedule = simulate(problem, placement);
  }
  AutoProblem problem = devices(2, 0, 1, 0.5 / 64);
  AutoPlacement placement{{1}, {0}};
  AutoSchedule schedule;
  std::string judge() { return validateSchedule(problem, placement, schedule).message(); }
};

TEST_F(AutoJudgeOfTransfers, RefusesTwoCopiesAtOnce) {
  schedule.copies = {{0, 0, 1, 0, 1.5}, {1, 0, 1, 0, 1.5}};
  EXPECT_EQ(judge(), "placement: queue " + std::to_string(problem.link(0, 1).queue) +
                         " does two things at once");
}

TEST_F(AutoJudgeOfTransfers, RefusesACopyWithoutItsLatency) {
  schedule.copies[1].joined = false;
  EXPECT_EQ(judge(), "placement: a copy of value 0 takes another time than it should");
}

TEST_F(AutoJudgeOfTransfers, RefusesTransfersThatAreTooLarge) {
  problem.values[1].bytes = 128;
  schedule.copies[0].end = schedule.copies[1].end += 0.5;
  schedule.start[0] += 0.5, schedule.end[0] += 0.5;
  EXPECT_EQ(judge(), "placement: copies of value 0 and others go together, but are not small");
}

TEST_F(AutoJudgeOfTransfers, RefusesACopyThatIsNotThereWithTheFirst) {
  schedule.copies[1].start = 1;
  EXPECT_EQ(judge(), "placement: a copy of value 1 goes with another that it cannot join");
}

TEST_F(AutoJudge, RefusesTooMuchMemory) {
  problem.limits[1] = 1300;
  EXPECT_EQ(judge(), "placement: device 1 takes 1408 bytes, over its limit of 1300");
}

TEST_F(AutoJudge, RefusesAWrongPeak) {
  schedule.peaks[0] -= 64;
  EXPECT_EQ(judge(), "placement: device 0 needs 1408 bytes, more than the 1344 that are stated");
}

TEST_F(AutoJudge, RefusesADeviceThatIsNotAllowed) {
  problem.tasks[3].seconds[1] = notAllowed;
  EXPECT_EQ(judge(), "placement: task 3 is on device 1, where it may not run");
}

TEST_F(AutoJudge, RefusesAGroupOnTwoDevices) {
  problem.tasks[0].group = problem.tasks[3].group = 4;
  EXPECT_EQ(judge(), "placement: group 4 is on two devices");
}

TEST_F(AutoJudge, RefusesAnotherEnd) {
  schedule.seconds -= 1;
  EXPECT_EQ(judge(), "placement: the step ends at another time than its last command");
}

//===----------------------------------------------------------------------===//
// Problems that make no sense
//===----------------------------------------------------------------------===//

TEST(AutoProblem, NamesWhatIsWrong) {
  EXPECT_EQ(check(AutoProblem()), "placement problem: there is no device");
  AutoProblem problem = chain(devices(2), 2, 64, 64);
  EXPECT_EQ(check(problem), "");
  AutoProblem other = problem;
  other.tasks[1].seconds = {notAllowed, notAllowed};
  EXPECT_EQ(check(other), "placement problem: task 1 is allowed on no device");
  other = problem;
  other.tasks[1].inputs[0] = other.tasks[1].outputs[0];
  EXPECT_EQ(check(other), "placement problem: task 1 names value 4 twice");
  other = problem;
  other.tasks[0].inputs[0] = other.tasks[1].outputs[0];
  EXPECT_EQ(check(other), "placement problem: task 0 waits for itself");
  other = problem;
  other.tasks[0].outputs = other.tasks[1].outputs;
  EXPECT_EQ(check(other), "placement problem: value 4 is made by task 0 and task 1");
  other = problem;
  other.values[0].home = noIndex;
  EXPECT_EQ(check(other), "placement problem: value 0 is not one of: made by a task, at home on a "
                          "device, constant");
  other = problem;
  other.tasks[0].group = other.tasks[1].group = 3;
  other.tasks[0].seconds[0] = other.tasks[1].seconds[1] = notAllowed;
  EXPECT_EQ(check(other), "placement problem: no device is allowed for all tasks of group 3");
  other = problem;
  other.tasks[0].seconds[0] = -1;
  EXPECT_EQ(check(other), "placement problem: task 0 has a negative time");
}
} // namespace
