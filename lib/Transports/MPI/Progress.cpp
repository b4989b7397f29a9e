#include "Progress.h"

#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Environment.h"

#include <algorithm>
#include <cstring>
#include <sys/prctl.h>

using namespace gantry;
using namespace gantry::runtime;
using namespace gantry::runtime::mpi;

namespace {

/// How long to wait between two tests: none for 50 us where a core is free for it, then as long as
/// it takes others to run, then 20 us.
class Patience {
public:
  Patience() {
    const std::string wanted = environment("GANTRY_MPI_WAIT");
    spins = wanted == "spin" || (wanted != "sleep" && availableThreads() > 1);
    sleeps = wanted != "spin";
  }

  void restart() { began = Clock::now(); }

  void wait() {
    const auto waited = Clock::now() - began;
    if (spins && waited < std::chrono::microseconds(50))
      return;
    if (!sleeps || waited < std::chrono::microseconds(100))
      return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began = Clock::now();
  bool spins, sleeps;
};

} // namespace

Progress::Progress(const Library &library) : library(library), thread([this] { serve(); }) {}

Progress::~Progress() {
  post([this] { isOver = true; });
  thread.join();
}

void Progress::post(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    tasks.push_back(std::move(task));
  }
  hasTasks.notify_one();
}

Status Progress::perform(const std::function<Status()> &task) {
  std::mutex over;
  std::condition_variable told;
  bool isDone = false;
  Status status;
  post([&] {
    Status result = task();
    std::lock_guard<std::mutex> lock(over);
    status = std::move(result);
    isDone = true;
    told.notify_one();
  });
  std::unique_lock<std::mutex> lock(over);
  told.wait(lock, [&] { return isDone; });
  return status;
}

void Progress::serve() {
  ::prctl(PR_SET_NAME, "gantry-mpi");
  ::prctl(PR_SET_TIMERSLACK, 1000UL); // of the sleeps below, in ns
  Patience patience;
  std::deque<std::function<void()>> taken;
  while (!isOver) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (owners.empty())
        hasTasks.wait(lock, [&] { return !tasks.empty(); });
      taken.swap(tasks);
    }
    for (std::function<void()> &task : taken)
      task();
    const bool hasBegun = !taken.empty();
    taken.clear();
    if (test() || hasBegun)
      patience.restart();
    else
      patience.wait();
  }
}

void Progress::add(Operation &operation, const char *function,
                   const std::function<int(void *)> &begin) {
  const size_t place = owners.size(), bytes = library.abi.handleBytes;
  requests.resize((place + 1) * bytes);
  std::memcpy(requestAt(place), &library.abi.nullRequest, bytes);
  if (Status status = library.check(begin(requestAt(place)), function); !status.ok()) {
    requests.resize(place * bytes);
    if (operation.status.ok())
      operation.status = std::move(status);
    return;
  }
  owners.push_back(&operation);
  ++operation.left;
}

void Progress::finish(Operation &operation) {
  if (--operation.left)
    return;
  // The callee may take both with it.
  Completion &done = *operation.done;
  Outcome outcome{std::move(operation.status), 0};
  auto ended = std::move(operation.ended);
  if (ended)
    ended();
  done.finished(std::move(outcome));
}

void Progress::removeRequest(size_t place) {
  const size_t last = owners.size() - 1, bytes = library.abi.handleBytes;
  std::memmove(requestAt(place), requestAt(last), bytes);
  owners[place] = owners[last];
  owners.pop_back();
  requests.resize(last * bytes);
}

bool Progress::test() {
  if (owners.empty())
    return false;
  which.resize(owners.size());
  int done = 0;
  const int result = library.testsome(static_cast<int>(owners.size()), requests.data(), &done,
                                      which.data(), library.abi.ignoreStatuses);
  Status status = library.check(result, "MPI_Testsome");
  if (done == undefined || done <= 0) {
    if (status.ok())
      return false;
    // Which of them failed is in statuses that nobody reads: the job ends anyway.
    done = static_cast<int>(owners.size());
    for (int i = 0; i < done; ++i)
      which[static_cast<size_t>(i)] = i;
  }
  std::vector<Operation *> ended;
  // From the last place on, since the last request takes the place of one that goes.
  std::sort(which.begin(), which.begin() + done, std::greater<int>());
  for (int i = 0; i < done; ++i) {
    const size_t place = static_cast<size_t>(which[static_cast<size_t>(i)]);
    if (!status.ok() && owners[place]->status.ok())
      owners[place]->status = status;
    ended.push_back(owners[place]);
    removeRequest(place);
  }
  for (Operation *operation : ended)
    finish(*operation);
  return true;
}
