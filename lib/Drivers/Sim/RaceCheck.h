// Which accesses to the same bytes are not ordered by queues, signals and waits.
//
// Vector clocks: entry i of a queue's clock is the number of commands of queue i that are known to
// be over. Of each range of bytes the last write and the last read by each queue are kept; an
// access is in order when what it must come after is in its queue's clock. The answer does not
// depend on the order in which the commands happen to run.
#pragma once

#include "gantry/Support/RangeMap.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::runtime {

class RaceCheck {
public:
  RaceCheck(size_t queues, size_t semaphores);

  /// What a command does with one of its buffers; `step` and `buffer` are the caller's numbers.
  struct Use {
    uint32_t step = 0;
    uint32_t buffer = 0;
    bool writes = false;
  };

  /// The next command of the queue; its accesses follow.
  void begin(size_t queue) { ++clocks[queue][queue]; }

  /// Records an access of the queue's current command to addresses begin..end-1. Gives the use that
  /// it conflicts with, if there is one.
  std::optional<Use> access(size_t queue, const Use &use, uintptr_t begin, uintptr_t end);

  void signal(size_t queue, uint32_t semaphore) { semaphores[semaphore] = clocks[queue]; }
  void wait(size_t queue, uint32_t semaphore);

  /// Everything so far comes before everything that follows.
  void join();

private:
  using Clock = std::vector<uint64_t>;
  struct Event {
    Use use;
    size_t queue = 0;
    uint64_t time = 0; ///< 0: never
  };
  struct AccessHistory {
    Event write;
    std::vector<Event> reads; ///< the last one of each queue since the write
  };

  bool isBefore(const Event &event, size_t queue) const {
    return clocks[queue][event.queue] >= event.time;
  }
  std::optional<Use> record(AccessHistory &range, const Event &event);

  std::vector<Clock> clocks; ///< by queue
  std::vector<Clock> semaphores;
  RangeMap<AccessHistory> ranges;
};

} // namespace gantry::runtime
