#include "ThreadPool.h"

#include "Guard.h"

#include <algorithm>

using namespace gantry::capi;

/// Waits are nested, and the outermost one ends with none.
static thread_local bool openTasks = false;

bool ThreadPool::hasOpenTasks() { return openTasks; }

ThreadPool::ThreadPool(unsigned most) : most(std::max(1u, most)) {
  threads.reserve(this->most - 1);
}

ThreadPool::~ThreadPool() {
  wait();
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  added.notify_all();
  threads.clear();
}

void ThreadPool::asyncEnqueue(llvm::unique_function<void()> work, Group *group) {
  std::lock_guard<std::mutex> lock(mutex);
  openTasks = true;
  waiting.push_back({std::move(work), group});
  if (idle < waiting.size())
    addThread();
  added.notify_one();
  done.notify_all(); // who waits for the group may help
}

void ThreadPool::addThread() {
  if (isShort || threads.size() + 1 >= most)
    return;
  Thread thread;
  if (thread.start([this] { serve(); }))
    threads.push_back(std::move(thread));
  else
    isShort = true;
}

void ThreadPool::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnding) {
    if (runNext(lock, nullptr))
      continue;
    ++idle;
    added.wait(lock, [this] { return isEnding || !waiting.empty(); });
    --idle;
  }
}

/// Of the group, of any for null. False when none waits.
bool ThreadPool::runNext(std::unique_lock<std::mutex> &lock, Group *group) {
  const auto next = std::find_if(waiting.begin(), waiting.end(),
                                 [&](const Task &task) { return !group || task.group == group; });
  if (next == waiting.end())
    return false;
  Running self{next->group, running};
  running = &self;
  {
    auto work = std::move(next->work);
    waiting.erase(next);
    lock.unlock();
    runTask(work);
  }
  lock.lock();
  Running **at = &running;
  while (*at != &self)
    at = &(*at)->next;
  *at = self.next;
  done.notify_all();
  return true;
}

bool ThreadPool::isRunning(Group *group) const {
  for (const Running *task = running; task; task = task->next)
    if (!group || task->group == group)
      return true;
  return false;
}

void ThreadPool::finish(Group *group) {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (runNext(lock, group))
      continue;
    if (!isRunning(group))
      break;
    done.wait(lock);
  }
  openTasks = false;
}

void ThreadPool::wait() { finish(nullptr); }
void ThreadPool::wait(Group &group) { finish(&group); }

unsigned ThreadPool::takeShortage() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isShort || isTold)
    return 0;
  isTold = true;
  return static_cast<unsigned>(threads.size()) + 1;
}
