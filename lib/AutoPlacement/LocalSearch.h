// Hill climbing over decisions in one order: clusters, single tasks and borders between pieces are
// moved, clusters and whole devices exchanged, constants streamed or kept, as long as that is
// better.
#pragma once

#include "MakeRoom.h"

#include <array>

namespace gantry::placement {

/// Less is better: first bytes over the limits, then time, then copied bytes.
bool isBetter(const Score &a, const Score &b);

/// Kinds of moves, as they are told.
enum class Move { cluster, border, exchange, relabel, reorder, stream, makeRoom, shake };
inline constexpr const char *kMoveNames[] = {"moves of tasks",       "borders",     "exchanges",
                                             "devices exchanged",    "orders",      "streams",
                                             "moves with room made", "random moves"};

/// What the moves of each kind won.
class Gains {
public:
  void add(Move kind, const Score &before, const Score &after) {
    Gain &gain = gains[size_t(kind)];
    ++gain.moves;
    if (!before.overflow && !after.overflow)
      gain.seconds += before.seconds - after.seconds;
  }
  /// Those that there are.
  std::vector<AutoGain> list() const {
    std::vector<AutoGain> list;
    for (size_t kind = 0; kind < gains.size(); ++kind)
      if (gains[kind].moves)
        list.push_back({kMoveNames[kind], gains[kind].moves, gains[kind].seconds});
    return list;
  }

private:
  struct Gain {
    uint32_t moves = 0;
    double seconds = 0;
  };
  std::array<Gain, std::size(kMoveNames)> gains;
};

class LocalSearch {
public:
  /// All must outlive it; `levels` are the graph's.
  LocalSearch(const OrderedGraph &graph, const std::vector<std::vector<Cluster>> &levels,
              Budget &budget)
      : graph(graph), simulator(graph), budget(budget), levels(levels),
        roomMaker(graph, levels, simulator, budget), mayStream(roomMaker.mayStream()) {}

  /// Climbs from there until no move helps. `before`: what led there.
  void climb(Assignment start, const Gains &before = {});

  /// Climbs again and again from near the best, until the budget is spent: a few clusters of one
  /// level are moved at random, but the same ones in every run.
  void shake();

  /// Ways to make the decision fit: by streams, by spills, by both. Those that do.
  std::vector<Assignment> madeToFit(const Assignment &decision);

  /// The decision with more constants streamed, a little, more, and much more.
  std::vector<Assignment> withMoreStreams(const Assignment &decision);

  const Score &score() const { return best; }
  const Assignment &result() const { return now; }
  const Gains &won() const { return gains; }
  uint32_t numMoves() const { return moves; }

private:
  void note(const Score &score);
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
  bool moveEarlier();
  bool reorderAll();
  bool tryTurn(uint32_t place, uint32_t to, uint32_t device);
  static void takeTurn(std::vector<uint32_t> &order, uint32_t from, uint32_t to);
  std::pair<uint32_t, uint32_t> turnsOf(uint32_t place) const;
  void number();
  bool keepStreamed();
  bool swapStreamed();
  bool streamMore();
  bool moveBordersWithRoom();
  bool isShortOfMemory() const;
  std::vector<char> criticalAtoms();
  Cluster atomsBetween(uint32_t begin, uint32_t end, uint32_t device) const;
  uint64_t constantBytes(const Cluster &cluster) const;
  std::vector<uint32_t> constantsOf(const Cluster &cluster) const;

  const OrderedGraph &graph;
  Simulator simulator;
  Budget &budget;
  const std::vector<std::vector<Cluster>> &levels;
  RoomMaker roomMaker;
  bool mayStream;
  Assignment now;
  Score best;
  uint32_t moves = 0;
  Gains gains;                                     ///< on the way to `now`
  Move kind = Move::cluster;                       ///< that are tried
  std::vector<std::pair<uint32_t, uint32_t>> undo; ///< place, device before
  std::vector<uint32_t> turn;                      ///< by place, of the order of `now`
};

} // namespace gantry::placement
