// A pool that runs one kernel at a time on several threads.
//
// There is one job slot. The caller publishes a job and takes part in it; workers join while chunks
// are left, and the caller waits only for those that joined, so a worker that is slow to wake costs
// nothing. Between jobs a worker spins for about ten microseconds, long enough to stay hot from one
// kernel of a run to the next, and then sleeps. A second caller that finds the slot taken runs its
// work on its own thread: two sessions at once already use two threads, and nothing can deadlock.
//
// Each thread has a share of the items, one contiguous range, and helps others when it is through
// with it: neighbouring items read neighbouring memory, which a kernel may have asked for ahead.
#pragma once

#include "gantry/Runtime/Kernel.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <pthread.h>
#include <vector>

namespace gantry::runtime {

/// Number of CPUs that this process may run on (its affinity mask), at least 1.
unsigned availableThreads();

class ThreadPool {
public:
  /// A pool of `threads` threads in all: the caller and `threads - 1` workers. 0 means
  /// availableThreads(). When the system refuses a thread the pool is smaller; see size().
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Threads that a job can use, the caller included.
  unsigned size() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// Calls `fn` over [0, items) in ranges of at least `grain` items (a thread's last may be
  /// shorter) and returns when all are done. Runs on the calling thread when there is not work for
  /// two. Never allocates; may be called from any thread, also from inside a kernel.
  void parallelFor(KernelFn fn, void *const *buffers, int64_t items, int64_t grain) {
    if (items <= grain || workers.empty()) {
      fn(buffers, 0, items);
      return;
    }
    runShared(fn, buffers, items, grain);
  }

private:
  // `state` is one word so that a worker can look and join in one step, and sleep on it:
  // epoch in the high bits, then whether the job takes workers, then how many are inside.
  static constexpr uint32_t activeMask = 0xfff;
  static constexpr uint32_t openBit = 0x1000;
  static constexpr uint32_t epochStep = 0x2000;

  void runShared(KernelFn fn, void *const *buffers, int64_t items, int64_t grain);
  void makeShares();
  void runChunks(unsigned self);
  void finishJob();
  void workerLoop();
  bool waitForNews(uint32_t lastEpoch);
  static void *threadMain(void *pool);

  struct Job {
    KernelFn fn = nullptr;
    void *const *buffers = nullptr;
    int64_t items = 0;
    int64_t chunk = 1;
  };

  /// The items of one thread, on a line of their own, for it hammers `next`.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::vector<pthread_t> workers;
  const unsigned generation;         ///< of the process that has the workers
  std::unique_ptr<Share[]> shares;   ///< the caller's first
  std::atomic<unsigned> numbered{0}; ///< workers that have a share of their own
  Job job;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::atomic<bool> stopping{false};
  // On lines of their own: sleepers poll `state`.
  alignas(64) std::atomic<uint32_t> state{0};
  alignas(64) std::atomic<uint32_t> idle{0};
};

/// Work of very different sizes: each thread takes the next of `count` pieces until none is left,
/// so that the large ones should come first.
void shareOut(ThreadPool &pool, size_t count, const std::function<void(size_t)> &work);

} // namespace gantry::runtime
