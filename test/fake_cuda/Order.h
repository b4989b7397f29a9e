// Which accesses to the same bytes are ordered by streams, events and waits of the host, whatever
// the order in which the work happened to run.
//
// Vector clocks: entry i of a clock is how much of actor i (the host, a stream, a lane of a graph)
// is known to be over. Of each range of bytes the last write and the last read by each actor are
// kept.
#pragma once

#include "gantry/Support/RangeMap.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fake {

using Clock = std::vector<uint64_t>;

void join(Clock &clock, const Clock &other);
/// One more of what the actor does.
void advance(Clock &clock, size_t actor);

/// A piece of work: who does it, what is known to be over before it, and what it is called.
struct Doer {
  size_t actor = 0;
  Clock clock;
  std::string name;
};

class Order {
public:
  /// Records an access; gives the name of work that it is not ordered with, if there is one.
  std::optional<std::string> access(const Doer &doer, uint64_t begin, uint64_t end, bool writes);
  /// The bytes are somebody else's from now on.
  void forget(uint64_t begin, uint64_t end) { ranges.erase(begin, end); }

private:
  struct Event {
    size_t actor = 0;
    uint64_t time = 0; ///< 0: never
    std::string name;
  };
  struct Range {
    Event write;
    std::vector<Event> reads;
  };
  static std::optional<std::string> record(Range &range, const Doer &doer, bool writes);

  gantry::RangeMap<Range> ranges;
};

} // namespace fake
