// The search: starts in two orders, local search from each, orders that suit the result. First
// without limits; where that has no room, again with them, from what was found. The judge
// (Validate.cpp) is the caller's to ask.
#include "LocalSearch.h"
#include "Starts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

namespace gantry::placement {

/// How often the order is made to suit the devices before the search ends.
static constexpr uint32_t kReorderings = 4;
/// Starts of an order that local search goes on from.
static constexpr size_t kMostClimbed = 8;
/// Of one name: what is alike ends alike.
static constexpr int kMostClimbedAlike = 2;
/// Starts of one name, in one order, that are made to fit.
static constexpr int kMostMadeToFit = 3;
/// One part in so many of the effort goes into that, for each order, and at least so many runs.
static constexpr uint32_t kFittingParts = 4;
static constexpr uint64_t kLeastFittingRuns = 400;
/// The best candidates are given whatever they are like, and how much slower
/// the others may be.
static constexpr size_t kMostAlike = 6;
static constexpr double kSlowestCandidate = 1.5;
/// One part in so many of the effort goes into a search without limits first, where there are some.
static constexpr uint64_t kPartWithoutLimits = 3;

namespace {
bool fitsAll(const AutoProblem &problem, const AutoSchedule &schedule) {
  return fitsMemory(problem, schedule) && fitsBudgets(problem, schedule);
}

bool hasLimits(const AutoProblem &problem) {
  return std::any_of(problem.limits.begin(), problem.limits.end(),
                     [](uint64_t limit) { return limit != 0; });
}

AutoProblem withoutLimits(AutoProblem problem) {
  problem.limits.assign(problem.limits.size(), 0);
  return problem;
}

struct PlacementCandidate {
  std::string name;
  Assignment decision;
  Score score;
  uint32_t numUsed = 0;
  double repaired = 0; ///< seconds, with what is over the limits streamed: an estimate
  Gains gains = {};    ///< since the start
};

uint32_t countUsed(const std::vector<uint32_t> &devices) {
  std::vector<uint32_t> seen(devices);
  std::sort(seen.begin(), seen.end());
  return static_cast<uint32_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

auto rankOf(const PlacementCandidate &candidate) {
  return std::tie(candidate.score.overflow, candidate.score.seconds, candidate.score.copyBytes,
                  candidate.decision.devices);
}

/// One order with its starts.
struct Room {
  Room(const AutoProblem &problem, std::vector<uint32_t> order)
      : graph(problem, std::move(order)), simulator(graph) {}

  void add(const std::string &name, Assignment decision) {
    Score score = simulator.run(decision);
    uint32_t used = countUsed(decision.devices);
    const double repaired = std::max(score.seconds, secondsToStream());
    candidates.push_back({name, std::move(decision), score, used, repaired});
  }

  /// Seconds to bring what is over the limits of devices, one beside the other, from a device
  /// without one.
  double secondsToStream() const {
    const std::vector<uint64_t> &limits = graph.problem.limits;
    const auto host = std::find(limits.begin(), limits.end(), 0) - limits.begin();
    double most = 0;
    for (uint32_t d = 0; d < graph.numDevices && host < ptrdiff_t(limits.size()); ++d)
      most = std::max(most, static_cast<double>(simulator.overflow(d)) *
                                graph.problem.link(uint32_t(host), d).secondsPerByte);
    return most;
  }

  static std::string nameOf(const PieceParts &parts, bool isTied) {
    return std::string(parts.last > parts.each ? "pieces with a larger last one" : "pieces") +
           (isTied ? " and shared constants" : "");
  }

  void addStarts() {
    for (uint32_t d = 0; d < graph.numDevices; ++d)
      add("one device", {startOnOne(graph, d)});
    if (graph.numDevices < 2)
      return;
    // Over the limit only where there is one: what is over it is made to fit afterwards.
    // What the last piece lacks can come while the others are at work.
    std::vector<PieceParts> parts{{1.0}, {0.9}, {0.75}};
    if (hasLimits(graph.problem))
      parts.insert(parts.end(), {{1.1}, {1.2}, {1.5}, {2}, {1, 1.1}, {1, 1.2}, {1, 1.5}, {1, 2}});
    const bool isShared = hasLimits(graph.problem) && !sharedConstants(graph).empty();
    for (const std::vector<uint32_t> &sequence : deviceSequences(graph))
      for (const PieceParts &each : parts)
        for (bool isTied : {false, true})
          if (isTied && !isShared)
            continue;
          else if (auto devices = startInPieces(graph, sequence, each, isTied))
            add(nameOf(each, isTied), {std::move(*devices)});
    for (double part : {1.0, 0.9}) {
      add("list scheduling", {startByList(graph, Outlook::end, part)});
      add("list scheduling with outlook", {startByList(graph, Outlook::rest, part)});
    }
  }

  const PlacementCandidate &best() const {
    return *std::min_element(candidates.begin(), candidates.end(),
                             [](const PlacementCandidate &a, const PlacementCandidate &b) {
                               return isBetter(a.score, b.score);
                             });
  }

  /// Best first, without those that are as another, or are that with devices exchanged.
  std::vector<PlacementCandidate> distinctByScore() const {
    std::vector<PlacementCandidate> result;
    for (const PlacementCandidate &candidate : candidates)
      if (std::none_of(result.begin(), result.end(), [&](const PlacementCandidate &other) {
            return other.name == candidate.name &&
                   other.score.overflow == candidate.score.overflow &&
                   other.score.seconds == candidate.score.seconds &&
                   other.score.copyBytes == candidate.score.copyBytes;
          }))
        result.push_back(candidate);
    std::sort(result.begin(), result.end(),
              [](const PlacementCandidate &a, const PlacementCandidate &b) {
                return rankOf(a) < rankOf(b);
              });
    return result;
  }

  /// Of those that are over a limit, the fastest when that is mended.
  std::vector<PlacementCandidate> fastestOver() const {
    std::vector<PlacementCandidate> over = distinctByScore();
    std::erase_if(
        over, [](const PlacementCandidate &candidate) { return candidate.score.overflow == 0; });
    std::stable_sort(over.begin(), over.end(),
                     [](const PlacementCandidate &a, const PlacementCandidate &b) {
                       return a.repaired < b.repaired;
                     });
    return over;
  }

  const std::vector<std::vector<Cluster>> &levels() {
    if (clusters.empty())
      clusters = clusterLevels(graph);
    return clusters;
  }

  OrderedGraph graph;
  Simulator simulator;
  std::vector<PlacementCandidate> candidates;
  std::vector<std::vector<Cluster>> clusters;
};

/// Keeps the best of all, and of those that are nearly as good the one on fewest devices.
struct Winner {
  double worthwhile;
  const OrderedGraph *graph = nullptr;
  PlacementCandidate candidate;

  void offer(const OrderedGraph &other, const PlacementCandidate &offered) {
    if (!graph || isPreferred(offered, candidate)) {
      graph = &other;
      candidate = offered;
    }
  }

  bool isPreferred(const PlacementCandidate &a, const PlacementCandidate &b) const {
    if (a.score.overflow == b.score.overflow && a.numUsed != b.numUsed) {
      double gain = a.numUsed > b.numUsed ? 1 - worthwhile : 1 + worthwhile;
      return a.score.seconds <= b.score.seconds * gain;
    }
    return isBetter(a.score, b.score);
  }

  AutoPlacement placement() const { return graph->placementOf(candidate.decision); }
};

bool isAmong(const std::vector<AutoCandidate> &candidates, const AutoPlacement &placement) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const AutoCandidate &other) {
    return other.placement.devices == placement.devices &&
           other.placement.streamed == placement.streamed;
  });
}

