// Which solvers run, in which order, and with how much of the effort.
//
// Chains and greedy ones with several tastes begin, and local search goes on from the best. Where
// nothing fits, the limit is moved: halfway between what was found and what nothing is below until
// these meet, and then just below what was found.
#include "Chains.h"
#include "Search.h"

#include <algorithm>
#include <utility>

namespace gantry::remat {

namespace {

/// Steps up to which repetitions in front of one may come in two parts, each in the steps' order.
constexpr size_t kMostInParts = 256;
/// Changes that a start may take, by step.
constexpr uint64_t kStartEffort = 64;

/// With a pause in front of each step and of the end, in front of which steps can run again, too.
Problem withPauses(const Problem &problem) {
  Problem paused{{}, problem.bytes, problem.limit, problem.kept};
  for (const Step &step : problem.steps) {
    paused.steps.emplace_back();
    paused.steps.push_back(step);
  }
  paused.steps.emplace_back();
  return paused;
}

/// How a greedy one begins.
struct Start {
  uint32_t rounds = 0; ///< none: the run without repetitions
  bool byArea = false, isEarly = false;
};

constexpr Start firstStart{16, true, false};
constexpr Start moreStarts[] = {{1, true, false},   {4, true, false},  {1, false, false},
                                {16, false, false}, {4, false, false}, {1, true, true},
                                {16, true, true}};

class Portfolio {
public:
  Portfolio(const Graph &graph, uint64_t effort, Solver solver)
      : graph(graph), left(effort), solver(solver) {}

  std::vector<Again> solve(uint64_t limit, uint64_t bound);

private:
  const Graph &graph;
  uint64_t left; ///< effort
  Solver solver;
  Search::Found lowest;

  /// What takes at most so much effort.
  template <typename Run>
  void spend(uint64_t most, Run &&run) {
    Effort effort(most);
    run(effort);
    left -= std::min(left, most - effort.numLeft());
  }
  void start(Search &search, uint64_t limit);
  bool findLower(uint64_t limit, uint64_t most);
  void findLowest(uint64_t least);
};

void Portfolio::start(Search &search, uint64_t limit) {
  const uint64_t most = kStartEffort * (graph.numSteps + 64);
  auto descend = [&](std::span<const Again> from, const Start &start, uint64_t most) {
    Taste taste;
    taste.byArea = start.byArea;
    taste.isEarly = start.isEarly;
    spend(most, [&](Effort &effort) { search.descend(from, taste, start.rounds, effort); });
  };
  // One of each kind whatever the effort.
  descend({}, solver == Solver::chains ? Start{} : firstStart, most);
  if (solver == Solver::chains || solver == Solver::portfolio) {
    bool isFirst = true;
    for (const std::vector<Again> &again : solveChain(Schedule(graph), limit))
      if (std::exchange(isFirst, false) || left > 0)
        descend(again, {1, true, true}, most);
  }
  if (solver != Solver::chains)
    for (const Start &start : moreStarts)
      if (left > 0)
        descend({}, start, std::min(left, most));
}

/// Whether a run is found that holds no more; it becomes the lowest.
bool Portfolio::findLower(uint64_t limit, uint64_t most) {
  Search search(graph, limit);
  spend(most, [&](Effort &effort) {
    Taste taste;
    taste.byArea = true;
    search.descend(lowest.again, taste, 4, effort);
    if (!search.fits())
      search.descend({}, taste, 16, effort);
    search.improve(effort, /*untilFits=*/true);
  });
  if (search.lowest->peak < lowest.peak)
    lowest = *search.lowest;
  return search.fits();
}

void Portfolio::findLowest(uint64_t least) {
  while (left > 0 && lowest.peak - least > lowest.peak / 256) {
    uint64_t middle = least + (lowest.peak - least) / 2;
    if (!findLower(middle, left / 8 + 1))
      least = middle;
  }
  while (left > 0 && lowest.peak > 0)
    findLower(lowest.peak - 1, left / 4 + 64);
}

std::vector<Again> Portfolio::solve(uint64_t limit, uint64_t bound) {
  Search search(graph, limit);
  start(search, limit);
  const bool isSearching = solver == Solver::portfolio || solver == Solver::search;
  if (isSearching && limit >= bound && !search.fits())
    spend(left / 2, [&](Effort &effort) { search.improve(effort, /*untilFits=*/true); });
  if (search.fits()) {
    if (isSearching)
      spend(left, [&](Effort &effort) { search.improve(effort, /*untilFits=*/false); });
    return search.best->again;
  }
  lowest = *search.lowest;
  if (isSearching)
    findLowest(std::max(limit, bound));
  return lowest.again;
}

/// Peak and seconds of a run with these repetitions, by slot, then step.
Answer answerOf(const Graph &graph, std::vector<Again> again) {
  Schedule schedule(graph);
  std::vector<Change> changes;
  for (const Again &one : again)
    changes.push_back({one, true});
  schedule.apply(changes);
  Answer answer{std::move(again), schedule.peak(), 0};
  size_t at = 0;
  for (uint32_t slot = 0; slot <= graph.numSteps; ++slot) {
    for (; at < answer.again.size() && answer.again[at].before == slot; ++at)
      answer.seconds += graph.problem.steps[answer.again[at].step].seconds;
    if (slot < graph.numSteps)
      answer.seconds += graph.problem.steps[slot].seconds;
  }
  return answer;
}

} // namespace

Answer solve(const Problem &problem, uint64_t effort, Solver solver) {
  Answer plain = answerOf(Graph(problem), {});
  if (plain.peak <= problem.limit)
    return plain;
  const bool isInParts = problem.steps.size() <= kMostInParts;
  const Problem paused = isInParts ? withPauses(problem) : Problem();
  const Graph graph(isInParts ? paused : problem);
  Answer answer =
      answerOf(graph, Portfolio(graph, effort, solver).solve(problem.limit, leastPeak(problem)));
  if (isInParts)
    for (Again &again : answer.again) {
      again.step /= 2;
      again.before /= 2;
    }
  return answer;
}

} // namespace gantry::remat
