// The pool's protocol on one word; see ThreadPool.h for what it is for.
//
// A job lives from the store that opens it to the moment its `active` count is back at zero after
// the caller closed it. Its fields are plain members: workers read them only between joining
// (acquire on `state`) and leaving (release on `state`), and the caller writes them only outside of
// that.
#include "gantry/Runtime/ThreadPool.h"

#include "gantry/Runtime/Process.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

namespace gantry::runtime {

namespace {

constexpr std::chrono::microseconds spinTime{10};
// Chunks per thread: enough that a thread that started late or was preempted does not hold up the
// end, few enough that taking one stays cheap.
constexpr int64_t chunksPerThread = 4;
// 12 bits of `state` count the workers inside.
constexpr unsigned maxThreads = 1024;

void pauseCPU() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `done` for spinTime; the clock is read rarely because it costs as much as many polls.
template <typename Predicate>
bool spinUntil(Predicate done) {
  auto end = std::chrono::steady_clock::now() + spinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pauseCPU();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

} // namespace

unsigned availableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

ThreadPool::ThreadPool(unsigned threads) : generation(processGeneration()) {
  if (threads == 0)
    threads = availableThreads();
  threads = std::min(threads, maxThreads);
  workers.reserve(threads - 1);
  shares = std::make_unique<Share[]>(threads);
  for (unsigned i = 1; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, threadMain, this) != 0)
      break;
    workers.push_back(thread);
  }
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  state.fetch_add(epochStep);
  state.notify_all();
  if (generation != processGeneration())
    return; // in a child of the process whose threads they are: there is none to wait for
  for (pthread_t thread : workers)
    pthread_join(thread, nullptr);
}

void *ThreadPool::threadMain(void *pool) {
  static_cast<ThreadPool *>(pool)->workerLoop();
  return nullptr;
}

void ThreadPool::runShared(KernelFn fn, void *const *buffers, int64_t items, int64_t grain) {
  if (busy.test_and_set(std::memory_order_acquire)) {
    fn(buffers, 0, items);
    return;
  }
  int64_t pieces = static_cast<int64_t>(size()) * chunksPerThread;
  job = {fn, buffers, items, std::max({int64_t(1), grain, (items + pieces - 1) / pieces})};
  makeShares();
  uint32_t epoch = state.load(std::memory_order_relaxed) & ~(epochStep - 1);
  // seq_cst here and on `idle`: either the worker that goes to sleep sees the job, or we see it
  // idle.
  state.store((epoch + epochStep) | openBit);
  if (idle.load() != 0)
    state.notify_all();
  runChunks(0);
  finishJob();
  busy.clear(std::memory_order_release);
}

/// As even as items are: in whole chunks ten items on two threads would be four and six. Only where
/// there are fewer chunks than threads some have none.
void ThreadPool::makeShares() {
  const int64_t threads = size(), chunks = (job.items + job.chunk - 1) / job.chunk;
  auto first = [&](int64_t thread) {
    return chunks < threads ? std::min(job.items, chunks * thread / threads * job.chunk)
                            : job.items * thread / threads;
  };
  for (int64_t i = 0; i < threads; ++i) {
    shares[i].next.store(first(i), std::memory_order_relaxed);
    shares[i].end = i + 1 == threads ? job.items : first(i + 1);
  }
}

/// Its own share, then what is left of the others', the next thread's first.
void ThreadPool::runChunks(unsigned self) {
  const Job current = job;
  const unsigned threads = size();
  for (unsigned i = 0; i < threads; ++i) {
    Share &share = shares[(self + i) % threads];
    const int64_t end = share.end;
    for (int64_t begin;
         (begin = share.next.fetch_add(current.chunk, std::memory_order_relaxed)) < end;)
      current.fn(current.buffers, begin, std::min(begin + current.chunk, end));
  }
}

/// Closes the job and waits for the workers that are still inside.
void ThreadPool::finishJob() {
  uint32_t now = state.fetch_and(~openBit, std::memory_order_acq_rel) & ~openBit;
  auto drained = [&] {
    now = state.load(std::memory_order_acquire);
    return (now & activeMask) == 0;
  };
  if ((now & activeMask) == 0 || spinUntil(drained))
    return;
  while ((now & activeMask) != 0) {
    state.wait(now, std::memory_order_acquire);
    now = state.load(std::memory_order_acquire);
  }
}

/// Waits until a job that is not `lastEpoch`'s is open, or until the pool stops (false).
bool ThreadPool::waitForNews(uint32_t lastEpoch) {
  auto news = [&] {
    uint32_t now = state.load();
    return stopping.load(std::memory_order_relaxed) ||
           ((now & openBit) != 0 && (now & ~(epochStep - 1)) != lastEpoch);
  };
  if (!spinUntil(news)) {
    idle.fetch_add(1);
    while (true) {
      uint32_t seen = state.load();
      if (news())
        break;
      state.wait(seen);
    }
    idle.fetch_sub(1);
  }
  return !stopping.load();
}

void ThreadPool::workerLoop() {
  const unsigned self = numbered.fetch_add(1) + 1; // the caller is the first
  uint32_t lastEpoch = 0; // the first job has epoch 1: state starts at 0 and closed
  while (waitForNews(lastEpoch)) {
    uint32_t now = state.load();
    bool joined = false;
    while ((now & openBit) != 0 && !joined)
      joined = state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel);
    if (!joined)
      continue;
    lastEpoch = now & ~(epochStep - 1);
    runChunks(self);
    uint32_t left = state.fetch_sub(1, std::memory_order_acq_rel) - 1;
    // The caller may be asleep in finishJob.
    if ((left & openBit) == 0 && (left & activeMask) == 0)
      state.notify_all();
  }
}

namespace {
struct Shares {
  const std::function<void(size_t)> &work;
  size_t count;
  std::atomic<size_t> next{0};

  static void take(void *const *self, int64_t, int64_t) {
    auto &shares = *static_cast<Shares *>(self[0]);
    for (size_t i; (i = shares.next.fetch_add(1, std::memory_order_relaxed)) < shares.count;)
      shares.work(i);
  }
};
} // namespace

void shareOut(ThreadPool &pool, size_t count, const std::function<void(size_t)> &work) {
  Shares shares{work, count};
  void *state[] = {&shares};
  pool.parallelFor(Shares::take, state, pool.size(), 1);
}

} // namespace gantry::runtime
