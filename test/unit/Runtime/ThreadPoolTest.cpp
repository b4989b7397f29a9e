#include "gantry/Runtime/ThreadPool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace gantry::runtime {
namespace {

/// buffers[0] counts visits of each item.
void countVisits(void *const *buffers, int64_t begin, int64_t end) {
  auto *visits = static_cast<std::atomic<int> *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    visits[i].fetch_add(1, std::memory_order_relaxed);
}

void expectEachOnce(ThreadPool &pool, int64_t items, int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
  void *buffers[] = {visits.data()};
  pool.parallelFor(countVisits, buffers, items, grain);
  for (int64_t i = 0; i < items; ++i)
    ASSERT_EQ(visits[static_cast<size_t>(i)].load(), 1) << "item " << i << " of " << items;
}

TEST(ThreadPool, visitsEveryItemOnce) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t items : {0, 1, 2, 3, 7, 64, 1000, 4097})
      for (int64_t grain : {1, 2, 16, 5000})
        expectEachOnce(pool, items, grain);
  }
}

/// buffers[0] is the length of the shortest range.
void noteRange(void *const *buffers, int64_t begin, int64_t end) {
  auto *shortest = static_cast<std::atomic<int64_t> *>(buffers[0]);
  int64_t length = end - begin, seen = shortest->load();
  while (length < seen && !shortest->compare_exchange_weak(seen, length)) {
  }
}

TEST(ThreadPool, rangesAreNotShorterThanTheGrain) {
  ThreadPool pool(4);
  std::atomic<int64_t> shortest{1 << 30};
  void *buffers[] = {&shortest};
  pool.parallelFor(noteRange, buffers, 6400, 100);
  EXPECT_GE(shortest.load(), 100);
}

/// buffers[0] marks where ranges begin.
void noteBegin(void *const *buffers, int64_t begin, int64_t) {
  static_cast<std::atomic<bool> *>(buffers[0])[begin].store(true);
}

TEST(ThreadPool, sharesAreEven) {
  ThreadPool pool(2);
  // In chunks of two the second half would begin at the fifth or the seventh of ten items.
  std::vector<std::atomic<bool>> begins(10);
  void *buffers[] = {begins.data()};
  pool.parallelFor(noteBegin, buffers, 10, 1);
  EXPECT_TRUE(begins[0].load() && begins[2].load() && begins[5].load() && begins[7].load());
  EXPECT_FALSE(begins[6].load());
}

/// Runs a job from inside a job.
void nest(void *const *buffers, int64_t begin, int64_t end) {
  auto *pool = static_cast<ThreadPool *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    pool->parallelFor(countVisits, buffers, 100, 1);
}

TEST(ThreadPool, mayBeUsedFromInsideAKernel) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> visits(100);
  void *buffers[] = {visits.data(), &pool};
  pool.parallelFor(nest, buffers, 16, 1);
  for (auto &count : visits)
    EXPECT_EQ(count.load(), 16);
}

TEST(ThreadPool, servesSeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        expectEachOnce(pool, 50 + round % 7, 1);
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, wakesAfterSleeping) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    expectEachOnce(pool, 64, 1);
    // Longer than the spin, so that workers are asleep or on their way there.
    std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
  }
}

TEST(ThreadPool, comesAndGoesWithoutWork) {
  for (int i = 0; i < 50; ++i)
    ThreadPool pool(4);
}

} // namespace
} // namespace gantry::runtime
