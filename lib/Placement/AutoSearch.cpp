// The search: starts in two orders, local search from the best, the judge at the end.
#include "AutoClusters.h"
#include "AutoSimulator.h"
#include "AutoStarts.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

namespace gantry::placement {

/// How often the order is made to suit the devices before the search ends.
static constexpr int kReorderings = 4;

static bool isBetter(const Score &a, const Score &b) {
  if (a.overflow != b.overflow)
    return a.overflow < b.overflow;
  if (a.seconds < b.seconds * (1 - kSame))
    return true;
  return a.seconds <= b.seconds * (1 + kSame) && a.copyBytes < b.copyBytes;
}

//===----------------------------------------------------------------------===//
// Local search
//===----------------------------------------------------------------------===//

namespace {
struct Budget {
  uint32_t steps;
  uint64_t visits;
  uint32_t used = 0;

  bool isSpent(uint32_t tasks) const { return used >= steps || visits < tasks; }
  /// Half of what is left.
  Budget half() const { return {used + (steps - used) / 2, visits / 2, used}; }
  void take(const Budget &share) {
    visits -= (visits / 2) - share.visits;
    used = share.used;
  }
  void spend(uint32_t tasks) {
    ++used;
    visits -= std::min<uint64_t>(visits, tasks);
  }
};

/// Hill climbing over moves of clusters; takes the first move that is better.
class LocalSearch {
public:
  LocalSearch(const OrderedGraph &graph, Budget &budget)
      : graph(graph), simulator(graph), budget(budget), levels(clusterLevels(graph)) {}

  /// Climbs from there until no move helps.
  void climb(std::vector<uint32_t> start) {
    devices = std::move(start);
    best = simulator.run(devices);
    bool improved = true;
    while (improved && !isSpent()) {
      improved = false;
      for (const std::vector<Cluster> &level : levels)
        improved |= moveClusters(level);
      improved |= moveBorders();
      improved |= swapClusters();
    }
  }

  /// Climbs again and again from near the best, until `steps` more were taken: a few clusters of
  /// one level are moved at random, but the same ones in every run.
  void shake(uint32_t steps) {
    std::minstd_rand random;
    uint32_t last = budget.used + steps;
    while (!levels.empty() && budget.used < last && !isSpent()) {
      std::vector<uint32_t> kept = devices;
      Score keptScore = best;
      uint32_t before = budget.used;
      const std::vector<Cluster> &level = levels[random() % levels.size()];
      for (int i = 0; i < 3; ++i) {
        const Cluster &cluster = level[random() % level.size()];
        uint32_t device = random() % graph.numDevices;
        if (canMove(cluster, device))
          set(cluster, device);
      }
      if (!undo.empty()) {
        undo.clear();
        climb(devices);
      }
      if (!isBetter(best, keptScore)) {
        devices = std::move(kept);
        best = keptScore;
      }
      if (budget.used == before)
        budget.spend(1); // nothing could be moved
    }
  }

  const Score &score() const { return best; }
  const std::vector<uint32_t> &result() const { return devices; }
  uint32_t moves = 0;

private:
  bool isSpent() const { return budget.isSpent(graph.numTasks()); }

  /// Whether all atoms may go there and not all are there.
  bool canMove(const Cluster &cluster, uint32_t device) const {
    bool moves = false;
    for (uint32_t atom : cluster)
      for (uint32_t place : graph.atoms[atom]) {
        if (!graph.isAllowed(place, device))
          return false;
        moves |= devices[place] != device;
      }
    return moves;
  }

  void set(const Cluster &cluster, uint32_t device) {
    for (uint32_t atom : cluster)
      for (uint32_t place : graph.atoms[atom]) {
        undo.emplace_back(place, devices[place]);
        devices[place] = device;
      }
  }

  /// Keeps what `set` did when that is better, else takes it back.
  bool keepIfBetter() {
    budget.spend(graph.numTasks());
    Score score = simulator.run(devices, &best);
    bool better = isBetter(score, best);
    if (better) {
      best = score;
      ++moves;
    } else {
      for (size_t i = undo.size(); i-- > 0;)
        devices[undo[i].first] = undo[i].second;
    }
    undo.clear();
    return better;
  }

  bool tryMove(const Cluster &cluster, uint32_t device) {
    if (isSpent() || !canMove(cluster, device))
      return false;
    set(cluster, device);
    return keepIfBetter();
  }

