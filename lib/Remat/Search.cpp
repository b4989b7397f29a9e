#include "Search.h"

#include <algorithm>
#include <tuple>

namespace gantry::remat {

/// Repetitions up to which all are tried after each change; of more, those that are new.
static constexpr size_t kFew = 48;
/// Repetitions that are decided again at a time.
static constexpr uint64_t kMostRuined = 12;
/// Values that are looked at in one place while parts are decided again.
static constexpr size_t kMostTried = 48;
/// The part of the seconds of what is decided again that may be lost in the beginning.
static constexpr double kSlack = 0.2;
/// Chance in what values are worth: mostly little.
static constexpr double kNoise = 30;

static bool isBefore(const Again &a, const Again &b) {
  return a.before != b.before ? a.before < b.before : a.step < b.step;
}

void Search::set(std::span<const Again> repetitions) {
  const std::vector<Again> old = schedule.repetitions();
  std::vector<Change> changes;
  for (const Again &again : repetitions)
    if (!std::ranges::binary_search(old, again, isBefore))
      changes.push_back({again, true});
  for (const Again &again : old)
    if (!std::ranges::binary_search(repetitions, again, isBefore))
      changes.push_back({again, false});
  schedule.apply(changes);
}

void Search::note(const Score &found) {
  const double least = 1e-12 * graph.seconds; // sums of seconds are not exact
  if (!best || found.excess < best->score.excess ||
      (found.excess == best->score.excess && found.seconds < best->score.seconds - least))
    best = {found, schedule.peak(), schedule.repetitions()};
  if (uint64_t peak = schedule.peak(); !lowest || peak < lowest->peak)
    lowest = {found, peak, schedule.repetitions()};
}

void Search::descend(std::span<const Again> from, const Taste &taste, uint32_t rounds,
                     Effort &effort) {
  set(from);
  const uint64_t peak = schedule.peak();
  std::vector<Change> done;
  for (uint32_t round = 1; round <= rounds && !effort.isSpent(); ++round) {
    uint64_t to = peak > limit ? peak - (peak - limit) / rounds * round : limit;
    if (round == rounds)
      to = limit;
    Greedy(schedule, to, effort, random).run(taste, done);
    takeBack(schedule.repetitions(), to, done, effort);
  }
  note(score());
}

//===----------------------------------------------------------------------===//
// Taking back
//===----------------------------------------------------------------------===//

/// Whether nobody reads what a repetition makes.
bool Search::isUseless(uint32_t step, uint32_t slot) const {
  const Time time = timeOf(slot, step);
  return std::ranges::all_of(graph.problem.steps[step].makes, [&](uint32_t value) {
    return graph.held[value] == 0 || schedule.copyAt(value, time + 1).last == time;
  });
}

/// With the repetitions that were there for this one alone.
void Search::remove(Again again, std::vector<Change> &changes, Effort &effort) {
  std::vector<Again> open{again};
  while (!open.empty()) {
    const Again gone = open.back();
    open.pop_back();
    if (!schedule.contains(gone))
      continue;
    Change change{gone, false};
    schedule.apply(std::span(&change, 1));
    effort.spend(1);
    changes.push_back(change);
    for (uint32_t operand : graph.problem.steps[gone.step].reads) {
      if (graph.held[operand] == 0)
        continue;
      const uint32_t maker = graph.maker[operand];
      const Time made = schedule.copyAt(operand, timeOf(gone.before, gone.step)).made;
      if (slotOf(made) != maker && isUseless(maker, slotOf(made)))
        open.push_back({maker, slotOf(made)});
    }
  }
}

/// Those of most seconds first, as long as no more is held over `to`.
void Search::takeBack(std::vector<Again> tried, uint64_t to, std::vector<Change> &done,
                      Effort &effort) {
  std::ranges::sort(tried, [&](const Again &a, const Again &b) {
    return std::tuple(-graph.problem.steps[a.step].seconds, a.before, a.step) <
           std::tuple(-graph.problem.steps[b.step].seconds, b.before, b.step);
  });
  double excess = schedule.excess(to);
  for (const Again &again : tried) {
    if (effort.isSpent())
      return;
    std::vector<Change> changes;
    remove(again, changes, effort);
    double now = schedule.excess(to);
    if (now <= excess) {
      excess = now;
      done.insert(done.end(), changes.begin(), changes.end());
    } else {
      schedule.revert(changes);
      effort.spend(changes.size());
    }
  }
}

//===----------------------------------------------------------------------===//
// Deciding again
//===----------------------------------------------------------------------===//

/// A part of the repetitions: in front of near steps, of near steps, any, or all.
std::vector<Again> Search::choosePart() {
  std::vector<Again> all = schedule.repetitions();
  if (all.empty() || (all.size() <= kFew && random.below(12) == 0))
    return all;
  const Again center = all[random.below(all.size())];
  const size_t count = 1 + random.below(std::min<uint64_t>(all.size(), kMostRuined));
  auto distance = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
  auto takeNear = [&](auto &&distanceOf) {
    std::ranges::partial_sort(all, all.begin() + ptrdiff_t(count), {}, [&](const Again &again) {
      return std::tuple(distanceOf(again), again.before, again.step);
    });
  };
  switch (random.below(3)) {
  case 0:
    takeNear([&](const Again &again) { return distance(again.before, center.before); });
    break;
  case 1:
    takeNear([&](const Again &again) { return distance(again.step, center.step); });
    break;
  default:
    for (size_t i = 0; i < count; ++i)
      std::swap(all[i], all[i + random.below(all.size() - i)]);
  }
  all.resize(count);
  return all;
}

void Search::improve(Effort &effort, bool untilFits) {
  set(best ? best->again : std::vector<Again>());
  Score now = score();
  note(now);
  const double whole = double(effort.numLeft());
  Greedy greedy(schedule, limit, effort, random);
  while (!effort.isSpent() && !(untilFits && fits())) {
    effort.spend(1);
    std::vector<Change> done;
    for (const Again &again : choosePart())
      remove(again, done, effort);
    Taste taste;
    taste.byArea = random.below(2) == 0;
    taste.isEarly = random.below(2) == 0;
    taste.ignored = random.below(2) == 0 ? 1 : 1e-3;
    taste.noise = kNoise * random.unit();
    taste.noise *= random.unit();
    taste.bold = random.below(2) == 0 ? 0 : uint32_t(random.below(4));
    taste.most = kMostTried;
    const size_t removed = done.size();
    const double ruinedSeconds = now.seconds - schedule.secondsAgain();
    greedy.run(taste, done);
    std::vector<Again> tried;
    if (schedule.numRepetitions() <= kFew)
      tried = schedule.repetitions();
    else
      for (size_t i = removed; i < std::min(done.size(), removed + kFew); ++i)
        tried.push_back(done[i].again);
    takeBack(std::move(tried), limit, done, effort);
    const Score found = score();
    const double left = double(effort.numLeft()) / whole;
    const double slack = kSlack * left * random.unit() * ruinedSeconds;
    if (found.excess < now.excess ||
        (found.excess == now.excess && found.seconds <= now.seconds + slack)) {
      now = found;
      note(found);
    } else {
      schedule.revert(done);
      effort.spend(done.size());
    }
  }
}

} // namespace gantry::remat
