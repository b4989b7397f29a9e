#include "gantry/Support/Thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include <sys/resource.h>

namespace {
using namespace gantry;

TEST(Thread, RunsBesideTheCallerAndIsJoined) {
  std::atomic<int> done = 0;
  {
    std::vector<Thread> threads(4);
    for (Thread &thread : threads)
      ASSERT_TRUE(thread.start([&] { ++done; }));
    EXPECT_FALSE(threads[0].start([&] { ++done; })); // one at a time
  }
  EXPECT_EQ(done, 4);
  Thread never;
  EXPECT_FALSE(never);
  never.join();
}

TEST(Thread, ItsStackIsItsOwn) {
  size_t left = 0;
  Thread thread;
  ASSERT_TRUE(thread.start([&] { left = stackLeft(); }));
  thread.join();
  EXPECT_GT(left, size_t(7) << 20);
  EXPECT_LE(left, size_t(8) << 20);
  EXPECT_GT(stackLeft(), size_t(64) << 10);
}

/// No more address space than there is.
bool limitMemory(rlimit &before) {
  if (::getrlimit(RLIMIT_AS, &before) != 0)
    return false;
  const rlimit none = {size_t(1) << 20, before.rlim_max};
  return ::setrlimit(RLIMIT_AS, &none) == 0;
}

TEST(Thread, IsNotStartedWhereThereIsNoMemoryForIt) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space";
#endif
  // The C library keeps stacks of threads that have ended; these take all that there are.
  std::atomic<bool> go = false;
  std::vector<Thread> others(16);
  for (Thread &other : others)
    ASSERT_TRUE(other.start([&] { go.wait(false); }));
  bool ran = false;
  Thread thread;
  rlimit before = {};
  ASSERT_TRUE(limitMemory(before));
  const bool started = thread.start([&] { ran = true; });
  ::setrlimit(RLIMIT_AS, &before);
  go = true;
  go.notify_all();
  EXPECT_FALSE(started);
  EXPECT_FALSE(thread);
  EXPECT_FALSE(ran);
  // Later it is.
  EXPECT_TRUE(thread.start([&] { ran = true; }));
  thread.join();
  EXPECT_TRUE(ran);
}

} // namespace
