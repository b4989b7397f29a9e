#include "RaceCheck.h"

#include <algorithm>
#include <iterator>

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

/// Makes `at` a border between ranges, if it lies inside of one.
void RaceCheck::split(uintptr_t at) {
  auto after = ranges.upper_bound(at);
  if (after == ranges.begin())
    return;
  auto &[begin, range] = *std::prev(after);
  if (begin == at || range.end <= at)
    return;
  Range second = range;
  range.end = at;
  ranges.emplace(at, std::move(second));
}

std::optional<RaceCheck::Use> RaceCheck::record(Range &range, const Event &event) {
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
  if (begin >= end)
    return std::nullopt;
  split(begin);
  split(end);
  Event event{use, queue, clocks[queue][queue]};
  for (uintptr_t at = begin; at < end;) {
    auto found = ranges.lower_bound(at);
    if (found == ranges.end() || found->first > at) { // bytes that nobody has touched yet
      uintptr_t gapEnd = found == ranges.end() ? end : std::min(end, found->first);
      found = ranges.emplace(at, Range{gapEnd, {}, {}}).first;
    }
    if (std::optional<Use> conflict = record(found->second, event))
      return conflict;
    at = found->second.end;
  }
  return std::nullopt;
}

} // namespace gantry::runtime
