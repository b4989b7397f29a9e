#include "gantry/Queues/Coalesce.h"

#include <algorithm>

namespace gantry::queues {

namespace {

constexpr uint32_t none = UINT32_MAX;

/// Follows the tasks in order and knows when each runs, what goes together included: what is saved
/// brings forward all that comes behind.
class Coalescer {
public:
  Coalescer(const std::vector<Task> &tasks, const std::vector<Message> &messages)
      : tasks(tasks), messages(messages), firsts(tasks.size(), none), start(tasks.size()),
        end(tasks.size()), next(tasks.size(), none) {
    std::vector<uint32_t> last;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      const uint32_t queue = tasks[i].queue;
      if (last.size() <= queue)
        last.resize(queue + 1, none);
      if (last[queue] != none)
        next[last[queue]] = i;
      last[queue] = i;
    }
    free.resize(last.size());
  }

  std::vector<uint32_t> run() {
    for (uint32_t i = 0; i < tasks.size(); ++i)
      if (firsts[i] == none)
        begin(i);
    return std::move(firsts);
  }

private:
  double bytesSeconds(uint32_t task) const {
    return std::max(0.0, tasks[task].seconds - messages[task].latency);
  }

  /// The task, with those behind it on its queue that it can take along.
  void begin(uint32_t first) {
    start[first] = free[tasks[first].queue];
    for (uint32_t before : tasks[first].after)
      start[first] = std::max(start[first], end[before]);
    double seconds = bytesSeconds(first);
    firsts[first] = first;
    uint32_t i = next[first];
    for (; i != none && mayJoin(i, first, seconds); i = next[i]) {
      seconds += bytesSeconds(i);
      firsts[i] = first;
    }
    const double done =
        start[first] + std::min(messages[first].latency, tasks[first].seconds) + seconds;
    for (uint32_t member = first; member != i; member = next[member])
      end[member] = done;
    free[tasks[first].queue] = done;
  }

  bool mayJoin(uint32_t task, uint32_t first, double seconds) const {
    return messages[first].link == messages[task].link &&
           seconds + bytesSeconds(task) <= messages[task].latency &&
           std::ranges::all_of(tasks[task].after, [&](uint32_t before) {
             return before < first && end[before] <= start[first];
           });
  }

  const std::vector<Task> &tasks;
  const std::vector<Message> &messages;
  std::vector<uint32_t> firsts;
  std::vector<double> start, end, free; ///< by task; by queue
  std::vector<uint32_t> next;           ///< by task: the one behind it on its queue
};

} // namespace

std::vector<uint32_t> coalesce(const std::vector<Task> &tasks,
                               const std::vector<Message> &messages) {
  return Coalescer(tasks, messages).run();
}

} // namespace gantry::queues
