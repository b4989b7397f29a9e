// The simulator: one pass over the tasks for times, one over the values for memory.
#include "Simulator.h"

#include <algorithm>
#include <utility>

namespace gantry::placement {

Simulator::Simulator(const OrderedGraph &graph)
    : graph(graph), numDevices(graph.numDevices), starts(graph.numTasks()), ends(graph.numTasks()),
      rest(graph.numTasks()), ready(size_t(graph.numValues()) * numDevices), deviceFree(numDevices),
      before(graph.numTasks()), lastOn(numDevices), queueFree(graph.problem.numQueues),
      transfers(graph.problem.numQueues), lastCopy(graph.problem.numQueues),
      numberOf(graph.numTasks()), startsOn(numDevices), changes(numDevices),
      lastCopied(graph.numValues()), lastRead(numDevices), isTouched(numDevices),
      livesToEnd(graph.numValues()), peaks(numDevices), copied(graph.problem.budgets.size()) {
  // Results live to the end of the step where they are made.
  for (const AutoEnd &end : graph.ends)
    livesToEnd[end.value] = 1;
  for (uint32_t place = graph.numTasks(); place-- > 0;)
    for (uint32_t value : graph.outputs[place])
      for (uint32_t reader : graph.readers[value]) {
        std::span<const double> seconds = graph.secondsOf(reader);
        rest[place] =
            std::max(rest[place], rest[reader] + *std::min_element(seconds.begin(), seconds.end()));
      }
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

void Simulator::openValue(uint32_t value, uint32_t device, double time) {
  std::fill_n(ready.begin() + size_t(value) * numDevices, numDevices, notAllowed);
  readyAt(value, device) = time;
}

/// When the value is on `to`; queues a copy unless there is one.
double Simulator::fetch(uint32_t value, uint32_t from, uint32_t to) {
  double &there = readyAt(value, to);
  if (there != notAllowed)
    return there;
  const AutoLink &link = graph.problem.link(from, to);
  double seconds = static_cast<double>(graph.bytes[value]) * link.secondsPerByte;
  Transfer &transfer = transfers[link.queue];
  double &free = queueFree[link.queue];
  bool joins = transfer.from == from && transfer.to == to &&
               readyAt(value, from) <= transfer.start && transfer.seconds + seconds <= link.latency;
  if (joins) {
    transfer.seconds += seconds;
    there = free + seconds;
  } else {
    transfer = {from, to, std::max(readyAt(value, from), free), seconds};
    there = transfer.start + link.latency + seconds;
  }
  free = there;
  copies.push_back({value, from, to, transfer.start, there, lastCopy[link.queue], joins});
  lastCopy[link.queue] = static_cast<uint32_t>(copies.size() - 1);
  copyBytes += graph.bytes[value];
  if (link.budget != noIndex)
    copied[link.budget] += graph.copiedBytes[value];
  return there;
}

uint64_t Simulator::bytesOverBudgets() const {
  uint64_t over = 0;
  for (size_t b = 0; b < copied.size(); ++b)
    over += copied[b] - std::min(copied[b], graph.problem.budgets[b]);
  return over;
}

uint32_t Simulator::sourceOf(uint32_t value, std::span<const uint32_t> devices) const {
  return graph.maker[value] == noIndex ? graph.home[value] : devices[graph.maker[value]];
}

Score Simulator::run(std::span<const uint32_t> devices, const Score *toBeat) {
  // Limits and budgets matter only where time does not decide.
  double tooLate = toBeat && !toBeat->overflow ? toBeat->seconds * (1 + kSame) : notAllowed;
  devicesOfRun.assign(devices.begin(), devices.end());
  std::fill(deviceFree.begin(), deviceFree.end(), 0);
  std::fill(lastOn.begin(), lastOn.end(), noIndex);
  std::fill(queueFree.begin(), queueFree.end(), 0);
  std::fill(transfers.begin(), transfers.end(), Transfer());
  std::fill(lastCopy.begin(), lastCopy.end(), noCopy);
  std::fill(copied.begin(), copied.end(), 0);
  for (std::vector<double> &list : startsOn)
    list.clear();
  copies.clear();
  copyBytes = 0;
  finish = 0;
  for (uint32_t v = 0; v < graph.numValues(); ++v)
    if (graph.maker[v] == noIndex && !graph.isConstant[v])
      openValue(v, graph.home[v], 0);

  for (uint32_t place = 0; place < graph.numTasks(); ++place) {
    uint32_t device = devices[place];
    double start = deviceFree[device];
    for (uint32_t value : graph.inputs[place])
      if (!graph.isConstant[value])
        start = std::max(start, fetch(value, sourceOf(value, devices), device));
    double end = start + graph.secondsOf(place)[device];
    if (end + rest[place] > tooLate)
      return hopeless;
    starts[place] = start;
    ends[place] = end;
    numberOf[place] = static_cast<uint32_t>(startsOn[device].size());
    startsOn[device].push_back(start);
    deviceFree[device] = end;
    before[place] = lastOn[device];
    lastOn[device] = place;
    for (uint32_t value : graph.outputs[place])
      openValue(value, device, end);
    finish = std::max(finish, end);
  }
  for (const AutoEnd &end : graph.ends)
    if (!graph.isConstant[end.value])
      finish = std::max(finish, fetch(end.value, sourceOf(end.value, devices), end.device));
  Score score{bytesOverBudgets(), finish, copyBytes};
  if (finish > tooLate || (toBeat && score.overflow > toBeat->overflow))
    return hopeless;
  countMemory(devices);
  for (uint32_t d = 0; d < numDevices; ++d)
    if (uint64_t limit = graph.problem.limits[d]; limit && peaks[d] > limit)
      score.overflow += peaks[d] - limit;
  return score;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Number, among the tasks of the device, of the last one that starts before `time` or then; 0 when
/// none does. Its end is not asked for: what a device idles is counted to the task before.
uint32_t Simulator::numberAt(uint32_t device, double time) const {
  const std::vector<double> &starts = startsOn[device];
  auto after = std::upper_bound(starts.begin(), starts.end(), time);
  return after == starts.begin() ? 0 : static_cast<uint32_t>(after - starts.begin() - 1);
}

/// Plans lay out memory by the predicted times: a value lives from the start of what makes or
/// brings it to the end of what reads it, copies to elsewhere included. Of each device it is enough
/// to look at its own tasks, by number.
void Simulator::countMemory(std::span<const uint32_t> devices) {
  std::fill(peaks.begin(), peaks.end(), 0);
  for (uint32_t d = 0; d < numDevices; ++d)
    changes[d].assign(startsOn[d].size() + 2, 0);
  for (const Copy &copy : copies) {
    uint32_t &last = lastCopied[copy.value];
    last = std::max(last, numberAt(copy.from, copy.end));
  }
  for (uint32_t value = 0; value < graph.numValues(); ++value) {
    uint32_t maker = graph.maker[value];
    if (graph.isConstant[value]) {
      countConstant(value, devices);
      continue;
    }
    uint32_t source = sourceOf(value, devices);
    uint32_t last = std::exchange(lastCopied[value], 0);
    for (uint32_t place : graph.readers[value]) // the last of each device stays
      lastRead[devices[place]] = numberOf[place];
    for (uint32_t place : graph.readers[value])
      if (devices[place] == source)
        last = std::max(last, lastRead[source]);
    if (maker != noIndex)
      addLive(source, numberOf[maker],
              livesToEnd[value] ? static_cast<uint32_t>(startsOn[source].size() - 1)
                                : std::max(last, numberOf[maker]),
              graph.bytes[value]);
  }
  for (const Copy &copy : copies) {
    // Brought for its readers there; copies to where results are wanted go into the caller's
    // memory.
    uint32_t last = noIndex;
    for (uint32_t place : graph.readers[copy.value])
      if (devices[place] == copy.to)
        last = numberOf[place];
    if (last != noIndex)
      addLive(copy.to, numberAt(copy.to, copy.start), last, graph.bytes[copy.value]);
  }
  addLargestSums();
}

/// For good, so it comes on top of whatever is live.
void Simulator::countConstant(uint32_t value, std::span<const uint32_t> devices) {
  touched.clear();
  for (uint32_t place : graph.readers[value])
    if (uint32_t device = devices[place]; !isTouched[device]) {
      isTouched[device] = 1;
      touched.push_back(device);
      peaks[device] += graph.bytes[value];
    }
  for (uint32_t device : touched)
    isTouched[device] = 0;
}

void Simulator::addLive(uint32_t device, uint32_t first, uint32_t last, uint64_t bytes) {
  changes[device][std::min(first, last)] += static_cast<int64_t>(bytes);
  changes[device][last + 1] -= static_cast<int64_t>(bytes);
}

void Simulator::addLargestSums() {
  for (uint32_t d = 0; d < numDevices; ++d) {
    int64_t live = 0, most = 0;
    for (int64_t change : changes[d])
      most = std::max(most, live += change);
    peaks[d] += static_cast<uint64_t>(most);
  }
}

//===----------------------------------------------------------------------===//
// What was played
//===----------------------------------------------------------------------===//

/// The copy that brought the value there at that time, or none when it was made there.
uint32_t Simulator::copyTo(uint32_t value, uint32_t device) const {
  auto found = std::find_if(copies.begin(), copies.end(), [&](const Copy &copy) {
    return copy.value == value && copy.to == device;
  });
  return found == copies.end() ? noCopy : static_cast<uint32_t>(found - copies.begin());
}

std::vector<uint32_t> Simulator::criticalPlaces() const {
  std::vector<uint32_t> path;
  // Times are taken over, never computed anew, so what was waited for ended at exactly that time.
  uint32_t place = noIndex, copy = noCopy;
  for (uint32_t p = 0; p < graph.numTasks(); ++p)
    if (ends[p] == finish)
      place = p;
  if (place == noIndex)
    for (uint32_t c = 0; c < copies.size(); ++c)
      if (copies[c].end == finish)
        copy = c;
  while (place != noIndex || copy != noCopy) {
    if (copy != noCopy) {
      const Copy &at = copies[copy];
      uint32_t maker = graph.maker[at.value];
      copy = noCopy;
      place = noIndex;
      if (maker != noIndex && ends[maker] == at.start)
        place = maker;
      else if (at.before != noCopy && copies[at.before].end == at.start)
        copy = at.before;
      continue;
    }
    path.push_back(place);
    std::tie(place, copy) = waitedFor(place);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

/// The task or copy whose end let the task at `place` start.
std::pair<uint32_t, uint32_t> Simulator::waitedFor(uint32_t place) const {
  double start = starts[place];
  if (start == 0)
    return {noIndex, noCopy};
  uint32_t device = devicesOfRun[place];
  for (uint32_t value : graph.inputs[place]) {
    if (graph.isConstant[value] || ready[size_t(value) * numDevices + device] != start)
      continue;
    uint32_t source = sourceOf(value, devicesOfRun);
    if (source != device)
      return {noIndex, copyTo(value, device)};
    if (graph.maker[value] != noIndex)
      return {graph.maker[value], noCopy};
  }
  return {before[place], noCopy};
}

bool Simulator::waitsForDevice(uint32_t place) const {
  uint32_t device = devicesOfRun[place];
  for (uint32_t value : graph.inputs[place])
    if (!graph.isConstant[value] && ready[size_t(value) * numDevices + device] >= starts[place])
      return false;
  return starts[place] > 0;
}

AutoSchedule Simulator::schedule() const {
  AutoSchedule result;
  result.start.resize(graph.numTasks());
  result.end.resize(graph.numTasks());
  for (uint32_t place = 0; place < graph.numTasks(); ++place) {
    result.start[graph.taskAt[place]] = starts[place];
    result.end[graph.taskAt[place]] = ends[place];
  }
  for (const Copy &copy : copies)
    result.copies.push_back(
        {graph.originalValue[copy.value], copy.from, copy.to, copy.start, copy.end, copy.joined});
  result.peaks = peaks;
  result.seconds = finish;
  result.copyBytes = copyBytes;
  for (uint32_t place : criticalPlaces())
    result.criticalPath.push_back(graph.taskAt[place]);
  return result;
}

bool fitsMemory(const AutoProblem &problem, const AutoSchedule &schedule) {
  for (uint32_t d = 0; d < problem.numDevices(); ++d)
    if (problem.limits[d] && schedule.peaks[d] > problem.limits[d])
      return false;
  return true;
}

bool fitsBudgets(const AutoProblem &problem, const AutoSchedule &schedule) {
  std::vector<uint64_t> left = problem.budgets;
  for (const AutoCopy &copy : schedule.copies)
    if (uint32_t budget = problem.link(copy.from, copy.to).budget; budget != noIndex) {
      uint64_t bytes = problem.values[copy.value].bytes;
      if (bytes > left[budget])
        return false;
      left[budget] -= bytes;
    }
  return true;
}

AutoSchedule simulate(const AutoProblem &problem, const AutoPlacement &placement) {
  OrderedGraph graph(problem, placement.order);
  std::vector<uint32_t> devices;
  for (uint32_t task : placement.order)
    devices.push_back(placement.devices[task]);
  Simulator simulator(graph);
  simulator.run(devices);
  return simulator.schedule();
}

} // namespace gantry::placement