  /// Clusters that hold a task of the critical path first: only they can make the step shorter
  /// (others can make room).
  bool moveClusters(const std::vector<Cluster> &level) {
    std::vector<char> isCritical = criticalAtoms();
    bool improved = false;
    for (bool wanted : {true, false})
      for (const Cluster &cluster : level) {
        bool critical = std::any_of(cluster.begin(), cluster.end(),
                                    [&](uint32_t atom) { return isCritical[atom]; });
        if (critical != wanted)
          continue;
        for (uint32_t d = 0; d < graph.numDevices; ++d)
          improved |= tryMove(cluster, d);
        if (isSpent())
          return improved;
      }
    return improved;
  }

  std::vector<char> criticalAtoms() {
    simulator.run(devices);
    std::vector<char> isCritical(graph.atoms.size());
    for (uint32_t place : simulator.criticalPlaces())
      isCritical[graph.atom[place]] = 1;
    return isCritical;
  }

  /// Moves the cut between two neighbouring runs of tasks on one device, by 1, 2, 4, ... tasks.
  bool moveBorders() {
    bool improved = false;
    for (uint32_t cut = 1; cut < graph.numTasks() && !isSpent(); ++cut) {
      uint32_t left = devices[cut - 1], right = devices[cut];
      if (left == right)
        continue;
      for (uint32_t length = 1; length <= graph.numTasks(); length *= 2) {
        bool moved =
            tryMove(atomsBetween(cut, std::min(cut + length, graph.numTasks()), right), left) ||
            tryMove(atomsBetween(cut - std::min(cut, length), cut, left), right);
        improved |= moved;
        if (moved || isSpent())
          break;
      }
    }
    return improved;
  }

  /// Atoms on `device` with a first task in [begin, end).
  Cluster atomsBetween(uint32_t begin, uint32_t end, uint32_t device) const {
    Cluster cluster;
    for (uint32_t place = begin; place < end; ++place)
      if (devices[place] == device && graph.atoms[graph.atom[place]].front() == place)
        cluster.push_back(graph.atom[place]);
    return cluster;
  }

  /// Where memory is tight, no cluster can move alone: exchanges one of a device with the one of
  /// another whose constants are most alike.
  bool swapClusters() {
    bool improved = false;
    for (const std::vector<Cluster> &level : levels) {
      if (level.size() > maxSwapped)
        break;
      std::vector<uint64_t> weights;
      for (const Cluster &cluster : level)
        weights.push_back(constantBytes(cluster));
      for (size_t a = 0; a < level.size(); ++a)
        for (size_t b = a + 1; b < level.size() && !isSpent(); ++b)
          if (areAlike(weights[a], weights[b]))
            improved |= trySwap(level[a], level[b]);
    }
    return improved;
  }

  static bool areAlike(uint64_t a, uint64_t b) { return a <= 2 * b + 4096 && b <= 2 * a + 4096; }

  bool trySwap(const Cluster &a, const Cluster &b) {
    uint32_t from = devices[graph.atoms[a.front()].front()];
    uint32_t to = devices[graph.atoms[b.front()].front()];
    if (from == to || !canMove(a, to) || !canMove(b, from))
      return false;
    set(a, to);
    set(b, from);
    return keepIfBetter();
  }

  uint64_t constantBytes(const Cluster &cluster) const {
    uint64_t sum = 0;
    for (uint32_t atom : cluster)
      for (uint32_t place : graph.atoms[atom])
        for (uint32_t value : graph.inputs[place])
          if (graph.isConstant[value])
            sum += graph.bytes[value];
    return sum;
  }

  static constexpr size_t maxSwapped = 128; ///< clusters of a level; their pairs are tried

