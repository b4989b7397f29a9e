#include "gantry/Queues/Coalesce.h"

#include <algorithm>
#include <numeric>

namespace gantry::queues {

namespace {

constexpr uint32_t none = UINT32_MAX;

/// The transfer that a queue's next task might join.
struct Transfer {
  uint32_t first = none;
  double seconds = 0; ///< of its bytes
};

} // namespace

std::vector<uint32_t> coalesce(const std::vector<Task> &tasks,
                               const std::vector<Message> &messages) {
  // When tasks run, given the transfers so far: what goes together makes way for what follows.
  std::vector<double> start(tasks.size()), end(tasks.size()), free;
  std::vector<uint32_t> firsts(tasks.size());
  std::iota(firsts.begin(), firsts.end(), 0);
  std::vector<Transfer> open;
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    const Message &message = messages[i];
    const uint32_t queue = tasks[i].queue;
    if (open.size() <= queue) {
      open.resize(queue + 1);
      free.resize(queue + 1);
    }
    Transfer &transfer = open[queue];
    const double seconds = std::max(0.0, tasks[i].seconds - message.latency);
    const auto mayJoin = [&] {
      const uint32_t first = transfer.first;
      return first != none && messages[first].link == message.link &&
             transfer.seconds + seconds <= message.latency &&
             std::ranges::all_of(tasks[i].after, [&](uint32_t before) {
               return before < first && end[before] <= start[first];
             });
    };
    if (mayJoin()) {
      firsts[i] = transfer.first;
      transfer.seconds += seconds;
      start[i] = start[transfer.first];
      free[queue] += seconds;
    } else {
      const bool isSmall = seconds <= message.latency;
      transfer = {isSmall ? i : none, seconds};
      start[i] = free[queue];
      for (uint32_t before : tasks[i].after)
        start[i] = std::max(start[i], end[before]);
      free[queue] = start[i] + tasks[i].seconds;
    }
    end[i] = free[queue];
  }
  return firsts;
}

} // namespace gantry::queues
