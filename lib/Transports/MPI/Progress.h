// The thread that makes all calls of MPI, and what is under way on it.
//
// MPI moves bytes only while somebody calls it, and many libraries want one thread to do so. This
// one begins what others ask for, tests what is under way, and sleeps where nothing comes.
#pragma once

#include "Library.h"

#include "gantry/Runtime/Queue.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gantry::runtime::mpi {

/// What ends when the last of its requests has.
struct Operation {
  Completion *done = nullptr;
  Status status;     ///< the first failure
  unsigned left = 1; ///< requests, and one until all have begun
  std::function<void()> ended;
};

class Progress {
public:
  explicit Progress(const Library &library);
  ~Progress(); ///< ends the thread; nothing may be under way
  Progress(const Progress &) = delete;

  /// Runs `task` on the thread, behind what was posted before.
  void post(std::function<void()> task);
  /// The same, and waits for it.
  Status perform(const std::function<Status()> &task);

  /// On the thread only: a place for the next request of `operation`. `begin` is told where a call
  /// writes its handle; a failure is the operation's.
  void add(Operation &operation, const char *function, const std::function<int(void *)> &begin);
  /// On the thread only: one of what an operation waits for is over, as that all its requests have
  /// begun.
  void finish(Operation &operation);

private:
  void serve();
  /// Tests what is under way once, and says whether something ended.
  bool test();
  void removeRequest(size_t place);
  char *requestAt(size_t place) { return requests.data() + place * library.abi.handleBytes; }

  const Library &library;
  std::vector<char> requests; ///< handles, as the ABI has them in arrays
  std::vector<Operation *> owners;
  std::vector<int> which;

  std::mutex mutex;
  std::condition_variable hasTasks;
  std::deque<std::function<void()>> tasks;
  bool isOver = false;
  std::thread thread;
};

} // namespace gantry::runtime::mpi