  const OrderedGraph &graph;
  Simulator simulator;
  Budget &budget;
  std::vector<std::vector<Cluster>> levels;
  std::vector<uint32_t> devices;
  Score best;
  std::vector<std::pair<uint32_t, uint32_t>> undo; ///< place, device before
};

//===----------------------------------------------------------------------===//
// Everything together
//===----------------------------------------------------------------------===//

bool fitsLimits(const AutoProblem &problem, const AutoSchedule &schedule) {
  for (uint32_t d = 0; d < problem.numDevices(); ++d)
    if (problem.limits[d] && schedule.peaks[d] > problem.limits[d])
      return false;
  return true;
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

/// Of the two orders, the one in which `placement`'s devices are done first; of that, what becomes
/// of it when tasks on the critical path that wait for their device go before what they wait for.
std::vector<uint32_t> improveOrder(const AutoProblem &problem, std::vector<uint32_t> order,
                                   const AutoPlacement &placement) {
  constexpr uint64_t mostVisits = 400'000; // of tasks; each try builds the graph anew
  struct Play {
    std::unique_ptr<OrderedGraph> graph;
    Score score;
    std::vector<uint32_t> waiting; ///< places that could start earlier but for their device
  };
  auto play = [&](const std::vector<uint32_t> &order) {
    Play result{std::make_unique<OrderedGraph>(problem, order), {}, {}};
    std::vector<uint32_t> devices;
    for (uint32_t task : order)
      devices.push_back(placement.devices[task]);
    Simulator simulator(*result.graph);
    result.score = simulator.run(devices);
    std::vector<uint32_t> path = simulator.criticalPlaces();
    for (size_t i = 1; i < path.size(); ++i)
      if (simulator.waitsForDevice(path[i]))
        result.waiting.push_back(path[i]);
    return result;
  };
  Play best = play(placement.order);
  if (Play other = play(order); isBetter(other.score, best.score))
    best = std::move(other);
  bool improved = true;
  for (uint64_t visits = 0; improved && visits < mostVisits;) {
    improved = false;
    for (uint32_t place : best.waiting) {
      std::vector<uint32_t> earlier = best.graph->taskAt;
      // Past everything but its own makers: the other tasks of its device included.
      uint32_t first = 0;
      for (uint32_t value : best.graph->inputs[place])
        if (best.graph->maker[value] != noIndex)
          first = std::max(first, best.graph->maker[value] + 1);
      std::rotate(earlier.begin() + first, earlier.begin() + place, earlier.begin() + place + 1);
      visits += earlier.size();
      if (Play next = play(earlier); isBetter(next.score, best.score)) {
        best = std::move(next);
        improved = true;
        break;
      }
      if (visits >= mostVisits)
        break;
    }
  }
  return best.graph->taskAt;
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
} // namespace

Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options,
                                      const AutoPlacement *baseline) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  AutoOutcome outcome;
  Edges edges(problem);
  std::vector<uint64_t> keys = structuralKeys(problem, edges);
  std::unique_ptr<Room> rooms[] = {
      std::make_unique<Room>(problem, depthFirstOrder(problem, edges, keys)),
      std::make_unique<Room>(problem, rankOrder(problem, edges, keys))};
  Winner winner{options.worthwhile, nullptr, {}};
  Budget budget{options.maxSteps, options.maxVisits};
  for (auto &room : rooms) {
    room->addStarts();
    if (baseline)
      room->addBaseline(*baseline);
    for (const Candidate &candidate : room->candidates)
      winner.offer(room->graph, candidate);
  }
  // The better room first; each may take half of what is left.
  if (isBetter(rooms[1]->best().score, rooms[0]->best().score))
    std::swap(rooms[0], rooms[1]);
  for (auto &room : rooms) {
    Budget share = budget.half();
    LocalSearch search(room->graph, share);
    for (const Candidate &start : room->distinctByScore()) {
      search.climb(start.devices);
      winner.offer(room->graph,
                   {start.name, search.result(), search.score(), countUsed(search.result())});
    }
    outcome.moves += search.moves;
    budget.take(share);
  }
  // The best again, in the order that suits its devices; what is found there may suit yet another.
  std::vector<std::unique_ptr<Room>> later;
  for (int round = 0; round < kReorderings && problem.numDevices() > 1; ++round) {
    AutoPlacement best = winner.placement();
    later.push_back(std::make_unique<Room>(
        problem, improveOrder(problem, rankOrder(problem, edges, keys, best.devices), best)));
    Room &room = *later.back();
    room.addBaseline(best);
    LocalSearch search(room.graph, budget);
    search.climb(room.best().devices);
    search.shake((budget.steps - budget.used) / (kReorderings - round));
    outcome.moves += search.moves;
    winner.offer(room.graph, {winner.candidate.name, search.result(), search.score(),
                              countUsed(search.result())});
  }
  outcome.placement = winner.placement();
  outcome.start = winner.candidate.name;
  outcome.steps = budget.used;
  if (baseline) {
    // In its own order it may do better than in ours.
    AutoSchedule base = simulate(problem, *baseline);
    bool isFaster = base.seconds < winner.candidate.score.seconds;
    if (fitsLimits(problem, base) && (isFaster || winner.candidate.score.overflow)) {
      outcome.placement = *baseline;
      outcome.start = "baseline";
    }
  }
  outcome.schedule = simulate(problem, outcome.placement);
  outcome.lowerBound = lowerBound(problem);
  outcome.fits = fitsLimits(problem, outcome.schedule);
  return outcome;
}

} // namespace gantry::placement
