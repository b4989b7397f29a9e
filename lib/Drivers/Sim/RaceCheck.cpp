#include "RaceCheck.h"

#include <algorithm>

namespace gantry::runtime {

RaceCheck::RaceCheck(size_t queues, size_t semaphores)
    : clocks(queues, Clock(queues, 0)), semaphores(semaphores, Clock(queues, 0)) {}

void RaceCheck::wait(size_t queue, uint32_t semaphore) {
  Clock &mine = clocks[queue];
  for (size_t i = 0; i < mine.size(); ++i)
    mine[i] = std::max(mine[i], semaphores[semaphore][i]);
}

void RaceCheck::join() {
  Clock latest(clocks.size(), 0);
  for (size_t i = 0; i < clocks.size(); ++i)
    latest[i] = clocks[i][i];
  std::fill(clocks.begin(), clocks.end(), latest);
  ranges.clear(); // nothing in it can conflict any more
}

std::optional<RaceCheck::Use> RaceCheck::record(AccessHistory &range, const Event &event) {
  if (!isBefore(range.write, event.queue))
    return range.write.use;
  if (!event.use.writes) {
    std::erase_if(range.reads, [&](const Event &read) { return read.queue == event.queue; });
    range.reads.push_back(event);
    return std::nullopt;
  }
  for (const Event &read : range.reads)
    if (!isBefore(read, event.queue))
      return read.use;
  range.write = event;
  range.reads.clear();
  return std::nullopt;
}

std::optional<RaceCheck::Use> RaceCheck::access(size_t queue, const Use &use, uintptr_t begin,
                                                uintptr_t end) {
  const Event event{use, queue, clocks[queue][queue]};
  return ranges.visit(begin, end, [&](AccessHistory &range) { return record(range, event); });
}

} // namespace gantry::runtime
