// When tasks of queues run, in which order, and which of them go together.
#pragma once

#include "gantry/Queues/Coalesce.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>

namespace gantry::queues {

inline uint32_t countQueues(const std::vector<Task> &tasks) {
  uint32_t count = 0;
  for (const Task &task : tasks)
    count = std::max(count, task.queue + 1);
  return count;
}

/// A discrete-event simulation. Tasks start in the order of time: what a task makes ready is ready
/// later than it started, so nothing that is not known yet could have started before.
class Simulation {
public:
  /// `reordered` is by queue: it runs first what is ready first. `messages` is by task, or empty:
  /// then each goes alone.
  Simulation(const std::vector<Task> &tasks, const std::vector<bool> &reordered,
             const std::vector<Message> &messages)
      : tasks(tasks), reordered(reordered), messages(messages), queues(countQueues(tasks)),
        ready(tasks.size()), missing(tasks.size()), dependents(tasks.size()) {
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      missing[i] = static_cast<uint32_t>(tasks[i].after.size());
      for (uint32_t before : tasks[i].after)
        dependents[before].push_back(i);
      queues[tasks[i].queue].order.push_back(i);
    }
  }

  Transfers run() {
    started.firsts.resize(tasks.size());
    started.order.reserve(tasks.size());
    for (uint32_t i = 0; i < tasks.size(); ++i)
      if (missing[i] == 0)
        queues[tasks[i].queue].waiting.insert(key(i));
    for (uint32_t queue = 0; queue < queues.size(); ++queue)
      offer(queue);
    while (!offers.empty()) {
      Offer next = offers.top();
      offers.pop();
      if (next.version != queues[tasks[next.task].queue].version)
        continue; // the queue has a better one by now
      start(next);
    }
    return std::move(started);
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
  const std::vector<Message> &messages;
  Transfers started;
  std::vector<Queue> queues;
  std::vector<double> ready;     ///< by task: when what it comes after is done
  std::vector<uint32_t> missing; ///< by task: how many of those have no time yet
  std::vector<std::vector<uint32_t>> dependents;
  std::priority_queue<Offer> offers;

  Key key(uint32_t task) const { return {reordered[tasks[task].queue] ? ready[task] : 0, task}; }

  /// What the queue runs next, if that is ready.
  std::optional<uint32_t> nextOf(uint32_t index) const {
    const Queue &queue = queues[index];
    if (queue.waiting.empty())
      return std::nullopt;
    const uint32_t task = queue.waiting.begin()->second;
    const bool isItsTurn = reordered[index] || task == queue.order[queue.next];
    return isItsTurn ? std::optional(task) : std::nullopt;
  }

  void offer(uint32_t index) {
    Queue &queue = queues[index];
    ++queue.version;
    if (std::optional<uint32_t> task = nextOf(index))
      offers.push({std::max(queue.free, ready[*task]), *task, queue.version});
  }

  double bytesSeconds(uint32_t task) const {
    return std::max(0.0, tasks[task].seconds - messages[task].latency);
  }

  /// Whether it goes with a transfer whose bytes take `seconds`.
  bool mayJoin(uint32_t task, const Offer &lead, double seconds) const {
    return messages[lead.task].link == messages[task].link && ready[task] <= lead.start &&
           seconds + bytesSeconds(task) <= messages[task].latency;
  }

  void take(uint32_t task, uint32_t first) {
    Queue &queue = queues[tasks[task].queue];
    queue.waiting.erase(queue.waiting.begin());
    ++queue.next;
    started.order.push_back(task);
    started.firsts[task] = first;
  }

  /// The task, with those behind it on its queue that it can take along.
  void start(const Offer &lead) {
    const uint32_t index = tasks[lead.task].queue;
    const size_t begin = started.order.size();
    double seconds = tasks[lead.task].seconds;
    take(lead.task, lead.task);
    if (!messages.empty()) {
      double bytes = bytesSeconds(lead.task);
      for (std::optional<uint32_t> task = nextOf(index); task && mayJoin(*task, lead, bytes);
           task = nextOf(index)) {
        bytes += bytesSeconds(*task);
        seconds += bytesSeconds(*task);
        take(*task, lead.task);
      }
    }
    queues[index].free = lead.start + seconds;
    for (size_t i = begin; i < started.order.size(); ++i)
      finish(started.order[i]);
    offer(index);
  }

  void finish(uint32_t task) {
    const Queue &queue = queues[tasks[task].queue];
    for (uint32_t next : dependents[task]) {
      ready[next] = std::max(ready[next], queue.free);
      if (--missing[next] != 0)
        continue;
      queues[tasks[next].queue].waiting.insert(key(next));
      if (tasks[next].queue != tasks[task].queue)
        offer(tasks[next].queue);
    }
  }
};

} // namespace gantry::queues