/// Where its time puts it, in front of those that are as good.
void addCandidate(std::vector<AutoCandidate> &candidates, AutoCandidate candidate) {
  auto place = std::find_if(candidates.begin(), candidates.end(), [&](const AutoCandidate &other) {
    return other.seconds >= candidate.seconds * (1 - kSame);
  });
  candidates.insert(place, std::move(candidate));
}

/// All steps of one search.
class Search {
public:
  Search(const AutoProblem &problem, const AutoOptions &options, std::span<const AutoStart> starts)
      : problem(problem), starts(starts), edges(problem), keys(structuralKeys(problem, edges)),
        winner{options.worthwhile, nullptr, {}}, budget{options.maxVisits} {}

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
      for (const AutoStart &start : starts)
        room.add(start.name, room.graph.assignmentOf(start.placement));
      makeFit(room);
      for (const PlacementCandidate &candidate : room.candidates)
        consider(room.graph, candidate);
    }
  }

  void consider(const OrderedGraph &graph, const PlacementCandidate &candidate) {
    note(candidate.name, candidate.score.overflow ? notAllowed : candidate.score.seconds);
    keep(graph, candidate);
  }

  void keep(const OrderedGraph &graph, const PlacementCandidate &candidate) {
    winner.offer(graph, candidate);
    if (candidate.score.overflow == 0)
      kept.push_back({&graph, candidate});
  }

  void note(const std::string &name, double seconds) {
    auto known = std::find_if(tried.begin(), tried.end(),
                              [&](const AutoTried &other) { return other.name == name; });
    if (known == tried.end())
      known = tried.insert(tried.end(), {name, notAllowed});
    known->seconds = std::min(known->seconds, seconds);
  }

  void makeFit(Room &room) {
    if (!hasLimits(problem))
      return;
    // Starts that fit are there whatever the effort.
    budget.visits = std::max(budget.visits, kLeastFittingRuns * problem.tasks.size());
    budget.lend(kFittingParts, [&](Budget &lent) {
      LocalSearch search(room.graph, room.levels(), lent);
      std::map<std::string, int> made;
      for (const PlacementCandidate &start : room.fastestOver())
        if (made[start.name]++ < kMostMadeToFit)
          for (Assignment &decision : search.madeToFit(start.decision))
            room.add(start.name + " made to fit", std::move(decision));
    });
  }

  /// The better order first; each may take a third of what is left, and each start half of what the
  /// better ones leave of that.
  void climbInBothOrders() {
    if (isBetter(rooms[1]->best().score, rooms[0]->best().score))
      std::swap(rooms[0], rooms[1]);
    for (auto &room : rooms) {
      budget.lend(3, [&](Budget &third) {
        std::vector<PlacementCandidate> climbed = room->distinctByScore();
        std::map<std::string, int> alike;
        std::erase_if(climbed, [&](const PlacementCandidate &start) {
          return alike[start.name]++ >= kMostClimbedAlike;
        });
        climbed.resize(std::min(climbed.size(), kMostClimbed));
        for (size_t i = 0; i < climbed.size(); ++i)
          third.lend(i + 1 < climbed.size() ? 2 : 1, [&](Budget &lent) {
            LocalSearch search(room->graph, room->levels(), lent);
            search.climb(climbed[i].decision);
            offer(*room, climbed[i].name, search);
            moves += search.numMoves();
          });
      });
    }
  }

  /// The best again, in its own order or the one of its longest ways, whichever is better; what is
  /// found there may suit yet another.
  void suitOrders() {
    for (uint32_t round = 0; round < kReorderings; ++round) {
      const AutoPlacement best = winner.placement();
      Room *better = nullptr;
      for (std::vector<uint32_t> order :
           {best.order, rankOrder(problem, edges, keys, best.devices)}) {
        Room &other = addRoom(std::move(order));
        other.add(winner.candidate.name, other.graph.assignmentOf(best));
        if (!better || isBetter(other.best().score, better->best().score))
          better = &other;
      }
      Room &room = *better;
      budget.lend(kReorderings - round, [&](Budget &lent) {
        LocalSearch search(room.graph, room.levels(), lent);
        Gains before = winner.candidate.gains;
        if (room.best().score.seconds != winner.candidate.score.seconds)
          before.add(Move::reorder, winner.candidate.score, room.best().score);
        search.climb(room.best().decision, before);
        search.shake();
        offer(room, winner.candidate.name, search);
        moves += search.numMoves();
      });
    }
  }

  void offer(const Room &room, const std::string &name, const LocalSearch &search) {
    keep(room.graph, {name, search.result(), search.score(), countUsed(search.result().devices), 0,
                      search.won()});
  }

  /// Those that fit: the best of all, and two of each kind, by the number of devices and whether
  /// constants are streamed.
  std::vector<AutoCandidate> findCandidates() {
    std::stable_sort(kept.begin(), kept.end(), [](const Kept &a, const Kept &b) {
      return rankOf(a.candidate) < rankOf(b.candidate);
    });
    std::map<std::pair<uint32_t, bool>, int> ofKind;
    std::vector<AutoCandidate> candidates;
    for (const auto &[graph, candidate] : kept) {
      if (candidate.score.seconds > winner.candidate.score.seconds * kSlowestCandidate)
        break;
      const AutoPlacement placement = graph->placementOf(candidate.decision);
      if (isAmong(candidates, placement))
        continue;
      const std::vector<char> &streamed = candidate.decision.streamed;
      const bool isStreaming = std::find(streamed.begin(), streamed.end(), 1) != streamed.end();
      const int number = ++ofKind[{candidate.numUsed, isStreaming}];
      if (number > 2 && candidates.size() >= kMostAlike)
        continue;
      candidates.push_back(
          {candidate.name, placement, candidate.score.seconds, candidate.gains.list()});
      if (isStreaming && number == 1)
        addWithMoreStreams(candidates, *graph, candidate);
    }
    return candidates;
  }

  void addWithMoreStreams(std::vector<AutoCandidate> &candidates, const OrderedGraph &graph,
                          const PlacementCandidate &candidate) {
    for (const Assignment &more :
         LocalSearch(graph, noLevels, spare).withMoreStreams(candidate.decision))
      candidates.push_back({candidate.name, graph.placementOf(more),
                            Simulator(graph).run(more).seconds, candidate.gains.list()});
  }

  AutoOutcome finish() {
    AutoOutcome outcome;
    outcome.placement = winner.placement();
    outcome.start = winner.candidate.name;
    outcome.schedule = simulate(problem, outcome.placement);
    outcome.fits = fitsAll(problem, outcome.schedule);
    for (const AutoStart &start : starts) {
      // In its own order it may do better than in ours.
      AutoSchedule own = simulate(problem, start.placement);
      const bool fits = fitsAll(problem, own);
      note(start.name, fits ? own.seconds : notAllowed);
      if (fits && (!outcome.fits || own.seconds < outcome.schedule.seconds)) {
        outcome.placement = start.placement;
        outcome.start = start.name;
        outcome.schedule = std::move(own);
        outcome.fits = true;
      }
    }
    if (outcome.fits)
      outcome.candidates = findCandidates();
    if (!isAmong(outcome.candidates, outcome.placement))
      addCandidate(outcome.candidates,
                   {outcome.start, outcome.placement, outcome.schedule.seconds});
    outcome.lowerBound = lowerBound(problem);
    outcome.unlimited = {outcome.start, outcome.placement, outcome.schedule.seconds};
    outcome.tried = std::move(tried);
    outcome.steps = budget.steps;
    outcome.moves = moves;
    return outcome;
  }

  const AutoProblem &problem;
  std::span<const AutoStart> starts;
  Edges edges;
  std::vector<uint64_t> keys;
  Winner winner;
  Budget budget;
  std::vector<std::unique_ptr<Room>> rooms; ///< graphs that candidates are about stay
  std::vector<AutoTried> tried;
  struct Kept {
    const OrderedGraph *graph;
    PlacementCandidate candidate;
  };
  std::vector<Kept> kept; ///< those that fit
  Budget spare{UINT64_MAX};
  const std::vector<std::vector<Cluster>> noLevels;
  uint32_t moves = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// What memory is worth
