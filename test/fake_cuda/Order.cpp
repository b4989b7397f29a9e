#include "Order.h"

#include <algorithm>

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
  return ranges.visit(begin, end, [&](Range &range) { return record(range, doer, writes); });
}

} // namespace fake
