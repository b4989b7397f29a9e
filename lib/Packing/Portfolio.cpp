// No planner is best for all problems: a skyline meets the bound of most graphs at once, ejection
// comes near it where there are thousands of buffers, the exact search alone solves dense ones of
// hundreds, and annealing is best where sizes are alike. So the quick ones go first; where the
// bound is not met, the others follow in rounds of growing effort, side by side, each from the best
// layout of the round before (docs/designs/memory.md).
//
// The same result comes out for any number of threads: effort is counted, never timed, and of the
// planners of a round the first in the list that meets the target wins, else the lowest peak.
#include "Planners.h"
#include "Skyline.h"
#include "gantry/Support/Thread.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

namespace gantry::packing {

namespace {

/// Boxes of which a few skylines are drawn in the time that ejection takes.
constexpr size_t fewEnoughForSkylines = 50'000;
constexpr unsigned quickWeightings = 4;

/// Effort of each planner: in the first round a few tenths of a second at most, less for few boxes,
/// and eight times as much in each round that follows.
struct Efforts {
  uint64_t pairs, candidates, placements;

  Efforts(size_t boxes, unsigned rounds, unsigned share = 1) {
    const uint64_t factor = uint64_t(1) << (3 * std::min(rounds, 12u));
    pairs = std::min<uint64_t>(60'000'000, 60'000 * boxes) * factor / share;
    candidates = std::min<uint64_t>(6'000'000, 40'000 * boxes) * factor / share;
    placements = std::min<uint64_t>(200'000, 200 * boxes) * factor / share;
  }
};

/// What a planner of a round gave.
struct Outcome {
  Layout layout;
  uint64_t provenBound = 0; ///< there is no layout under it
};

using Task = std::function<Outcome(const std::atomic<bool> &cancelled)>;

/// Runs the tasks, several at a time, and gives the outcomes up to the first that meets the target.
/// What comes after that one is cancelled, and of no account.
std::vector<Outcome> runAll(const std::vector<Task> &tasks, uint64_t target, unsigned threads) {
  std::vector<Outcome> outcomes(tasks.size());
  std::unique_ptr<std::atomic<bool>[]> cancelled(new std::atomic<bool>[tasks.size()]());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      if (cancelled[i].load())
        continue;
      outcomes[i] = tasks[i](cancelled[i]);
      if (outcomes[i].layout.peak <= std::max(target, outcomes[i].provenBound))
        for (size_t later = i + 1; later < tasks.size(); ++later)
          cancelled[later].store(true);
    }
  };
  std::vector<Thread> helpers(std::min<size_t>(threads, std::max<size_t>(1, tasks.size())) - 1);
  for (Thread &helper : helpers)
    if (!helper.start(work))
      break; // then those that there are do all of it
  work();
  helpers.clear();
  for (size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].layout.peak <= std::max(target, outcomes[i].provenBound))
      outcomes.resize(i + 1);
  return outcomes;
}

/// The lowest peak that the exact search finds between the target and that of `start`: where it
/// shows that there is none, the next capacity lies half way up.
Outcome searchLowest(const Instance &instance, const Layout &start, uint64_t target,
                     Effort &effort) {
  Outcome outcome{start, target};
  for (uint64_t capacity = target; outcome.provenBound < outcome.layout.peak;) {
    bool none = false;
    Layout found = searchExact(instance, outcome.layout, capacity, effort, &none);
    if (!found.offsets.empty())
      outcome.layout = std::move(found);
    else if (none)
      outcome.provenBound = capacity + instance.granule;
    else
      break;
    uint64_t between = (outcome.layout.peak - outcome.provenBound) / 2;
    capacity = outcome.provenBound + (between & ~(instance.granule - 1));
  }
  return outcome;
}

/// The lowest of the skylines of the first weightings, up to the first that meets the target.
Layout drawSkylines(const Instance &instance, unsigned weightings, uint64_t target) {
  KeyMaker maker(instance);
  SkylinePlanner planner(instance);
  Layout best;
  std::vector<uint64_t> offsets;
  for (unsigned i = 0; i < weightings && best.peak > target; ++i) {
    uint64_t height = planner.place(maker.keys(weighting(i)), best.peak, offsets);
    if (height < best.peak)
      best = {offsets, height};
  }
  return best;
}

class Portfolio {
public:
  Portfolio(const Instance &instance, const Options &options)
      : instance(instance), options(options),
        target(std::max(instance.lowerBound, options.capacity & ~(instance.granule - 1))) {}

