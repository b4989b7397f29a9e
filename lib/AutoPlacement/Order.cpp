// Orders that suit given devices.
#include "LocalSearch.h"

#include <algorithm>
#include <memory>

namespace gantry::placement {

/// Tasks that may be simulated to improve one order; each try builds the graph anew.
static constexpr uint64_t kMostVisits = 400'000;

namespace {
/// One order, played with the devices.
struct Play {
  Play(const AutoProblem &problem, const AutoPlacement &placement, std::vector<uint32_t> order)
      : graph(std::make_unique<OrderedGraph>(problem, std::move(order))) {
    Simulator simulator(*graph);
    score = simulator.run(graph->assignmentOf(placement));
    for (uint32_t place : simulator.criticalPlaces())
      if (simulator.waitsForDevice(place))
        waiting.push_back(place);
  }

  /// The order with the task at `place` right behind its last maker, so before all that its device
  /// does instead.
  std::vector<uint32_t> withEarlier(uint32_t place) const {
    std::vector<uint32_t> order = graph->taskAt;
    uint32_t first = 0;
    for (uint32_t value : graph->inputs[place])
      if (graph->maker[value] != noIndex)
        first = std::max(first, graph->maker[value] + 1);
    std::rotate(order.begin() + first, order.begin() + place, order.begin() + place + 1);
    return order;
  }

  std::unique_ptr<OrderedGraph> graph;
  Score score;
  std::vector<uint32_t> waiting; ///< places on the critical path that wait for their device
};
} // namespace

std::vector<uint32_t> improveOrder(const AutoProblem &problem, const AutoPlacement &placement,
                                   std::vector<uint32_t> other) {
  Play best(problem, placement, placement.order);
  if (Play second(problem, placement, std::move(other)); isBetter(second.score, best.score))
    best = std::move(second);
  bool improved = true;
  for (uint64_t visits = 0; improved && visits < kMostVisits;) {
    improved = false;
    for (size_t i = 0; i < best.waiting.size() && !improved && visits < kMostVisits; ++i) {
      visits += problem.tasks.size();
      Play next(problem, placement, best.withEarlier(best.waiting[i]));
      improved = isBetter(next.score, best.score);
      if (improved)
        best = std::move(next);
    }
  }
  return best.graph->taskAt;
}

} // namespace gantry::placement
