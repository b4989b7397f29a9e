// Transfers of several small copies: what goes together by hand, and the rules in many random
// schedules (spec X5).
#include "gantry/Queues/Coalesce.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>

using namespace gantry::queues;

namespace {

constexpr double latency = 10;

Message over(uint32_t link) { return {link, latency}; }

/// A copy of `seconds` of bytes on queue 1.
Task copy(double seconds, std::vector<uint32_t> after = {}) {
  return {1, latency + seconds, std::move(after)};
}

/// By task the first one of its transfer, where all queues run what is ready first.
std::vector<uint32_t> firstsOf(const std::vector<Task> &tasks,
                               const std::vector<Message> &messages) {
  return coalesce(tasks, std::vector<bool>(4, true), messages).firsts;
}

TEST(Coalesce, SmallCopiesThatCouldStartTogetherDo_x5) {
  const std::vector<Task> tasks{copy(1), copy(2), copy(3)};
  EXPECT_EQ(firstsOf(tasks, {over(0), over(0), over(0)}), (std::vector<uint32_t>{0, 0, 0}));
  EXPECT_TRUE(firstsOf({}, {}).empty());
}

TEST(Coalesce, LinksAndQueuesStayApart_x5) {
  std::vector<Task> tasks{copy(1), copy(1), copy(1)};
  EXPECT_EQ(firstsOf(tasks, {over(0), over(1), over(0)}), (std::vector<uint32_t>{0, 1, 2}));
  tasks[1].queue = 2;
  EXPECT_EQ(firstsOf(tasks, {over(0), over(0), over(0)}), (std::vector<uint32_t>{0, 1, 0}));
}

TEST(Coalesce, NoTransferMovesMoreThanALatencyOfBytes_x5) {
  const std::vector<Message> links(4, over(0));
  EXPECT_EQ(firstsOf({copy(6), copy(4), copy(1), copy(8)}, links),
            (std::vector<uint32_t>{0, 0, 2, 2}));
  // A large one goes alone, and what comes behind it begins anew.
  EXPECT_EQ(firstsOf({copy(1), copy(11), copy(1), copy(1)}, links),
            (std::vector<uint32_t>{0, 1, 2, 2}));
  // Without a latency there is nothing to gain.
  EXPECT_EQ(firstsOf({{1, 1, {}}, {1, 1, {}}}, {{0, 0}, {0, 0}}), (std::vector<uint32_t>{0, 1}));
}

TEST(Coalesce, NoneWaitsForAValueThatIsNotThereYet_x5) {
  // The second copy's value is made while the first one runs; the third one's before it starts.
  const std::vector<Task> late{{0, 5, {}}, copy(1), copy(1, {0})};
  EXPECT_EQ(firstsOf(late, {{}, over(0), over(0)}), (std::vector<uint32_t>{0, 1, 2}));
  const std::vector<Task> early{{0, 5, {}}, copy(1, {0}), copy(1, {0})};
  EXPECT_EQ(firstsOf(early, {{}, over(0), over(0)}), (std::vector<uint32_t>{0, 1, 1}));
  const std::vector<Task> between{copy(1), {0, 1, {}}, copy(1, {1})};
  EXPECT_EQ(firstsOf(between, {over(0), {}, over(0)}), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(Coalesce, WhatIsSavedBringsForwardWhatComesBehind_x5) {
  // Two copies go together, so what queue 0 makes of the second is there before the long task of
  // queue 2 has ended, and its copy comes before that of the long task's value.
  const std::vector<Task> tasks{copy(1),     copy(1),      {0, 1, {1}},
                                {2, 20, {}}, copy(8, {3}), copy(8, {2})};
  const std::vector<Message> messages{over(0), over(0), {}, {}, over(0), over(0)};
  const Transfers transfers = coalesce(tasks, {false, true, false}, messages);
  EXPECT_EQ(transfers.order, (std::vector<uint32_t>{0, 1, 3, 2, 5, 4}));
  EXPECT_EQ(transfers.firsts, (std::vector<uint32_t>{0, 0, 2, 3, 4, 5}));
  EXPECT_EQ(orderByStart(tasks, {false, true, false}), (std::vector<uint32_t>{0, 3, 1, 2, 4, 5}));
  // A queue whose order is kept has its copies in that order.
  EXPECT_EQ(coalesce(tasks, {false, false, false}, messages).order,
            (std::vector<uint32_t>{0, 1, 3, 2, 4, 5}));
}

/// The tasks as they run: in their order, transfers one task each; `place` becomes where each first
/// is.
std::vector<Task> merged(const std::vector<Task> &tasks, const Transfers &transfers,
                         std::map<uint32_t, uint32_t> &place) {
  const std::vector<uint32_t> &firsts = transfers.firsts;
  std::vector<Task> result;
  for (uint32_t i : transfers.order)
    if (firsts[i] == i) {
      place[i] = static_cast<uint32_t>(result.size());
      result.push_back({tasks[i].queue, 0, {}});
    }
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    Task &task = result[place[firsts[i]]];
    task.seconds += tasks[i].seconds - (firsts[i] == i ? 0 : latency);
    for (uint32_t before : tasks[i].after)
      task.after.push_back(place[firsts[before]]);
  }
  return result;
}

TEST(Coalesce, EveryTransferKeepsTheRules_x5) {
  std::mt19937 random(5);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  size_t joined = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Task> tasks(1 + below(40));
    std::vector<Message> messages(tasks.size());
    std::vector<bool> reordered(4);
    for (uint32_t queue = 0; queue < 4; ++queue)
      reordered[queue] = below(2) == 0;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      const uint32_t queue = below(4);
      tasks[i] = {queue, 1.0 + below(9), {}};
      if (queue % 2) {
        messages[i] = over(below(2));
        tasks[i].seconds += latency;
      }
      for (uint32_t k = below(3); k-- > 0 && i > 0;)
        if (uint32_t before = below(i); !std::ranges::count(tasks[i].after, before))
          tasks[i].after.push_back(before);
    }
    const Transfers transfers = coalesce(tasks, reordered, messages);
    const std::vector<uint32_t> &firsts = transfers.firsts;
    std::map<uint32_t, uint32_t> place;
    const std::vector<Task> run = merged(tasks, transfers, place);
    for (uint32_t i = 0; i < run.size(); ++i)
      for (uint32_t before : run[i].after)
        ASSERT_LT(before, i);
    const Times times = predict(run);
    ASSERT_TRUE(std::ranges::is_sorted(times.start)) << "round " << round;
    std::vector<uint32_t> number(tasks.size());
    ASSERT_EQ(transfers.order.size(), tasks.size());
    for (uint32_t i = 0; i < tasks.size(); ++i)
      number[transfers.order[i]] = i;
    std::map<uint32_t, double> bytes;
    for (uint32_t i : transfers.order) {
      const uint32_t first = firsts[i];
      ASSERT_EQ(firsts[first], first);
      bytes[first] += tasks[i].seconds - messages[i].latency;
      for (uint32_t j = 0; j < i; ++j)
        ASSERT_TRUE(reordered[tasks[i].queue] || tasks[i].queue != tasks[j].queue ||
                    number[j] < number[i]);
      if (first == i)
        continue;
      ++joined;
      ASSERT_EQ(firsts[transfers.order[number[i] - 1]], first); // they follow each other
      ASSERT_EQ(tasks[i].queue, tasks[first].queue);
      ASSERT_EQ(messages[i].link, messages[first].link);
      ASSERT_GT(messages[i].latency, 0);
      ASSERT_LE(bytes[first], latency);
      for (uint32_t before : tasks[i].after)
        ASSERT_LE(times.end[place[firsts[before]]], times.start[place[first]]);
    }
  }
  EXPECT_GT(joined, 500u);
}

} // namespace