  Layout search() {
    startQuickly();
    for (unsigned round = 0; round < options.rounds && goesOn(round); ++round)
      runRound(round);
    return std::move(best);
  }

private:
  const Instance &instance;
  const Options &options;
  const uint64_t target;
  uint64_t provenBound = 0;
  Layout best;

  void keep(Layout layout) {
    if (layout.peak < best.peak)
      best = std::move(layout);
  }

  bool goesOn(unsigned round) const {
    if (best.peak <= std::max(target, provenBound))
      return false;
    // After the first round the last bytes are worth the effort only to fit.
    return round == 0 || options.capacity != 0 || best.peak - target > target / 500;
  }

  /// Most problems end here.
  void startQuickly() {
    if (instance.anyFixed)
      return keep(packLargestFirst(instance));
    if (instance.boxes.size() <= fewEnoughForSkylines)
      best = drawSkylines(instance, quickWeightings, target);
    if (best.peak > target)
      keep(packInTimeOrder(instance));
  }

  void runRound(unsigned round) {
    const Efforts efforts(instance.boxes.size(), round, std::max(1u, options.share));
    std::vector<Task> tasks;
    if (!instance.anyFixed && instance.oneAlignment && largestPart(instance) <= largestExactPart)
      tasks.push_back([this, efforts](const std::atomic<bool> &cancelled) {
        Effort effort{efforts.candidates, &cancelled};
        return searchLowest(instance, best, target, effort);
      });
    tasks.push_back([this, round, efforts](const std::atomic<bool> &cancelled) {
      Effort effort{efforts.pairs, &cancelled};
      return Outcome{eject(instance, best, target, round + 1, effort)};
    });
    // Of less than some skylines there is nothing to expect.
    if (!instance.anyFixed && efforts.placements >= 20 * instance.boxes.size())
      tasks.push_back([this, round, efforts](const std::atomic<bool> &cancelled) {
        Effort effort{efforts.placements, &cancelled};
        return Outcome{anneal(instance, best, target, round + 1, effort)};
      });
    unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
    Layout lowest = best;
    for (Outcome &outcome : runAll(tasks, target, std::max(1u, threads))) {
      provenBound = std::max(provenBound, outcome.provenBound);
      if (outcome.layout.peak < lowest.peak)
        lowest = std::move(outcome.layout);
    }
    best = std::move(lowest);
  }
};

} // namespace

Layout searchPortfolio(const Instance &instance, const Options &options) {
  return Portfolio(instance, options).search();
}

Expected<Layout> planAlone(const Instance &instance, const Options &options) {
  const bool takesFixed =
      options.planner == Planner::largestFirst || options.planner == Planner::ejection;
  if (instance.anyFixed && !takesFixed)
    return Status::invalidArgument("this planner takes no fixed offsets; the portfolio, "
                                   "largest-first and ejection do");
  const uint64_t target = std::max(instance.lowerBound, options.capacity & ~(instance.granule - 1));
  const Efforts efforts(instance.boxes.size(), std::max(1u, options.rounds) - 1);
  Effort pairs{efforts.pairs}, candidates{efforts.candidates};
  // One skyline of each weighting at least.
  Effort placements{
      std::max<uint64_t>(efforts.placements, instance.boxes.size() * numWeightings())};
  Layout layout;
  switch (options.planner) {
  case Planner::portfolio:
  case Planner::timeOrder:
    layout = packInTimeOrder(instance);
    break;
  case Planner::largestFirst:
    layout = packLargestFirst(instance);
    break;
  case Planner::skyline:
    layout = drawSkylines(instance, numWeightings(), target);
    break;
  case Planner::ejection:
    layout =
        eject(instance, instance.anyFixed ? packLargestFirst(instance) : packInTimeOrder(instance),
              target, 1, pairs);
    break;
  case Planner::annealing:
    layout = anneal(instance, {}, target, 1, placements);
    break;
  case Planner::exact:
    if (instance.oneAlignment)
      layout = searchLowest(instance, packInTimeOrder(instance), target, candidates).layout;
    break;
  }
  if (layout.offsets.empty())
    return Status::doesNotFit("this planner found no layout within its effort; give it more rounds "
                              "or take the portfolio");
  return layout;
}

} // namespace gantry::packing