//===----------------------------------------------------------------------===//

namespace {
/// Seconds of the best that a short search finds near by; infinite where it does not fit.
double secondsNear(const AutoProblem &problem, const AutoPlacement &placement) {
  constexpr uint64_t runs = 60;
  const OrderedGraph graph(problem, placement.order);
  const std::vector<std::vector<Cluster>> levels = clusterLevels(graph);
  Budget budget{runs * problem.tasks.size()};
  LocalSearch search(graph, levels, budget);
  std::vector<Assignment> starts{graph.assignmentOf(placement)};
  if (Simulator(graph).run(starts.front()).overflow)
    starts = search.madeToFit(starts.front());
  double best = notAllowed;
  for (size_t i = 0; i < starts.size(); ++i)
    budget.lend(starts.size() - i, [&](Budget &lent) {
      LocalSearch climber(graph, levels, lent);
      climber.climb(starts[i]);
      best = std::min(best, climber.score().overflow ? notAllowed : climber.score().seconds);
    });
  return best;
}
} // namespace

std::vector<AutoPrice> priceMemory(const AutoProblem &problem, const AutoPlacement &placement) {
  constexpr uint64_t least = 1 << 20, part = 32; // the limit changes by the larger
  std::vector<AutoPrice> prices(problem.numDevices());
  const double now = secondsNear(problem, placement);
  for (uint32_t d = 0; d < problem.numDevices(); ++d) {
    const uint64_t limit = problem.limits[d], change = std::max(least, limit / part);
    if (!limit)
      continue;
    auto with = [&](uint64_t other) {
      AutoProblem changed = problem;
      changed.limits[d] = other;
      return secondsNear(changed, placement);
    };
    const auto bytes = static_cast<double>(change);
    prices[d].more = std::max(0.0, now - with(limit + change)) / bytes;
    prices[d].less =
        limit > change ? std::max(0.0, with(limit - change) - now) / bytes : notAllowed;
  }
  return prices;
}

