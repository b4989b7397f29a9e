// The search: starts in two orders, local search from each, orders that suit the result. First
// without limits; where that has no room, again with them, from what was found. The judge
// (Validate.cpp) is the caller's to ask.
#include "LocalSearch.h"
#include "Starts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

namespace gantry::placement {

/// How often the order is made to suit the devices before the search ends.
static constexpr uint32_t kReorderings = 4;
/// Starts of an order that local search goes on from.
static constexpr size_t kMostClimbed = 8;
/// Starts of one name, in one order, that are made to fit.
static constexpr int kMostMadeToFit = 3;
/// One part in so many of the effort goes into that, for each order.
static constexpr uint32_t kFittingParts = 4;
/// Others that a search gives besides the best, and how much slower they may be.
static constexpr size_t kMostOthers = 8;
static constexpr double kSlowestOther = 1.5;

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

struct Candidate {
  std::string name;
  Assignment decision;
  Score score;
  uint32_t numUsed = 0;
};

uint32_t countUsed(const std::vector<uint32_t> &devices) {
  std::vector<uint32_t> seen(devices);
  std::sort(seen.begin(), seen.end());
  return static_cast<uint32_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

auto rankOf(const Candidate &candidate) {
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
    candidates.push_back({name, std::move(decision), score, used});
  }

  void addStarts() {
    for (uint32_t d = 0; d < graph.numDevices; ++d)
      add("one device", {startOnOne(graph, d)});
    if (graph.numDevices < 2)
      return;
    // Over the limit only where there is one: what is over it is made to fit afterwards.
    std::vector<double> parts{1.0, 0.9, 0.75};
    if (hasLimits(graph.problem))
      parts.insert(parts.end(), {1.2, 1.5, 2});
    const bool isShared = hasLimits(graph.problem) && !sharedConstants(graph).empty();
    for (const std::vector<uint32_t> &sequence : deviceSequences(graph))
      for (double part : parts)
        for (bool isTied : {false, true})
          if (isTied && !isShared)
            continue;
          else if (auto devices = startInPieces(graph, sequence, part, isTied))
            add(isTied ? "pieces with shared constants" : "pieces", {std::move(*devices)});
    for (double part : {1.0, 0.9}) {
      add("list scheduling", {startByList(graph, Outlook::end, part)});
      add("list scheduling with outlook", {startByList(graph, Outlook::rest, part)});
    }
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
      if (std::none_of(result.begin(), result.end(), [&](const Candidate &other) {
            return other.decision == candidate.decision;
          }))
        result.push_back(candidate);
    std::sort(result.begin(), result.end(),
              [](const Candidate &a, const Candidate &b) { return rankOf(a) < rankOf(b); });
    return result;
  }

  /// Of those that are over a limit, the fastest.
  std::vector<Candidate> fastestOver() const {
    std::vector<Candidate> over = distinctByScore();
    std::erase_if(over, [](const Candidate &candidate) { return candidate.score.overflow == 0; });
    std::stable_sort(over.begin(), over.end(), [](const Candidate &a, const Candidate &b) {
      return a.score.seconds < b.score.seconds;
    });
    return over;
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

  AutoPlacement placement() const { return graph->placementOf(candidate.decision); }
};

/// All steps of one search.
class Search {
public:
  Search(const AutoProblem &problem, const AutoOptions &options, std::span<const AutoStart> starts)
      : problem(problem), starts(starts), edges(problem), keys(structuralKeys(problem, edges)),
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
      for (const AutoStart &start : starts)
        room.add(start.name, room.graph.assignmentOf(start.placement));
      makeFit(room);
      for (const Candidate &candidate : room.candidates)
        consider(room.graph, candidate);
    }
  }

  void consider(const OrderedGraph &graph, const Candidate &candidate) {
    note(candidate.name, candidate.score.overflow ? notAllowed : candidate.score.seconds);
    keep(graph, candidate);
  }

  void keep(const OrderedGraph &graph, const Candidate &candidate) {
    winner.offer(graph, candidate);
    if (hasLimits(problem) && candidate.score.overflow == 0)
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
    Budget share = budget.share(kFittingParts);
    LocalSearch search(room.graph, share);
    std::map<std::string, int> made;
    for (const Candidate &start : room.fastestOver())
      if (made[start.name]++ < kMostMadeToFit)
        for (Assignment &decision : search.madeToFit(start.decision))
          room.add(start.name + " made to fit", std::move(decision));
    budget.take(share, kFittingParts);
  }

