#include "Schedule.h"

#include <algorithm>
#include <tuple>

namespace gantry::remat {

Schedule::Schedule(const Graph &graph)
    : graph(graph), slotsOf(graph.numSteps), runs(graph.numSteps + 1), base(graph.numSteps + 1),
      level(graph.numSteps + 1), copies(graph.numValues), isTouched(graph.numSteps + 1),
      stamp(graph.numValues) {
  for (uint32_t slot = 0; slot <= graph.numSteps; ++slot) {
    uint64_t scratch = slot < graph.numSteps ? graph.problem.steps[slot].scratch : 0;
    runs[slot].push_back({slot, int64_t(scratch)});
    touch(slot);
  }
  for (uint32_t value = 0; value < graph.numValues; ++value)
    if (graph.held[value] > 0) {
      findCopies(value, copies[value]);
      addDifference({}, copies[value], graph.held[value]);
    }
  settle();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Reads of all runs, and the end's.
template <typename Visit>
void Schedule::forEachRead(uint32_t value, Visit &&visit) const {
  for (uint32_t reader : graph.readers[value]) {
    visit(timeOf(reader, reader));
    for (uint32_t slot : slotsOf[reader])
      visit(timeOf(slot, reader));
  }
  if (graph.isKept[value])
    visit(timeOf(graph.numSteps, graph.numSteps));
}

void Schedule::findCopies(uint32_t value, std::vector<Copy> &found) const {
  found.clear();
  uint32_t maker = graph.maker[value];
  found.push_back({timeOf(maker, maker), timeOf(maker, maker)});
  for (uint32_t slot : slotsOf[maker])
    found.push_back({timeOf(slot, maker), timeOf(slot, maker)});
  forEachRead(value, [&](Time time) {
    size_t i = found.size() - 1;
    while (found[i].made > time)
      --i;
    found[i].last = std::max(found[i].last, time);
  });
  if (graph.problem.steps[maker].replaces.empty())
    return;
  for (Copy &copy : found)
    if (uint32_t place = placeOf(value, copy.made); place != none) {
      copy.inPlace = true;
      copy.isFree = isFree(value, copy.made, place);
    }
}

/// Whether the copy that a run reads at that time is read by none after it.
bool Schedule::ends(uint32_t value, Time time) const {
  Time made = UINT64_MAX; // the next copy
  if (uint32_t maker = graph.maker[value]; maker != none)
    for (uint32_t slot : slotsOf[maker])
      if (timeOf(slot, maker) > time)
        made = std::min(made, timeOf(slot, maker));
  bool isLast = true;
  forEachRead(value, [&](Time other) { isLast &= other <= time || other > made; });
  return isLast;
}

/// The operand in whose place the run at that time makes the value; none for none. Of the results
/// of as many bytes, the n-th gets the place of the n-th operand of as many that ends.
uint32_t Schedule::placeOf(uint32_t value, Time made) const {
  const Step &step = graph.makerOf(value);
  const std::vector<uint64_t> &bytes = graph.problem.bytes;
  size_t before = 0;
  for (uint32_t result : step.makes) {
    if (result == value)
      break;
    before += bytes[result] == bytes[value];
  }
  for (uint32_t operand : step.replaces)
    if (bytes[operand] == bytes[value] && ends(operand, made) && before-- == 0)
      return operand;
  return none;
}

bool Schedule::isFree(uint32_t value, Time made, uint32_t place) const {
  if (!graph.mayBeFree[value])
    return false;
  if (graph.isGiven(place))
    return true;
  uint32_t maker = graph.maker[place];
  Time from = timeOf(maker, maker);
  for (uint32_t slot : slotsOf[maker])
    if (timeOf(slot, maker) < made)
      from = timeOf(slot, maker);
  uint32_t next = placeOf(place, from);
  return next != none && isFree(place, from, next);
}

const Copy &Schedule::copyAt(uint32_t value, Time time) const {
  const std::vector<Copy> &list = copies[value];
  size_t i = list.size() - 1;
  while (i > 0 && list[i].made >= time)
    --i;
  return list[i];
}

Time Schedule::nextRead(uint32_t value, Time time) const {
  Time next = UINT64_MAX;
  forEachRead(value, [&](Time other) {
    if (other > time)
      next = std::min(next, other);
  });
  return next;
}

Time Schedule::lastUse(uint32_t value, Time time) const {
  Time last = copyAt(value, time).made;
  forEachRead(value, [&](Time other) {
    if (other <= time)
      last = std::max(last, other);
  });
  return last;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

void Schedule::touch(uint32_t slot) {
  if (!isTouched[slot])
    touched.push_back(slot);
  isTouched[slot] = 1;
}

void Schedule::settle() {
  for (uint32_t slot : touched) {
    int64_t most = INT64_MIN;
    for (const Run &run : runs[slot])
      most = std::max(most, run.over);
    level[slot] = base[slot] + most;
    isTouched[slot] = 0;
  }
  touched.clear();
}

void Schedule::addInSlot(uint32_t slot, uint32_t firstStep, uint32_t endStep, int64_t bytes) {
  for (Run &run : runs[slot])
    if (run.step >= firstStep && run.step < endStep)
      run.over += bytes;
  touch(slot);
}

void Schedule::addSpan(const Span &span) {
  uint32_t first = slotOf(span.from), last = slotOf(span.to);
  if (first == last) {
    addInSlot(first, stepOf(span.from), stepOf(span.to), span.bytes);
    return;
  }
  addInSlot(first, stepOf(span.from), UINT32_MAX, span.bytes);
  for (uint32_t slot = first + 1; slot < last; ++slot)
    base[slot] += span.bytes;
  for (uint32_t slot = first + 1; slot < last; ++slot)
    level[slot] += span.bytes;
  addInSlot(last, 0, stepOf(span.to), span.bytes);
}

/// Adds what is held by the copies of a value as they are now, and takes away what was held by the
/// old ones: where both hold it, nothing changes.
void Schedule::addDifference(std::span<const Copy> old, std::span<const Copy> now, int64_t bytes) {
  struct Edge {
    Time time;
    int64_t bytes;
  };
  Edge edges[32];
  std::vector<Edge> more; // where there are many copies
  size_t size = 2 * (old.size() + now.size());
  Edge *begin = edges;
  if (size > std::size(edges)) {
    more.resize(size);
    begin = more.data();
  }
  Edge *end = begin;
  auto add = [&](std::span<const Copy> list, int64_t sign) {
    for (const Copy &copy : list)
      if (!copy.isFree) {
        *end++ = {copy.made + (copy.inPlace ? 1 : 0), sign};
        *end++ = {copy.last + 1, -sign};
      }
  };
  add(old, -bytes);
  add(now, bytes);
  std::sort(begin, end, [](const Edge &a, const Edge &b) { return a.time < b.time; });
  int64_t height = 0;
  for (Edge *edge = begin; edge != end; ++edge) {
    height += edge->bytes;
    if (height != 0 && edge[1].time != edge->time)
      addSpan({edge->time, edge[1].time, height});
  }
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Holds what the run behind it holds, but for what that makes.
void Schedule::insertRun(Again again) {
  const Problem &problem = graph.problem;
  std::vector<Run> &slot = runs[again.before];
  auto next = std::ranges::lower_bound(slot, again.step, {}, &Run::step);
  int64_t over = next->over + int64_t(problem.steps[again.step].scratch);
  if (next->step < graph.numSteps) {
    const Step &behind = problem.steps[next->step];
    over -= int64_t(behind.scratch);
    Time time = timeOf(again.before, next->step);
    for (uint32_t value : behind.makes)
      for (const Copy &copy : copies[value])
        if (copy.made == time && !copy.inPlace)
          over -= graph.held[value];
  }
  slot.insert(next, {again.step, over});
  std::vector<uint32_t> &slots = slotsOf[again.step];
  slots.insert(std::ranges::lower_bound(slots, again.before), again.before);
  touch(again.before);
  seconds += problem.steps[again.step].seconds;
  ++count;
}

void Schedule::eraseRun(Again again) {
  std::vector<Run> &slot = runs[again.before];
  slot.erase(std::ranges::lower_bound(slot, again.step, {}, &Run::step));
  std::vector<uint32_t> &slots = slotsOf[again.step];
  slots.erase(std::ranges::lower_bound(slots, again.before));
  touch(again.before);
  seconds = --count == 0 ? 0 : seconds - graph.problem.steps[again.step].seconds;
}

void Schedule::apply(std::span<const Change> changes) {
  // What a new run holds is told from the copies as they were, and from the run behind it.
  for (const Change &change : changes)
    if (change.isAdded)
      insertRun(change.again);
  for (const Change &change : changes)
    if (!change.isAdded)
      eraseRun(change.again);
  ++stamps;
  for (const Change &change : changes)
    for (uint32_t value : graph.affected[change.again.step]) {
      if (stamp[value] == stamps)
        continue;
      stamp[value] = stamps;
      before.swap(copies[value]);
      findCopies(value, copies[value]);
      addDifference(before, copies[value], graph.held[value]);
    }
  settle();
}

void Schedule::revert(std::span<const Change> changes) {
  std::vector<Change> inverse;
  for (const Change &change : changes)
    inverse.push_back({change.again, !change.isAdded});
  std::ranges::sort(inverse, {}, [](const Change &change) {
    return std::tuple(change.again.before, change.again.step, change.isAdded);
  });
  // What came and went is as it was.
  std::vector<Change> net;
  for (size_t i = 0, end = 0; i < inverse.size(); i = end) {
    ptrdiff_t added = 0;
    for (; end < inverse.size() && inverse[end].again == inverse[i].again; ++end)
      added += inverse[end].isAdded ? 1 : -1;
    if (added != 0)
      net.push_back({inverse[i].again, added > 0});
  }
  apply(net);
}

bool Schedule::contains(Again again) const {
  return std::ranges::binary_search(slotsOf[again.step], again.before);
}

std::vector<Again> Schedule::repetitions() const {
  std::vector<Again> list;
  for (uint32_t slot = 0; slot <= graph.numSteps; ++slot)
    for (size_t i = 0; i + 1 < runs[slot].size(); ++i)
      list.push_back({runs[slot][i].step, slot});
  return list;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

uint64_t Schedule::peak() const {
  int64_t most = 0;
  for (int64_t bytes : level)
    most = std::max(most, bytes);
  return uint64_t(most);
}

double Schedule::excess(uint64_t limit) const {
  const int64_t most = int64_t(std::min(limit, uint64_t(INT64_MAX)));
  double sum = 0;
  for (int64_t bytes : level)
    if (bytes > most)
      sum += double(bytes - most);
  return sum;
}

Time Schedule::fullestRun(uint32_t slot) const {
  const Run *fullest = &runs[slot].front();
  for (const Run &run : runs[slot])
    if (run.over > fullest->over)
      fullest = &run;
  return timeOf(slot, fullest->step);
}

int64_t Schedule::levelAt(Time time) const {
  const std::vector<Run> &slot = runs[slotOf(time)];
  auto run = std::ranges::lower_bound(slot, stepOf(time), {}, &Run::step);
  return base[slotOf(time)] + run->over;
}

} // namespace gantry::remat