//===----------------------------------------------------------------------===//
// With fewer devices
//===----------------------------------------------------------------------===//

std::optional<AutoProblem> withFirstDevices(const AutoProblem &problem, uint32_t count) {
  auto isGone = [&](uint32_t device) { return device != noIndex && device >= count; };
  for (const AutoValue &value : problem.values)
    if (isGone(value.home))
      return std::nullopt;
  for (const AutoEnd &end : problem.ends)
    if (isGone(end.device))
      return std::nullopt;
  AutoProblem smaller = problem;
  smaller.limits.resize(count);
  if (!smaller.leastSpare.empty())
    smaller.leastSpare.resize(count);
  smaller.links.clear();
  for (uint32_t from = 0; from < count; ++from)
    for (uint32_t to = 0; to < count; ++to)
      smaller.links.push_back(problem.link(from, to));
  for (AutoTask &task : smaller.tasks) {
    if (isGone(task.only))
      return std::nullopt;
    if (task.only == noIndex)
      task.seconds.resize(count);
  }
  for (AutoValue &value : smaller.values)
    if (!value.turning.empty())
      value.turning.resize(count);
  return checkProblem(smaller).ok() ? std::optional(std::move(smaller)) : std::nullopt;
}

namespace {
/// Searches within limits, from what was found before for others.
AutoOutcome searchAgain(const AutoProblem &problem, const AutoOptions &options,
                        std::span<const AutoStart> starts, const AutoOutcome &before) {
  std::vector<AutoStart> all(starts.begin(), starts.end());
  all.push_back({"best without limits", before.unlimited.placement});
  for (const AutoCandidate &candidate : before.candidates)
    all.push_back({candidate.start, candidate.placement});
  AutoOutcome outcome = Search(problem, options, all).run();
  outcome.unlimited = before.unlimited;
  outcome.steps += before.steps;
  outcome.moves += before.moves;
  return outcome;
}
} // namespace

Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options,
                                      std::span<const AutoStart> starts,
                                      const AutoOutcome *before) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  if (before)
    return searchAgain(problem, options, starts, *before);
  std::vector<AutoStart> all(starts.begin(), starts.end());
  if (!hasLimits(problem))
    return Search(problem, options, all).run();
  const AutoProblem free = withoutLimits(problem);
  AutoOptions first = options, second = options;
  first.maxVisits = options.maxVisits / kPartWithoutLimits;
  second.maxVisits = 2 * options.maxVisits - first.maxVisits;
  AutoOutcome unlimited = Search(free, first, all).run();
  AutoSchedule schedule = simulate(problem, unlimited.placement);
  if (fitsAll(problem, schedule)) {
    AutoOptions rest = options;
    rest.maxVisits -= first.maxVisits;
    unlimited = searchAgain(free, rest, starts, unlimited);
    schedule = simulate(problem, unlimited.placement);
  }
  if (fitsAll(problem, schedule)) {
    unlimited.schedule = std::move(schedule);
    std::erase_if(unlimited.candidates, [&](const AutoCandidate &candidate) {
      return !fitsAll(problem, simulate(problem, candidate.placement));
    });
    return unlimited;
  }
  all.push_back({"best without limits", unlimited.placement});
  AutoOutcome outcome = Search(problem, second, all).run();
  outcome.unlimited = std::move(unlimited.unlimited);
  outcome.steps += unlimited.steps;
  outcome.moves += unlimited.moves;
  return outcome;
}

} // namespace gantry::placement