  /// The better order first; each may take half of what is left.
  void climbInBothOrders() {
    if (isBetter(rooms[1]->best().score, rooms[0]->best().score))
      std::swap(rooms[0], rooms[1]);
    for (auto &room : rooms) {
      Budget share = budget.share(2);
      LocalSearch search(room->graph, share);
      std::vector<Candidate> climbed = room->distinctByScore();
      climbed.resize(std::min(climbed.size(), kMostClimbed));
      for (const Candidate &start : climbed) {
        search.climb(start.decision);
        offer(*room, start.name, search);
      }
      moves += search.numMoves();
      budget.take(share, 2);
    }
  }

  /// The best again, in the order that suits its devices; what is found there may suit yet another.
  void suitOrders() {
    for (uint32_t round = 0; round < kReorderings; ++round) {
      AutoPlacement best = winner.placement();
      Room &room =
          addRoom(improveOrder(problem, best, rankOrder(problem, edges, keys, best.devices)));
      room.add(winner.candidate.name, room.graph.assignmentOf(best));
      LocalSearch search(room.graph, budget);
      search.climb(room.best().decision);
      search.shake((budget.steps - budget.used) / (kReorderings - round));
      offer(room, winner.candidate.name, search);
      moves += search.numMoves();
    }
  }

  void offer(const Room &room, const std::string &name, const LocalSearch &search) {
    keep(room.graph, {name, search.result(), search.score(), countUsed(search.result().devices)});
  }

  /// Those that fit, two of each kind: by the number of devices, and whether constants are
  /// streamed.
  std::vector<AutoPlacement> findOthers() {
    std::stable_sort(kept.begin(), kept.end(), [](const Kept &a, const Kept &b) {
      return rankOf(a.candidate) < rankOf(b.candidate);
    });
    std::map<std::pair<uint32_t, bool>, int> ofKind;
    std::vector<AutoPlacement> others;
    auto add = [&](AutoPlacement placement) {
      if (placement.devices != winner.placement().devices ||
          placement.streamed != winner.placement().streamed)
        others.push_back(std::move(placement));
    };
    for (const auto &[graph, candidate] : kept) {
      const std::vector<char> &streamed = candidate.decision.streamed;
      const bool isStreaming = std::find(streamed.begin(), streamed.end(), 1) != streamed.end();
      const int number = ++ofKind[{candidate.numUsed, isStreaming}];
      if (number > 2 || others.size() >= kMostOthers ||
          candidate.score.seconds > winner.candidate.score.seconds * kSlowestOther)
        continue;
      add(graph->placementOf(candidate.decision));
      if (isStreaming && number == 1)
        for (const Assignment &more : LocalSearch(*graph, spare).withMoreStreams(candidate.decision))
          add(graph->placementOf(more));
    }
    return others;
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
    if (hasLimits(problem))
      outcome.others = findOthers();
    outcome.lowerBound = lowerBound(problem);
    outcome.unlimited = outcome.schedule.seconds;
    outcome.tried = std::move(tried);
    outcome.steps = budget.used;
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
    Candidate candidate;
  };
  std::vector<Kept> kept; ///< those that fit
  Budget spare{UINT32_MAX, UINT64_MAX};
  uint32_t moves = 0;
};
} // namespace

Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options,
                                      std::span<const AutoStart> starts) {
  GANTRY_RETURN_IF_ERROR(checkProblem(problem));
  if (!hasLimits(problem))
    return Search(problem, options, starts).run();
  const AutoProblem free = withoutLimits(problem);
  AutoOutcome unlimited = Search(free, options, starts).run();
  AutoSchedule schedule = simulate(problem, unlimited.placement);
  if (fitsAll(problem, schedule)) {
    unlimited.schedule = std::move(schedule);
    return unlimited;
  }
  std::vector<AutoStart> all(starts.begin(), starts.end());
  all.push_back({"best without limits", unlimited.placement});
  AutoOutcome outcome = Search(problem, options, all).run();
  outcome.unlimited = unlimited.schedule.seconds;
  outcome.steps += unlimited.steps;
  outcome.moves += unlimited.moves;
  return outcome;
}

} // namespace gantry::placement
