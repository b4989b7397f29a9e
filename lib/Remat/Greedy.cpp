#include "Greedy.h"

#include <algorithm>

namespace gantry::remat {

void Greedy::run(Taste taste, std::vector<Change> &done) {
  double excess = schedule.excess(limit);
  while (excess > 0 && !effort.isSpent()) {
    std::span<const int64_t> levels = schedule.levels();
    uint32_t slot = uint32_t(std::ranges::max_element(levels) - levels.begin());
    if (!freeAt(schedule.fullestRun(slot), taste, excess, done))
      return;
  }
}

/// Until the place is within the limit or nothing is left that makes the run hold less; whether
/// anything did. What a candidate is worth is found anew when it comes first and the run changed.
bool Greedy::freeAt(Time fullest, Taste &taste, double &excess, std::vector<Change> &done) {
  auto isWorse = [](const Candidate &a, const Candidate &b) {
    return a.worth != b.worth   ? a.worth < b.worth
           : a.value != b.value ? a.value > b.value
                                : a.slot > b.slot;
  };
  countOver();
  std::vector<Candidate> heap = candidatesAt(fullest, taste);
  std::ranges::make_heap(heap, isWorse);
  uint64_t state = 0;
  while (!heap.empty() && uint64_t(schedule.levelAt(fullest)) > limit && !effort.isSpent()) {
    std::ranges::pop_heap(heap, isWorse);
    Candidate candidate = std::move(heap.back());
    heap.pop_back();
    if (candidate.state != state) {
      candidate.state = state;
      if (rate(candidate, fullest, taste)) {
        heap.push_back(std::move(candidate));
        std::ranges::push_heap(heap, isWorse);
      }
    } else if (tryOne(candidate, fullest, taste, excess)) {
      ++state;
      done.insert(done.end(), candidate.changes.begin(), candidate.changes.end());
    }
  }
  return state > 0;
}

bool Greedy::tryOne(const Candidate &candidate, Time fullest, Taste &taste, double &excess) {
  const int64_t before = schedule.levelAt(fullest);
  schedule.apply(candidate.changes);
  effort.spend(candidate.changes.size());
  double now = schedule.excess(limit);
  if (now >= excess) {
    if (taste.bold == 0 || schedule.levelAt(fullest) >= before) {
      schedule.revert(candidate.changes);
      effort.spend(candidate.changes.size());
      return false;
    }
    --taste.bold;
  }
  excess = now;
  return true;
}

void Greedy::countOver() {
  std::span<const int64_t> levels = schedule.levels();
  numOver.assign(levels.size() + 1, 0);
  for (size_t slot = 0; slot < levels.size(); ++slot)
    numOver[slot + 1] = numOver[slot] + (uint64_t(levels[slot]) > limit);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

std::vector<Greedy::Candidate> Greedy::candidatesAt(Time fullest, const Taste &taste) {
  std::vector<uint32_t> values;
  for (uint32_t value = 0; value < graph.numValues; ++value) {
    if (graph.held[value] == 0 || !graph.makerOf(value).mayRepeat)
      continue;
    const Copy &copy = schedule.copyAt(value, fullest);
    if (copy.made < fullest && copy.last > fullest && !copy.isFree && mayEnd(value, fullest))
      values.push_back(value);
  }
  if (values.size() > taste.most) {
    for (size_t i = 0; i < taste.most; ++i)
      std::swap(values[i], values[i + random.below(values.size() - i)]);
    values.resize(taste.most);
  }
  std::vector<Candidate> candidates;
  for (uint32_t value : values)
    for (uint32_t slot : slotsFor(value, fullest, taste)) {
      Candidate candidate;
      candidate.value = value;
      candidate.slot = slot;
      if (rate(candidate, fullest, taste))
        candidates.push_back(std::move(candidate));
    }
  return candidates;
}

/// Whether less is held there if the value is not read after it: the step does not read it itself,
/// or may make a result in its place.
bool Greedy::mayEnd(uint32_t value, Time fullest) const {
  uint32_t index = stepOf(fullest);
  if (index == graph.numSteps)
    return !graph.isKept[value];
  const Step &step = graph.problem.steps[index];
  return std::ranges::find(step.reads, value) == step.reads.end() ||
         std::ranges::find(step.replaces, value) != step.replaces.end();
}

/// In front of what it may be made again: its next reader; or earlier, where an operand is still
/// there, where least is held, or anywhere.
std::vector<uint32_t> Greedy::slotsFor(uint32_t value, Time fullest, const Taste &taste) {
  const uint32_t first = slotOf(fullest) + 1, next = slotOf(schedule.nextRead(value, fullest));
  std::vector<uint32_t> slots{next};
  if (!taste.isEarly || first >= next)
    return slots;
  auto add = [&](uint32_t slot) {
    if (slot >= first && slot < next && std::ranges::find(slots, slot) == slots.end())
      slots.push_back(slot);
  };
  add(first);
  for (uint32_t operand : graph.makerOf(value).reads)
    if (graph.held[operand] > 0)
      add(slotOf(schedule.copyAt(operand, timeOf(next, graph.maker[value])).last));
  std::span<const int64_t> between = schedule.levels().subspan(first, next - first);
  add(first + uint32_t(std::ranges::min_element(between) - between.begin()));
  if (taste.noise > 0) {
    add(next - 1);
    add(first + uint32_t(random.below(next - first)));
  }
  return slots;
}

/// Finds the way to make the value again that is worth most; false where there is none.
bool Greedy::rate(Candidate &candidate, Time fullest, const Taste &taste) {
  const uint32_t value = candidate.value, slot = candidate.slot, maker = graph.maker[value];
  const Copy &copy = schedule.copyAt(value, fullest);
  if (copy.made >= fullest || copy.last <= fullest || timeOf(slot, maker) <= fullest ||
      slotOf(schedule.nextRead(value, fullest)) < slot || schedule.contains({maker, slot}))
    return false;
  const double least = taste.ignored * graph.seconds / graph.numSteps + 1e-30;
  const uint32_t first = slotOf(schedule.lastUse(value, fullest)) + 1;
  const double places = taste.byArea ? std::max(1u, numOver[slot] - numOver[first]) : 1;
  candidate.worth = 0;
  std::vector<Change> best;
  for (Missing missing : {Missing::hold, Missing::holdSmall, Missing::make}) {
    double seconds = 0;
    int64_t bytes = 0;
    if (!findChain(candidate, fullest, missing, seconds, bytes))
      continue;
    double worth = double(bytes) * places / (seconds + least);
    if (taste.noise > 0) {
      worth *= 1 + taste.noise * random.unit();
      worth /= 1 + taste.noise * random.unit();
    }
    if (worth > candidate.worth) {
      candidate.worth = worth;
      best = candidate.changes;
    }
  }
  candidate.changes = std::move(best);
  return candidate.worth > 0;
}

/// All that has to run again in front of the slot, with its seconds, and the bytes that are then
/// not held at the fullest place. False where that frees nothing.
bool Greedy::findChain(Candidate &candidate, Time fullest, Missing missing, double &seconds,
                       int64_t &bytes) {
  std::vector<Change> &changes = candidate.changes;
  const uint32_t slot = candidate.slot;
  const int64_t freed = bytes = graph.held[candidate.value];
  ++chain;
  changes.clear();
  auto add = [&](uint32_t step) {
    chainOfStep[step] = chain;
    changes.push_back({{step, slot}, true});
  };
  add(graph.maker[candidate.value]);
  for (size_t at = 0; at < changes.size(); ++at) {
    const uint32_t step = changes[at].again.step;
    seconds += graph.problem.steps[step].seconds;
    for (uint32_t operand : graph.problem.steps[step].reads) {
      const int64_t size = graph.held[operand];
      const uint32_t maker = graph.maker[operand];
      if (size == 0 || chainOfValue[operand] == chain || chainOfStep[maker] == chain ||
          schedule.contains({maker, slot}))
        continue;
      chainOfValue[operand] = chain;
      const Copy &copy = schedule.copyAt(operand, timeOf(slot, step));
      if (copy.last >= timeOf(slot, step))
        continue;
      if (!graph.problem.steps[maker].mayRepeat || missing == Missing::hold ||
          (missing == Missing::holdSmall && size <= freed / 4) ||
          fits(slotOf(copy.last) + 1, slot, size)) {
        if (copy.last < fullest)
          bytes -= size;
      } else {
        add(maker);
      }
    }
    if (bytes <= 0)
      break;
  }
  effort.think(changes.size());
  return bytes > 0;
}

/// Whether the slots have room for so many bytes more.
bool Greedy::fits(uint32_t firstSlot, uint32_t lastSlot, int64_t bytes) const {
  std::span<const int64_t> levels = schedule.levels();
  for (uint32_t slot = lastSlot + 1; slot-- > firstSlot;)
    if (uint64_t(levels[slot] + bytes) > limit)
      return false;
  return true;
}

} // namespace gantry::remat
