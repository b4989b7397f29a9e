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

TEST(Coalesce, SmallCopiesThatCouldStartTogetherDo_x5) {
  const std::vector<Task> tasks{copy(1), copy(2), copy(3)};
  EXPECT_EQ(coalesce(tasks, {over(0), over(0), over(0)}), (std::vector<uint32_t>{0, 0, 0}));
  EXPECT_TRUE(coalesce({}, {}).empty());
}

TEST(Coalesce, LinksAndQueuesStayApart_x5) {
  std::vector<Task> tasks{copy(1), copy(1), copy(1)};
  EXPECT_EQ(coalesce(tasks, {over(0), over(1), over(0)}), (std::vector<uint32_t>{0, 1, 2}));
  tasks[1].queue = 2;
  EXPECT_EQ(coalesce(tasks, {over(0), over(0), over(0)}), (std::vector<uint32_t>{0, 1, 0}));
}

TEST(Coalesce, NoTransferMovesMoreThanALatencyOfBytes_x5) {
  const std::vector<Message> links(4, over(0));
  EXPECT_EQ(coalesce({copy(6), copy(4), copy(1), copy(8)}, links),
            (std::vector<uint32_t>{0, 0, 2, 2}));
  // A large one goes alone, and what comes behind it begins anew.
  EXPECT_EQ(coalesce({copy(1), copy(11), copy(1), copy(1)}, links),
            (std::vector<uint32_t>{0, 1, 2, 2}));
  // Without a latency there is nothing to gain.
  EXPECT_EQ(coalesce({{1, 1, {}}, {1, 1, {}}}, {{0, 0}, {0, 0}}), (std::vector<uint32_t>{0, 1}));
}

TEST(Coalesce, NoneWaitsForAValueThatIsNotThereYet_x5) {
  // The second copy's value is made while the first one runs; the third one's before it starts.
  const std::vector<Task> late{{0, 5, {}}, copy(1), copy(1, {0})};
  EXPECT_EQ(coalesce(late, {{}, over(0), over(0)}), (std::vector<uint32_t>{0, 1, 2}));
  const std::vector<Task> early{{0, 5, {}}, copy(1, {0}), copy(1, {0})};
  EXPECT_EQ(coalesce(early, {{}, over(0), over(0)}), (std::vector<uint32_t>{0, 1, 1}));
  // What stands between them in the order may not be overtaken.
  const std::vector<Task> between{copy(1), {0, 1, {}}, copy(1, {1})};
  EXPECT_EQ(coalesce(between, {over(0), {}, over(0)}), (std::vector<uint32_t>{0, 1, 2}));
}

/// The tasks as they are when transfers are one task each; `place` becomes where each first is.
std::vector<Task> merged(const std::vector<Task> &tasks, const std::vector<uint32_t> &firsts,
                         std::map<uint32_t, uint32_t> &place) {
  std::vector<Task> result;
  for (uint32_t i = 0; i < tasks.size(); ++i)
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
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      const uint32_t queue = below(4);
      tasks[i] = {queue, 1.0 + below(9), {}};
      if (queue % 2) {
        messages[i] = over(below(2));
        tasks[i].seconds += latency;
      }
      for (uint32_t k = below(3); k-- > 0 && i > 0;)
        tasks[i].after.push_back(below(i));
    }
    const std::vector<uint32_t> firsts = coalesce(tasks, messages);
    std::map<uint32_t, uint32_t> place;
    const Times times = predict(merged(tasks, firsts, place));
    std::map<uint32_t, double> bytes;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      const uint32_t first = firsts[i];
      ASSERT_LE(first, i);
      ASSERT_EQ(firsts[first], first);
      bytes[first] += tasks[i].seconds - messages[i].latency;
      if (first == i)
        continue;
      ++joined;
      ASSERT_EQ(tasks[i].queue, tasks[first].queue);
      ASSERT_EQ(messages[i].link, messages[first].link);
      ASSERT_GT(messages[i].latency, 0);
      ASSERT_LE(bytes[first], latency);
      for (uint32_t before : tasks[i].after) {
        ASSERT_LT(before, first);
        ASSERT_LE(times.end[place[firsts[before]]], times.start[place[first]]);
      }
      for (uint32_t other = first; other < i; ++other)
        ASSERT_TRUE(tasks[other].queue != tasks[i].queue || firsts[other] == first);
    }
    for (const std::vector<Task> one = merged(tasks, firsts, place); const Task &task : one)
      for (uint32_t before : task.after)
        ASSERT_LT(before, static_cast<uint32_t>(&task - one.data()));
  }
  EXPECT_GT(joined, 500u);
}

} // namespace
