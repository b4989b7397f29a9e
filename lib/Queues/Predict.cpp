// A discrete-event simulation. Tasks start in the order of time: what a task makes ready is ready
// later than it started, so nothing that is not known yet could have started before.
#include "gantry/Queues/Predict.h"

#include <algorithm>
#include <queue>
#include <set>

namespace gantry::queues {

namespace {

uint32_t countQueues(const std::vector<Task> &tasks) {
  uint32_t count = 0;
  for (const Task &task : tasks)
    count = std::max(count, task.queue + 1);
  return count;
}

class Simulation {
public:
  Simulation(const std::vector<Task> &tasks, const std::vector<bool> &reordered)
      : tasks(tasks), reordered(reordered), queues(countQueues(tasks)), ready(tasks.size()),
        missing(tasks.size()), dependents(tasks.size()) {
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      missing[i] = static_cast<uint32_t>(tasks[i].after.size());
      for (uint32_t before : tasks[i].after)
        dependents[before].push_back(i);
      queues[tasks[i].queue].order.push_back(i);
    }
  }

  std::vector<uint32_t> run() {
    for (uint32_t i = 0; i < tasks.size(); ++i)
      if (missing[i] == 0)
        queues[tasks[i].queue].waiting.insert(key(i));
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      offer(queue);
    std::vector<uint32_t> started;
    started.reserve(tasks.size());
    while (!offers.empty()) {
      Offer next = offers.top();
      offers.pop();
      if (next.version != queues[tasks[next.task].queue].version)
        continue; // the queue has a better one by now
      start(next);
      started.push_back(next.task);
    }
    return started;
  }

private:
  /// Tasks that are ready, first those to run first: by time, or by the order given.
  using Key = std::pair<double, uint32_t>;
  struct Queue {
    double free = 0; ///< when its last task ends
    std::set<Key> waiting;
    std::vector<uint32_t> order; ///< its tasks as given
    size_t next = 0;             ///< of `order`, where it is kept
    uint32_t version = 0;        ///< of its offer
  };
  /// What a queue would run next, and when.
  struct Offer {
    double start;
    uint32_t task;
    uint32_t version;
    bool operator<(const Offer &other) const { // the greatest is taken first
      return std::pair(start, task) > std::pair(other.start, other.task);
    }
  };

  const std::vector<Task> &tasks;
  const std::vector<bool> &reordered;
  std::vector<Queue> queues;
  std::vector<double> ready;     ///< by task: when what it comes after is done
  std::vector<uint32_t> missing; ///< by task: how many of those have no time yet
  std::vector<std::vector<uint32_t>> dependents;
  std::priority_queue<Offer> offers;

  Key key(uint32_t task) const { return {reordered[tasks[task].queue] ? ready[task] : 0, task}; }

  void offer(uint32_t index) {
    Queue &queue = queues[index];
    ++queue.version;
    if (queue.waiting.empty())
      return;
    uint32_t task = queue.waiting.begin()->second;
    if (!reordered[index] && task != queue.order[queue.next])
      return; // ready, but not its turn
    offers.push({std::max(queue.free, ready[task]), task, queue.version});
  }

  void start(const Offer &offered) {
    const Task &task = tasks[offered.task];
    Queue &queue = queues[task.queue];
    queue.waiting.erase(queue.waiting.begin());
    ++queue.next;
    queue.free = offered.start + task.seconds;
    for (uint32_t next : dependents[offered.task]) {
      ready[next] = std::max(ready[next], queue.free);
      if (--missing[next] != 0)
        continue;
      queues[tasks[next].queue].waiting.insert(key(next));
      if (tasks[next].queue != task.queue)
        offer(tasks[next].queue);
    }
    offer(task.queue);
  }
};

} // namespace

Times predict(const std::vector<Task> &tasks) {
  Times times;
  std::vector<double> free(countQueues(tasks));
  for (const Task &task : tasks) {
    double start = free[task.queue];
    for (uint32_t before : task.after)
      start = std::max(start, times.end[before]);
    times.start.push_back(start);
    times.end.push_back(free[task.queue] = start + task.seconds);
  }
  return times;
}

std::vector<uint32_t> orderByStart(const std::vector<Task> &tasks,
                                   const std::vector<bool> &reordered) {
  return Simulation(tasks, reordered).run();
}

} // namespace gantry::queues
