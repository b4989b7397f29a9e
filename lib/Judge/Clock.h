// What a queue knows of the others.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace gantry::judge {

/// The last time of each queue that is over; a queue that nothing is known of has no entry, so
/// that of many queues those that never meet cost nothing.
class Clock {
public:
  uint64_t of(uint32_t queue) const {
    auto found = times.find(queue);
    return found == times.end() ? 0 : found->second;
  }
  void set(uint32_t queue, uint64_t time) { times[queue] = time; }
  void learn(const Clock &other) {
    for (auto [queue, time] : other.times)
      if (uint64_t &mine = times[queue]; mine < time)
        mine = time;
  }

private:
  std::unordered_map<uint32_t, uint64_t> times;
};

} // namespace gantry::judge
