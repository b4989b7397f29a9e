// Local search: takes repetitions back where the run fits without them, and ruins parts of an
// answer to decide them again with some chance (large neighbourhood search).
#pragma once

#include "Greedy.h"

#include <optional>

namespace gantry::remat {

/// How good a run is: by what it holds over the limit, then by the seconds of its repetitions.
struct Score {
  double excess = 0, seconds = 0;
};

class Search {
public:
  Search(const Graph &graph, uint64_t limit)
      : graph(graph), limit(limit), schedule(graph), random(1) {}

  /// From these repetitions down to the limit, greedily, in so many rounds of the same number of
  /// bytes: what the first rounds choose for little is taken back when later ones make it useless.
  void descend(std::span<const Again> from, const Taste &taste, uint32_t rounds, Effort &effort);
  /// Goes on from the best one until the effort is spent or, where that is asked for, the run fits.
  void improve(Effort &effort, bool untilFits);

  /// The best one so far, and the one that holds least.
  struct Found {
    Score score;
    uint64_t peak = 0;
    std::vector<Again> again;
  };
  std::optional<Found> best, lowest;

  bool fits() const { return best && best->score.excess == 0; }

private:
  const Graph &graph;
  uint64_t limit;
  Schedule schedule;
  Random random;

  Score score() const { return {schedule.excess(limit), schedule.secondsAgain()}; }
  void set(std::span<const Again> repetitions);
  void note(const Score &found);
  void remove(Again again, std::vector<Change> &changes, Effort &effort);
  bool isUseless(uint32_t step, uint32_t slot) const;
  void takeBack(std::vector<Again> tried, uint64_t to, std::vector<Change> &done, Effort &effort);
  std::vector<Again> choosePart();
};

} // namespace gantry::remat
