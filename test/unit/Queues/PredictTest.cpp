// The predicted timeline: a few by hand, and many against the rules that any must keep.
#include "gantry/Queues/Predict.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace gantry::queues;

namespace {

TEST(Predict, QueuesRunSideBySideAndWaitForWhatTheyNeed) {
  Times times = predict({{0, 1, {}}, {1, 3, {}}, {0, 1, {}}, {0, 1, {1}}, {1, 1, {0}}});
  EXPECT_EQ(times.start, (std::vector<double>{0, 0, 1, 3, 3}));
  EXPECT_EQ(times.end, (std::vector<double>{1, 3, 2, 4, 4}));
  EXPECT_TRUE(predict({}).start.empty());
}

TEST(Predict, MembersOfAnExchangeBeginTogether) {
  // Two exchanges side by side; of the first the one queue is busy until 2.
  Times times = predict({{0, 2, {}},
                         {1, 1, {}},
                         {0, 1, {}, 1},
                         {1, 1, {}, 1},
                         {0, 1, {}, 2},
                         {2, 1, {1}, 2},
                         {1, 1, {}}});
  EXPECT_EQ(times.start, (std::vector<double>{0, 0, 2, 2, 3, 3, 3}));
  EXPECT_EQ(times.end, (std::vector<double>{2, 1, 3, 3, 4, 4, 4}));
}

TEST(OrderByStart, KeepsQueuesThatAreToBeKept) {
  // Queue 1 has to wait for 2 before it runs what is ready at once.
  std::vector<Task> tasks{{0, 1, {}}, {0, 1, {}}, {1, 1, {1}}, {1, 1, {}}, {2, 1, {}}};
  EXPECT_EQ(orderByStart(tasks, {false, false, false}), (std::vector<uint32_t>{0, 4, 1, 2, 3}));
}

TEST(OrderByStart, RunsFirstWhatIsReadyFirst) {
  std::vector<Task> tasks{{0, 1, {}}, {0, 1, {}}, {1, 1, {1}}, {1, 1, {}}, {2, 1, {}}};
  EXPECT_EQ(orderByStart(tasks, {false, true, false}), (std::vector<uint32_t>{0, 3, 4, 1, 2}));
}

TEST(OrderByStart, EveryOrderKeepsTheRules) {
  std::mt19937 random(11);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    uint32_t queues = 1 + below(5);
    std::vector<bool> reordered(queues);
    for (uint32_t i = 0; i < queues; ++i)
      reordered[i] = below(2) == 0;
    std::vector<Task> tasks(1 + below(60));
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      tasks[i] = {below(queues), 1.0 + below(4), {}};
      for (uint32_t k = below(3); k-- > 0 && i > 0;)
        if (uint32_t before = below(i); !std::ranges::count(tasks[i].after, before))
          tasks[i].after.push_back(before);
    }
    std::vector<uint32_t> order = orderByStart(tasks, reordered);
    std::vector<uint32_t> sorted = order, place(tasks.size());
    std::ranges::sort(sorted);
    for (uint32_t i = 0; i < tasks.size(); ++i)
      ASSERT_EQ(sorted[i], i); // each once
    for (uint32_t i = 0; i < order.size(); ++i)
      place[order[i]] = i;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      for (uint32_t before : tasks[i].after)
        ASSERT_LT(place[before], place[i]);
      for (uint32_t j = 0; j < i; ++j)
        ASSERT_TRUE(reordered[tasks[i].queue] || tasks[i].queue != tasks[j].queue ||
                    place[j] < place[i]);
    }
    // Run in that order, the tasks start in it.
    std::vector<Task> again;
    for (uint32_t task : order) {
      Task moved = tasks[task];
      for (uint32_t &before : moved.after)
        before = place[before];
      again.push_back(moved);
    }
    Times times = predict(again);
    ASSERT_TRUE(std::ranges::is_sorted(times.start)) << "round " << round;
  }
}

} // namespace
