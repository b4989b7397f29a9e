// The search: starts in two orders, local search from each, orders that suit the result. The judge
// (Validate.cpp) is the caller's to ask.
#include "LocalSearch.h"
#include "Starts.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace gantry::placement {

/// How often the order is made to suit the devices before the search ends.
static constexpr uint32_t kReorderings = 4;

namespace {
bool fitsAll(const AutoProblem &problem, const AutoSchedule &schedule) {
  return fitsMemory(problem, schedule) && fitsBudgets(problem, schedule);
}

struct Candidate {
  const char *name;
  std::vector<uint32_t> devices; ///< by place
  Score score;
  uint32_t numUsed = 0;
};

uint32_t countUsed(const std::vector<uint32_t> &devices) {
  std::vector<uint32_t> seen(devices);
  std::sort(seen.begin(), seen.end());
  return static_cast<uint32_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

/// One order with its starts.
struct Room {
  Room(const AutoProblem &problem, std::vector<uint32_t> order)
      : graph(problem, std::move(order)), simulator(graph) {}

  void add(const char *name, std::vector<uint32_t> devices) {
    Score score = simulator.run(devices);
    uint32_t used = countUsed(devices);
    candidates.push_back({name, std::move(devices), score, used});
  }

  void addStarts() {
    std::vector<uint32_t> all(graph.numDevices);
    std::iota(all.begin(), all.end(), 0);
    for (uint32_t d : all)
      add("one device", startOnOne(graph, d));
    if (all.size() < 2)
      return;
    // Pieces on the devices that are fastest for the whole come before those that are not.
    std::vector<double> total(all.size());
    for (uint32_t d : all)
      for (uint32_t place = 0; place < graph.numTasks(); ++place)
        total[d] += std::min(graph.secondsOf(place)[d], 1e30);
    std::stable_sort(all.begin(), all.end(),
                     [&](uint32_t a, uint32_t b) { return total[a] < total[b]; });
    for (double part : {1.0, 0.9, 0.75})
      if (auto devices = startInPieces(graph, all, part))
        add("pieces", std::move(*devices));
    for (double part : {1.0, 0.9}) {
      add("list scheduling", startByList(graph, Outlook::end, part));
      add("list scheduling with outlook", startByList(graph, Outlook::rest, part));
    }
  }

  void addBaseline(const AutoPlacement &baseline) {
    std::vector<uint32_t> devices;
    for (uint32_t task : graph.taskAt)
      devices.push_back(baseline.devices[task]);
    add("baseline", std::move(devices));
  }

  const Candidate &best() const {
    return *std::min_element(
        candidates.begin(), candidates.end(),
        [](const Candidate &a, const Candidate &b) { return isBetter(a.score, b.score); });
  }

  /// Best first, without those that are as another.
  std::vector<Candidate> distinctByScore() const {
    std::vector<Candidate> result;
    for (const Candidate &candidate : candidates)
      if (std::none_of(result.begin(), result.end(),
                       [&](const Candidate &other) { return other.devices == candidate.devices; }))
        result.push_back(candidate);
    std::sort(result.begin(), result.end(), [](const Candidate &a, const Candidate &b) {
      return std::tuple(a.score.overflow, a.score.seconds, a.score.copyBytes, a.devices) <
             std::tuple(b.score.overflow, b.score.seconds, b.score.copyBytes, b.devices);
    });
    return result;
  }

  OrderedGraph graph;
  Simulator simulator;
  std::vector<Candidate> candidates;
};

/// Keeps the best of all, and of those that are nearly as good the one on fewest devices.
struct Winner {
  double worthwhile;
  const OrderedGraph *graph = nullptr;
  Candidate candidate;

  void offer(const OrderedGraph &other, const Candidate &offered) {
    if (!graph || isPreferred(offered, candidate)) {
      graph = &other;
      candidate = offered;
    }
  }

  bool isPreferred(const Candidate &a, const Candidate &b) const {
    if (a.score.overflow == b.score.overflow && a.numUsed != b.numUsed) {
      double gain = a.numUsed > b.numUsed ? 1 - worthwhile : 1 + worthwhile;
      return a.score.seconds <= b.score.seconds * gain;
    }
    return isBetter(a.score, b.score);
  }

  AutoPlacement placement() const {
    AutoPlacement result{std::vector<uint32_t>(graph->numTasks()), graph->taskAt};
    for (uint32_t place = 0; place < graph->numTasks(); ++place)
      result.devices[graph->taskAt[place]] = candidate.devices[place];
    return result;
  }
};

/// All steps of one search.
class Search {
public:
  Search(const AutoProblem &problem, const AutoOptions &options, const AutoPlacement *baseline)
      : problem(problem), baseline(baseline), edges(problem), keys(structuralKeys(problem, edges)),
        winner{options.worthwhile, nullptr, {}}, budget{options.maxSteps, options.maxVisits} {}

  AutoOutcome run() {
    tryStarts();
    climbInBothOrders();
    if (problem.numDevices() > 1)
      suitOrders();
    return finish();
  }

private:
  Room &addRoom(std::vector<uint32_t> order) {
    rooms.push_back(std::make_unique<Room>(problem, std::move(order)));
    return *rooms.back();
  }

  void tryStarts() {
    for (auto &order : {depthFirstOrder(problem, edges, keys), rankOrder(problem, edges, keys)}) {
      Room &room = addRoom(order);
      room.addStarts();
      if (baseline)
        room.addBaseline(*baseline);
      for (const Candidate &candidate : room.candidates)
        winner.offer(room.graph, candidate);
    }
  }

  /// The better order first; each may take half of what is left.
  void climbInBothOrders() {
    if (isBetter(rooms[1]->best().score, rooms[0]->best().score))
      std::swap(rooms[0], rooms[1]);
    for (auto &room : rooms) {
      Budget share = budget.half();
      LocalSearch search(room->graph, share);
      for (const Candidate &start : room->distinctByScore()) {
        search.climb(start.devices);
        offer(*room, start.name, search);
      }
      moves += search.numMoves();
      budget.take(share);
    }
  }

  /// The best again, in the order that suits its devices; what is found there may suit yet another.
  void suitOrders() {
    for (uint32_t round = 0; round < kReorderings; ++round) {
      AutoPlacement best = winner.placement();
      Room &room =
          addRoom(improveOrder(problem, best, rankOrder(problem, edges, keys, best.devices)));
      room.addBaseline(best);
      LocalSearch search(room.graph, budget);
      search.climb(room.best().devices);
      search.shake((budget.steps - budget.used) / (kReorderings - round));
      offer(room, winner.candidate.name, search);
      moves += search.numMoves();
    }
  }

  void offer(const Room &room, const char *name, const LocalSearch &search) {
    winner.offer(room.graph, {name, search.result(), search.score(), countUsed(search.result())});
  }

  AutoOutcome finish() {
    AutoOutcome outcome;
    outcome.placement = winner.placement();
    outcome.start = winner.candidate.name;
    outcome.schedule = simulate(problem, outcome.placement);
    outcome.fits = fitsAll(problem, outcome.schedule);
    if (baseline) {
      // In its own order it may do better than in ours.
      AutoSchedule own = simulate(problem, *baseline);
      if (fitsAll(problem, own) && (!outcome.fits || own.seconds < outcome.schedule.seconds)) {
        outcome.placement = *baseline;
        outcome.start = "baseline";
        outcome.schedule = std::move(own);
        outcome.fits = true;
      }
    }
    outcome.lowerBound = lowerBound(problem);
    outcome.steps = budget.used;
    outcome.moves = moves;
    return outcome;
  }

  const AutoProblem &problem;
  const AutoPlacement *baseline;
  Edges edges;
  std::vector<uint64_t> keys;
  Winner winner;
  Budget budget;
  std::vector<std::unique_ptr<Room>> rooms; ///< graphs that candidates are about stay
  uint32_t moves = 0;
};
} // namespace

Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options,
                                      const AutoPlacement *baseline) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  return Search(problem, options, baseline).run();
}

} // namespace gantry::placement
