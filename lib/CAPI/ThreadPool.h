// The compiler's threads. LLVM's own pool ends the process when the system starts no more of them;
// this one goes on with those that it has, be that the waiting thread alone.
#pragma once

#include "gantry/Support/Thread.h"

#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

namespace gantry::capi {

/// Whoever waits for tasks helps with them, so that there is one thread less than work at a time.
class ThreadPool : public llvm::ThreadPoolInterface {
public:
  /// `most` threads at a time, from 1 on, the waiting one among them.
  explicit ThreadPool(unsigned most);
  /// When all is done.
  ~ThreadPool() override;

  void wait() override;
  void wait(llvm::ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override { return most; }

  /// How many threads there are, once, when the system refused to start another one; else 0.
  unsigned takeShortage();

  /// Whether the calling thread has given tasks that it has not waited for: they use its stack.
  static bool hasOpenTasks();

private:
  using Group = llvm::ThreadPoolTaskGroup;
  struct Task {
    llvm::unique_function<void()> work;
    Group *group;
  };
  /// A task that runs, on the stack of the thread that runs it.
  struct Running {
    Group *group;
    Running *next;
  };

  void asyncEnqueue(llvm::unique_function<void()> work, Group *group) override;
  void addThread();
  void serve();
  void finish(Group *group);
  bool runNext(std::unique_lock<std::mutex> &lock, Group *group);
  bool isRunning(Group *group) const;

  const unsigned most;
  std::mutex mutex;
  std::condition_variable added, done;
  std::deque<Task> waiting;
  Running *running = nullptr;
  unsigned idle = 0; ///< threads that wait for tasks
  bool isEnding = false, isShort = false, isTold = false;
  std::vector<Thread> threads;
};

} // namespace gantry::capi
