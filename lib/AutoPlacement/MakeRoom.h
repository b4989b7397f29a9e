// Makes decisions fit that are over the limits of devices, at little cost in time.
#pragma once

#include "Clusters.h"
#include "Simulator.h"

namespace gantry::placement {

/// How much may still be tried, in decisions and in simulated tasks.
struct Budget {
  uint32_t steps;
  uint64_t visits;
  uint32_t used = 0;

  bool isSpent(uint32_t tasks) const { return used >= steps || visits < tasks; }
  /// A part of what is left.
  Budget share(uint32_t parts) const {
    return {used + (steps - used) / parts, visits / parts, used};
  }
  void take(const Budget &share, uint32_t parts) {
    visits -= (visits / parts) - share.visits;
    used = share.used;
  }
  void spend(uint32_t tasks) {
    ++used;
    visits -= std::min<uint64_t>(visits, tasks);
  }
};

/// Tasks that a streamed constant may be ahead of its first reader by, as plans choose it
/// (lib/Transforms/Memory/PlanMemory.cpp), after the beginning of the step.
inline constexpr uint32_t kAheads[] = {64, 32, 16, 8, 4, 2, 1, 0};

/// Constants of fewer bytes are not streamed.
inline constexpr uint64_t kLeastStreamed = 16 << 10;

class RoomMaker {
public:
  /// All must outlive it.
  RoomMaker(const OrderedGraph &graph, const std::vector<std::vector<Cluster>> &levels,
            Simulator &simulator, Budget &budget)
      : graph(graph), levels(levels), simulator(simulator), budget(budget) {}

  /// Whether there is a constant that can be streamed to a device with a limit.
  bool mayStream() const;

  /// Streams constants to the devices that are over their limits, as many bytes as are missing,
  /// spread evenly over the order: each then has the computing in front of it to hide behind. Gives
  /// the score; all that fits has no overflow.
  Score stream(Assignment &decision);

  /// Streams a part more than it does: room in which constants can come earlier. False when there
  /// is nothing left, or what comes of it does not fit.
  bool streamMore(Assignment &decision, double part);

  /// Moves clusters from devices that are over their limits to those that have room, first those
  /// that cost the fewest seconds for each byte of constants. `stays`: atoms that do not move.
  Score spill(Assignment &decision, const Cluster &stays = {});

  /// The farthest that streamed constants may be ahead within the limits.
  Score settleAhead(Assignment &decision);

private:
  struct Offer {
    const Cluster *cluster = nullptr;
    uint32_t to = 0;
    double price = 0; ///< seconds a byte
  };
  Score play(const Assignment &decision);
  uint64_t room(uint32_t device) const;
  bool streamMore(Assignment &decision, uint32_t device, uint64_t bytes) const;
  Offer cheapest(const Assignment &decision, uint32_t device, const std::vector<char> &isKept) const;
  uint64_t constantsOf(const Cluster &cluster, const Assignment &decision, uint32_t device) const;
  double secondsMore(const Cluster &cluster, const Assignment &decision, uint32_t to) const;

  const OrderedGraph &graph;
  const std::vector<std::vector<Cluster>> &levels;
  Simulator &simulator;
  Budget &budget;
};

} // namespace gantry::placement
