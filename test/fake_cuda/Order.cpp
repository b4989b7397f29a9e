#include "Order.h"

#include <algorithm>
#include <iterator>

namespace fake {

void join(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

void advance(Clock &clock, size_t actor) {
  if (clock.size() <= actor)
    clock.resize(actor + 1);
  ++clock[actor];
}

void Order::split(uint64_t at) {
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

std::optional<std::string> Order::record(Range &range, const Doer &doer, bool writes) {
  auto isBefore = [&](const Event &event) {
    return event.time == 0 ||
           (event.actor < doer.clock.size() && doer.clock[event.actor] >= event.time);
  };
  const Event mine{doer.actor, doer.clock[doer.actor], doer.name};
  if (!isBefore(range.write))
    return range.write.name;
  if (!writes) {
    std::erase_if(range.reads, [&](const Event &read) { return read.actor == mine.actor; });
    range.reads.push_back(mine);
    return std::nullopt;
  }
  for (const Event &read : range.reads)
    if (!isBefore(read))
      return read.name;
  range.write = mine;
  range.reads.clear();
  return std::nullopt;
}

std::optional<std::string> Order::access(const Doer &doer, uint64_t begin, uint64_t end,
                                         bool writes) {
  if (begin >= end)
    return std::nullopt;
  split(begin);
  split(end);
  for (uint64_t at = begin; at < end;) {
    auto found = ranges.lower_bound(at);
    if (found == ranges.end() || found->first > at) { // bytes that nobody has touched yet
      const uint64_t gapEnd = found == ranges.end() ? end : std::min(end, found->first);
      found = ranges.emplace(at, Range{gapEnd, {}, {}}).first;
    }
    if (auto conflict = record(found->second, doer, writes))
      return conflict;
    at = found->second.end;
  }
  return std::nullopt;
}

void Order::forget(uint64_t begin, uint64_t end) {
  split(begin);
  split(end);
  ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
}

} // namespace fake
