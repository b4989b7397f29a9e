// Hill climbing over decisions in one order: clusters, single tasks and borders between pieces are
// moved, clusters and whole devices exchanged, constants streamed or kept, as long as that is
// better.
#pragma once

#include "MakeRoom.h"

namespace gantry::placement {

/// Less is better: first bytes over the limits, then time, then copied bytes.
bool isBetter(const Score &a, const Score &b);

/// Of the placement's order and `other`, the one in which its devices are done first; of that, what
/// becomes of it when tasks that the end waits for, and that wait for their device, go before what
/// they wait for.
std::vector<uint32_t> improveOrder(const AutoProblem &problem, const AutoPlacement &placement,
                                   std::vector<uint32_t> other);

class LocalSearch {
public:
  /// `graph` and `budget` must outlive it.
  LocalSearch(const OrderedGraph &graph, Budget &budget)
      : graph(graph), simulator(graph), budget(budget), levels(clusterLevels(graph)),
        roomMaker(graph, levels, simulator, budget), mayStream(roomMaker.mayStream()) {}

  /// Climbs from there until no move helps.
  void climb(Assignment start);

  /// Climbs again and again from near the best, until `steps` more were taken: a few clusters of
  /// one level are moved at random, but the same ones in every run.
  void shake(uint32_t steps);

  /// Ways to make the decision fit: by streams, by spills, by both. Those that do.
  std::vector<Assignment> madeToFit(const Assignment &decision);

  /// The decision with more constants streamed, a little, more, and much more.
  std::vector<Assignment> withMoreStreams(const Assignment &decision);

  const Score &score() const { return best; }
  const Assignment &result() const { return now; }
  uint32_t numMoves() const { return moves; }

private:
  bool isSpent() const { return budget.isSpent(graph.numTasks()); }
  bool canMove(const Cluster &cluster, uint32_t device) const;
  void set(const Cluster &cluster, uint32_t device);
  bool keepIfBetter();
  bool takeIfBetter(Assignment other);
  bool tryMove(const Cluster &cluster, uint32_t device);
  bool tryMoveWithRoom(const Cluster &cluster, uint32_t device);
  bool trySwap(const Cluster &a, const Cluster &b);
  bool moveClusters(const std::vector<Cluster> &level);
  bool moveWithRoom(const std::vector<Cluster> &level);
  bool moveBorders();
  bool moveBorder(uint32_t cut, uint32_t length);
  bool swapClusters();
  bool swapDevices();
  bool keepStreamed();
  std::vector<char> criticalAtoms();
  Cluster atomsBetween(uint32_t begin, uint32_t end, uint32_t device) const;
  uint64_t constantBytes(const Cluster &cluster) const;
  std::vector<uint32_t> constantsOf(const Cluster &cluster) const;

  const OrderedGraph &graph;
  Simulator simulator;
  Budget &budget;
  std::vector<std::vector<Cluster>> levels;
  RoomMaker roomMaker;
  bool mayStream;
  Assignment now;
  Score best;
  uint32_t moves = 0;
  std::vector<std::pair<uint32_t, uint32_t>> undo; ///< place, device before
};

} // namespace gantry::placement
