// The waits between queues, judged by brute force: every conflict in order, no wait too many.
#include "gantry/Queues/Order.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <random>

using namespace gantry::queues;

namespace {

Command command(uint32_t queue, std::vector<Access> accesses) { return {queue, accesses}; }
Access reads(uint64_t begin, uint64_t end) { return {0, begin, end, false}; }
Access writes(uint64_t begin, uint64_t end) { return {0, begin, end, true}; }

bool conflict(const Command &a, const Command &b) {
  for (const Access &x : a.accesses)
    for (const Access &y : b.accesses)
      if (x.space == y.space && std::max(x.begin, y.begin) < std::min(x.end, y.end) &&
          (x.writes || y.writes))
        return true;
  return false;
}

/// before[j][i]: i comes before j by queues and waits. Of all pairs, without cleverness.
std::vector<std::vector<bool>> reach(const std::vector<Command> &commands,
                                     const std::vector<Wait> &waits) {
  size_t n = commands.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (size_t j = 0; j < n; ++j)
    for (size_t i = j; i-- > 0;) {
      bool edge = commands[i].queue == commands[j].queue;
      for (const Wait &wait : waits)
        edge |= wait.before == i && wait.after == j;
      if (!edge)
        continue;
      before[j][i] = true;
      for (size_t k = 0; k < i; ++k)
        if (before[i][k])
          before[j][k] = true;
    }
  return before;
}

bool isOrdered(const std::vector<Command> &commands, const std::vector<Wait> &waits) {
  auto before = reach(commands, waits);
  for (size_t j = 0; j < commands.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if (conflict(commands[i], commands[j]) && !before[j][i])
        return false;
  return true;
}

TEST(Order, OneQueueWaitsForNothing) {
  EXPECT_TRUE(orderQueues({command(0, {writes(0, 8)}), command(0, {reads(0, 8)})}).empty());
  EXPECT_TRUE(orderQueues({}).empty());
}

TEST(Order, OrdersEachKindOfConflict) {
  std::vector<Wait> one{{0, 1}};
  EXPECT_EQ(orderQueues({command(0, {writes(0, 8)}), command(1, {reads(4, 12)})}), one);
  EXPECT_EQ(orderQueues({command(0, {reads(0, 8)}), command(1, {writes(7, 12)})}), one);
  EXPECT_EQ(orderQueues({command(0, {writes(0, 8)}), command(1, {writes(0, 4)})}), one);
  EXPECT_TRUE(orderQueues({command(0, {reads(0, 8)}), command(1, {reads(0, 8)})}).empty());
  EXPECT_TRUE(orderQueues({command(0, {writes(0, 8)}), command(1, {reads(8, 12)})}).empty());
  EXPECT_TRUE(orderQueues({command(0, {{0, 0, 8, true}}), command(1, {{1, 0, 8, true}})}).empty());
}

TEST(Order, LeavesOutWhatAnotherWaitImplies) {
  // 0 -> 1 -> 2 on three queues, and 2 uses what 0 made.
  EXPECT_EQ(orderQueues({command(0, {writes(0, 8)}), command(1, {reads(0, 8), writes(8, 16)}),
                         command(2, {reads(0, 16)})}),
            (std::vector<Wait>{{0, 1}, {1, 2}}));
  // A queue that has waited once knows it for good.
  EXPECT_EQ(orderQueues(
                {command(0, {writes(0, 8)}), command(1, {reads(0, 8)}), command(1, {reads(0, 8)})}),
            (std::vector<Wait>{{0, 1}}));
  // The latest conflict of a queue implies the earlier ones.
  EXPECT_EQ(orderQueues({command(0, {writes(0, 8)}), command(0, {writes(8, 16)}),
                         command(1, {reads(0, 16)})}),
            (std::vector<Wait>{{1, 2}}));
}

TEST(Order, KeepsAllReadersOfMemoryThatIsUsedAgain) {
  EXPECT_EQ(orderQueues({command(0, {writes(0, 8)}), command(1, {reads(0, 8)}),
                         command(2, {reads(0, 4)}), command(0, {writes(0, 8)})}),
            (std::vector<Wait>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

TEST(Order, EveryConflictIsOrderedAndNoWaitCanGo) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  size_t removed = 0;
  for (int round = 0; round < 400; ++round) {
    uint32_t queues = 2 + below(5), spaces = 1 + below(3), room = 4 + below(30);
    std::vector<Command> commands;
    for (uint32_t i = 0; i < queues; ++i) // every queue has a number
      commands.push_back(command(i, {}));
    for (uint32_t i = below(40); i-- > 0;) {
      Command next = command(below(queues), {});
      for (uint32_t k = below(4); k-- > 0;) {
        uint64_t begin = below(room);
        next.accesses.push_back({below(spaces), begin, begin + below(8), below(2) == 0});
      }
      commands.push_back(next);
    }
    std::vector<Wait> waits = orderQueues(commands);
    ASSERT_TRUE(isOrdered(commands, waits)) << "round " << round;
    for (size_t i = 0; i < waits.size(); ++i, ++removed) {
      std::vector<Wait> fewer = waits;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      ASSERT_FALSE(isOrdered(commands, fewer)) << "round " << round << ", wait " << i;
    }
  }
  EXPECT_GT(removed, 1000u);
}

/// A pipeline over 8 devices with 4 queues each, with memory that is used again.
std::vector<Command> pipeline(uint32_t n) {
  std::mt19937 random(1);
  std::vector<Command> commands;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t queue = i < 32 ? i : static_cast<uint32_t>(random() % 32), space = queue / 4;
    uint64_t at = random() % 1000 * 64, from = random() % 1000 * 64;
    commands.push_back(command(queue, {{space, at, at + 256, true},
                                       {space, from, from + 64, false},
                                       {(space + 1) % 8, from, from + 64, false}}));
  }
  return commands;
}

TEST(Order, TimeGrowsWithTheNumberOfCommands) {
  auto seconds = [](uint32_t n) {
    std::vector<Command> commands = pipeline(n);
    auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(orderQueues(commands).empty());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double few = seconds(10'000), many = seconds(100'000);
  RecordProperty("seconds_100k", std::to_string(many));
  EXPECT_LT(many, 40 * few + 0.1); // 10 times as many; the rest is for a busy machine
}

/// Pairs of queues that never meet those of others, as a job's tasks have them.
std::vector<Command> manyTasks(uint32_t tasks) {
  std::vector<Command> commands;
  for (uint32_t t = 0; t < tasks; ++t)
    for (uint32_t queue : {2 * t, 2 * t + 1, 2 * t})
      commands.push_back({queue, {{t, 0, 8, true}}});
  return commands;
}

TEST(Order, TimeAndMemoryGrowWithTasksNotWithTheirSquare) {
  // A clock with an entry for every queue would be 60 GB here.
  constexpr uint32_t tasks = 50'000;
  std::vector<Wait> waits = orderQueues(manyTasks(tasks));
  ASSERT_EQ(waits.size(), 2u * tasks);
  for (uint32_t i = 0; i < waits.size(); ++i)
    ASSERT_EQ(waits[i], (Wait{i / 2 * 3 + i % 2, i / 2 * 3 + i % 2 + 1}));
}

TEST(Order, ACommandMayWaitForManyQueues) {
  // Each of many queues writes a part of what the last command reads, and none implies another.
  constexpr uint32_t queues = 20'000;
  std::vector<Command> commands;
  for (uint32_t q = 0; q < queues; ++q)
    commands.push_back(command(q, {writes(8 * q, 8 * q + 8)}));
  commands.push_back(command(queues, {reads(0, 8 * queues)}));
  std::vector<Wait> waits = orderQueues(commands);
  ASSERT_EQ(waits.size(), size_t(queues));
  for (uint32_t q = 0; q < queues; ++q)
    ASSERT_EQ(waits[q], (Wait{q, queues}));
}

} // namespace
