// Makes decisions fit that are over the limits of devices, at little cost in time.
#pragma once

#include "Clusters.h"
#include "Simulator.h"
#include "gantry/Device/StreamRoom.h"

namespace gantry::placement {

/// How much may still be tried, in simulated tasks.
struct Budget {
  uint64_t visits;
  uint32_t steps = 0; ///< decisions that were tried

  bool isSpent(uint32_t tasks) const { return visits < tasks; }
  /// A part of what is left goes to who calls, and what that leaves comes back.
  template <typename Use>
  void lend(uint64_t parts, Use use) {
    Budget lent{visits / std::max<uint64_t>(parts, 1), steps};
    visits -= lent.visits;
    use(lent);
    visits += lent.visits;
    steps = lent.steps;
  }
  void spend(uint64_t tasks) {
    ++steps;
    visits -= std::min(visits, tasks);
  }
};

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

  /// Constants that a device reads and that can be streamed to it, by their first reader there.
  std::vector<uint32_t> streamable(const Assignment &decision, uint32_t device) const;

  /// Streams a part more than it does: room in which constants can come earlier. False when there
  /// is nothing left, or what comes of it does not fit.
  bool streamMore(Assignment &decision, double part);

  /// Moves clusters from devices that are over their limits to those that have room, first those
  /// that cost the fewest seconds for each byte of constants. `stays`: atoms that do not move.
  Score spill(Assignment &decision, const Cluster &stays = {});

  /// Leaves as little free as it takes for streamed constants to be within the limits.
  Score settleRoom(Assignment &decision);

private:
  struct Offer {
    const Cluster *cluster = nullptr;
    uint32_t to = 0;
    double price = 0; ///< seconds a byte
  };
  Score play(const Assignment &decision);
  uint64_t room(uint32_t device) const;
  bool streamMore(Assignment &decision, uint32_t device, uint64_t bytes) const;
  Offer cheapest(const Assignment &decision, uint32_t device,
                 const std::vector<char> &isKept) const;
  uint64_t constantsOf(const Cluster &cluster, const Assignment &decision, uint32_t device) const;
  double secondsMore(const Cluster &cluster, const Assignment &decision, uint32_t to) const;

  const OrderedGraph &graph;
  const std::vector<std::vector<Cluster>> &levels;
  Simulator &simulator;
  Budget &budget;
};

} // namespace gantry::placement
