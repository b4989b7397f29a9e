// The simulator: events in the order of time, then one pass over the values for memory.
#include "Simulator.h"

#include <algorithm>
#include <utility>

namespace gantry::placement {

Simulator::Simulator(const OrderedGraph &graph)
    : graph(graph), numDevices(graph.numDevices), numQueues(graph.problem.numQueues),
      starts(graph.numTasks()), ends(graph.numTasks()), rest(graph.numTasks()),
      restFrom(graph.numTasks()), restOf(numDevices), ready(size_t(graph.numValues()) * numDevices),
      inputsReady(graph.numTasks()), missing(graph.numTasks()), free(numDevices + numQueues),
      offers(numDevices + numQueues), tasksOn(numDevices), nextOn(numDevices), pending(numQueues),
      streams(numDevices), nextStream(numDevices), before(graph.numTasks()), turn(graph.numTasks()),
      lastCopy(numQueues), endsOf(graph.numValues()), numberOf(graph.numTasks()),
      startsOn(numDevices), changes(numDevices), lastCopied(graph.numValues(), noCopy),
      isTouched(numDevices), shared(size_t(graph.numBuffers) * numDevices), peaks(numDevices),
      copied(graph.problem.budgets.size()) {
  for (const AutoEnd &end : graph.ends)
    if (!graph.isConstant[end.value])
      endsOf[end.value].push_back(end.device);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Neither there nor on its way; on its way.
static constexpr double kAbsent = notAllowed, kComing = -1;

uint32_t Simulator::sourceOf(uint32_t value) const {
  return graph.maker[value] == noIndex ? graph.home[value] : devicesOfRun[graph.maker[value]];
}

/// Whether a constant is on the device before the step begins.
bool Simulator::isResident(uint32_t value, uint32_t device) const {
  return !decision->isStreamed(value) || graph.home[value] == device;
}

/// The longest way to the end: devices do one task after the other in their order, what is made
/// elsewhere is copied, and queues of copies are never busy. So no run is faster.
double Simulator::leastSeconds() {
  const std::vector<uint32_t> &devices = decision->devices;
  std::fill(restOf.begin(), restOf.end(), 0);
  for (uint32_t i = graph.numTasks(); i-- > 0;) {
    const uint32_t place = decision->order.empty() ? i : decision->order[i];
    const uint32_t device = devices[place];
    double most = restOf[device];
    for (uint32_t value : graph.outputs[place]) {
      for (uint32_t reader : graph.readers[value])
        most = std::max(most, restFrom[reader] + graph.copySeconds(value, device, devices[reader]));
      for (uint32_t end : endsOf[value])
        most = std::max(most, graph.copySeconds(value, device, end));
    }
    rest[place] = most;
    restFrom[place] = restOf[device] = most + graph.secondsOn(place, device);
  }
  return *std::max_element(restOf.begin(), restOf.end());
}

/// Constants come one after the other, by their first readers.
double Simulator::leastSecondsOfStreams() const {
  double most = 0;
  for (uint32_t d = 0; d < numDevices; ++d) {
    double sum = 0;
    for (const Streamed &stream : streams[d]) {
      const AutoLink &link = graph.problem.link(graph.home[stream.value], d);
      sum += static_cast<double>(graph.bytes[stream.value]) * link.secondsPerByte;
      most = std::max(most, link.latency + sum + restFrom[tasksOn[d][stream.firstReader]]);
    }
  }
  return most;
}

void Simulator::reset() {
  devicesOfRun = decision->devices;
  std::fill(ready.begin(), ready.end(), kAbsent);
  std::fill(inputsReady.begin(), inputsReady.end(), 0);
  std::fill(free.begin(), free.end(), 0);
  std::fill(offers.begin(), offers.end(), notAllowed);
  std::fill(nextOn.begin(), nextOn.end(), 0);
  std::fill(nextStream.begin(), nextStream.end(), 0);
  std::fill(lastCopy.begin(), lastCopy.end(), noCopy);
  std::fill(copied.begin(), copied.end(), 0);
  for (std::vector<Pending> &heap : pending)
    heap.clear();
  for (uint32_t d = 0; d < numDevices; ++d) {
    tasksOn[d].clear();
    startsOn[d].clear();
    streams[d].clear();
  }
  copyBytes = 0;
  finish = 0;
  turns = 0;
  for (uint32_t i = 0; i < graph.numTasks(); ++i) {
    const uint32_t place = decision->order.empty() ? i : decision->order[i];
    uint32_t device = devicesOfRun[place];
    turn[place] = i;
    numberOf[place] = static_cast<uint32_t>(tasksOn[device].size());
    before[place] = numberOf[place] ? tasksOn[device].back() : noIndex;
    tasksOn[device].push_back(place);
    missing[place] = 0;
    for (uint32_t value : graph.inputs[place])
      missing[place] += !graph.isConstant[value] || !isResident(value, device);
  }
}

/// Seconds for other layouts of what the task is the first to read there, and of what it makes for
/// others.
double Simulator::turningBefore(uint32_t place) const {
  const uint32_t device = devicesOfRun[place];
  double sum = 0;
  for (uint32_t value : graph.inputs[place])
    if (double seconds = graph.turningOf(value, device);
        seconds > 0 && sourceOf(value) != device &&
        std::none_of(graph.readers[value].begin(), graph.readers[value].end(), [&](uint32_t other) {
          return devicesOfRun[other] == device && numberOf[other] < numberOf[place];
        }))
      sum += seconds;
  for (uint32_t value : graph.outputs[place])
    if (double seconds = graph.turningOf(value, device);
        seconds > 0 &&
        (std::any_of(graph.readers[value].begin(), graph.readers[value].end(),
                     [&](uint32_t other) { return devicesOfRun[other] != device; }) ||
         std::any_of(endsOf[value].begin(), endsOf[value].end(),
                     [&](uint32_t end) { return end != device; })))
      sum += seconds;
  return sum;
}

/// The device's next task can start, or cannot yet.
void Simulator::offerTask(uint32_t device) {
  const std::vector<uint32_t> &tasks = tasksOn[device];
  uint32_t next = nextOn[device];
  bool isReady = next < tasks.size() && missing[tasks[next]] == 0;
  offers[device] = isReady ? std::max(free[device], inputsReady[tasks[next]]) : notAllowed;
}

void Simulator::offerCopy(uint32_t queue) {
  const std::vector<Pending> &heap = pending[queue];
  uint32_t at = numDevices + queue;
  offers[at] = heap.empty() ? notAllowed : std::max(free[at], heap.front().ready);
}

/// Who starts first; devices before queues, as what is made comes before its copy.
uint32_t Simulator::nextOffer() const {
  auto first = std::min_element(offers.begin(), offers.end());
  return *first == notAllowed ? noIndex : static_cast<uint32_t>(first - offers.begin());
}

/// The value is on the device from then on: its readers there wait for one operand less.
void Simulator::appear(uint32_t value, uint32_t device, double time) {
  readyAt(value, device) = time;
  for (uint32_t reader : graph.readers[value])
    if (devicesOfRun[reader] == device) {
      inputsReady[reader] = std::max(inputsReady[reader], time);
      --missing[reader];
    }
  offerTask(device);
}

/// Copies the value to all who want it elsewhere, as soon as it is there.
void Simulator::send(uint32_t value, uint32_t from, double time) {
  for (uint32_t reader : graph.readers[value])
    sendTo(value, from, devicesOfRun[reader], time);
  for (uint32_t device : endsOf[value])
    sendTo(value, from, device, time);
}

void Simulator::sendTo(uint32_t value, uint32_t from, uint32_t to, double time, uint32_t gate) {
  double &there = readyAt(value, to);
  if (from == to || there != kAbsent)
    return;
  there = kComing;
  uint32_t queue = graph.problem.link(from, to).queue;
  pending[queue].push_back({time, turns++, value, from, to, gate});
  std::push_heap(pending[queue].begin(), pending[queue].end());
  offerCopy(queue);
}

/// Which constants each device gets in the step, in the order in which it needs them.
void Simulator::collectStreams() {
  for (uint32_t value : graph.constants) {
    if (!decision->isStreamed(value))
      continue;
    for (uint32_t reader : graph.readers[value])
      if (uint32_t device = devicesOfRun[reader]; device != graph.home[value]) {
        const uint32_t number = numberOf[reader];
        if (std::exchange(readyAt(value, device), kComing) == kAbsent)
          streams[device].push_back({number, number, value, 0});
        Streamed &stream = streams[device].back();
        stream.firstReader = std::min(stream.firstReader, number);
        stream.lastReader = std::max(stream.lastReader, number);
      }
  }
  for (uint32_t d = 0; d < numDevices; ++d) {
    std::stable_sort(
        streams[d].begin(), streams[d].end(),
        [](const Streamed &a, const Streamed &b) { return a.firstReader < b.firstReader; });
    for (const Streamed &stream : streams[d])
      readyAt(stream.value, d) = kAbsent;
  }
}

void Simulator::beginStreams() {
  hasStreams = true;
  findRoomByOrder();
  for (uint32_t d = 0; d < numDevices; ++d) {
    if (graph.problem.limits[d])
      gateStreams(d);
    sendStreams(d, 0, 0, noIndex);
  }
}

/// Changes of what lives on each device, without what is streamed, as far as the order tells: what
/// comes from another device comes when that has made it.
void Simulator::findRoomByOrder() {
  std::fill(peaks.begin(), peaks.end(), 0);
  for (uint32_t value : graph.constants)
    countConstant(value);
  for (uint32_t d = 0; d < numDevices; ++d)
    changes[d].assign(slotOf(uint32_t(tasksOn[d].size())) + 2, 0);
  for (uint32_t value = 0; value < graph.numValues(); ++value) {
    if (graph.isConstant[value])
      continue;
    const uint32_t maker = graph.maker[value], source = sourceOf(value);
    uint32_t last = maker == noIndex ? 0 : slotOf(numberOf[maker]);
    touched.clear();
    for (uint32_t reader : graph.readers[value]) {
      const uint32_t device = devicesOfRun[reader];
      if (device == source)
        last = std::max(last, slotOf(numberOf[reader]));
      else if (std::find(touched.begin(), touched.end(), device) == touched.end())
        touched.push_back(device);
    }
    if (maker != noIndex)
      addMade(value, source, last, !touched.empty());
    for (uint32_t device : touched) {
      const std::vector<uint32_t> &tasks = tasksOn[device];
      const auto first = std::partition_point(tasks.begin(), tasks.end(), [&](uint32_t place) {
        return maker != noIndex && turn[place] < turn[maker];
      });
      addLive(device, slotOf(uint32_t(first - tasks.begin())), slotOf(lastReader(value, device)),
              graph.bytes[value]);
    }
  }
  addShared();
}

/// As early as there is room from then on to its last reader, one after the other.
void Simulator::gateStreams(uint32_t device) {
  const uint64_t limit = graph.problem.limits[device], resident = peaks[device];
  // Less of the room is free where the number is larger.
  uint32_t spare = decision->spare.empty() ? 0 : decision->spare[device];
  if (const std::vector<uint32_t> &least = graph.problem.leastSpare;
      !least.empty() && least[device])
    spare = spare ? std::min(spare, least[device]) : least[device];
  uint64_t room = limit - std::min(limit, resident);
  room -= spare ? room / spare : 0;
  taken.clear();
  int64_t live = 0;
  for (size_t slot = 0; slot < changes[device].size(); ++slot) {
    live += changes[device][slot];
    if (slot % 2) // of a task, and the time after it, where nothing begins by the order alone
      taken.push_back(static_cast<uint64_t>(live));
  }
  uint32_t last = 0;
  for (Streamed &stream : streams[device]) {
    const uint64_t bytes = graph.bytes[stream.value];
    uint32_t first = stream.firstReader;
    while (first > last && taken[first - 1] + bytes <= room)
      --first;
    for (uint32_t number = first; number <= stream.lastReader; ++number)
      taken[number] += bytes;
    stream.gate = last = first;
  }
}

/// Lets those go that there is room for.
void Simulator::sendStreams(uint32_t device, uint32_t numDone, double time, uint32_t gate) {
  const std::vector<Streamed> &list = streams[device];
  for (uint32_t &next = nextStream[device]; next < list.size(); ++next) {
    if (list[next].gate > numDone)
      return;
    sendTo(list[next].value, graph.home[list[next].value], device, time, gate);
  }
}

/// Starts the device's next task; gives its end.
double Simulator::startTask(uint32_t device) {
  uint32_t place = tasksOn[device][nextOn[device]++];
  double start = offers[device], end = start + graph.secondsOn(place, device);
  if (!graph.turning.empty())
    end += turningBefore(place);
  ++started;
  starts[place] = start;
  ends[place] = free[device] = end;
  startsOn[device].push_back(start);
  finish = std::max(finish, end);
  for (uint32_t value : graph.outputs[place]) {
    appear(value, device, end);
    send(value, device, end);
  }
  if (!streams[device].empty())
    sendStreams(device, nextOn[device], end, place);
  offerTask(device);
  return end + rest[place];
}

/// The copy that is ready first, and small ones that could start with it: all are there when the
/// last one's bytes are.
void Simulator::startTransfer(uint32_t queue) {
  std::vector<Pending> &heap = pending[queue];
  double &queueFree = free[numDevices + queue];
  const double start = offers[numDevices + queue];
  const Pending lead = heap.front();
  const AutoLink &link = graph.problem.link(lead.from, lead.to);
  const size_t first = copies.size();
  double sum = 0;
  auto mayGo = [&](const Pending &next) {
    return copies.size() == first ||
           (next.from == lead.from && next.to == lead.to && next.ready <= start &&
            sum + static_cast<double>(graph.bytes[next.value]) * link.secondsPerByte <=
                link.latency);
  };
  while (!heap.empty() && mayGo(heap.front())) {
    const Pending next = heap.front();
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    sum += static_cast<double>(graph.bytes[next.value]) * link.secondsPerByte;
    bool joins = copies.size() > first;
    copies.push_back({next.value, next.from, next.to, start, 0, lastCopy[queue], next.gate, joins});
    lastCopy[queue] = static_cast<uint32_t>(copies.size() - 1);
    copyBytes += graph.bytes[next.value];
    if (link.budget != noIndex)
      copied[link.budget] += graph.copiedBytes[next.value];
  }
  queueFree = start + link.latency + sum;
  finish = std::max(finish, queueFree);
  for (size_t i = first; i < copies.size(); ++i) {
    copies[i].end = queueFree;
    appear(copies[i].value, copies[i].to, queueFree);
  }
  offerCopy(queue);
}

uint64_t Simulator::bytesOverBudgets() const {
  uint64_t over = 0;
  for (size_t b = 0; b < copied.size(); ++b)
    over += copied[b] - std::min(copied[b], graph.problem.budgets[b]);
  return over;
}

Score Simulator::run(const Assignment &asked, const Score *toBeat) {
  // Limits and budgets matter only where time does not decide.
  double tooLate = toBeat && !toBeat->overflow ? toBeat->seconds * (1 + kSame) : notAllowed;
  decision = &asked;
  started = 0;
  hasStreams = false;
  copies.clear();
  if (tooLate != notAllowed && leastSeconds() > tooLate)
    return hopeless;
  reset();
  if (!asked.streamed.empty()) {
    collectStreams();
    if (tooLate != notAllowed && leastSecondsOfStreams() > tooLate)
      return hopeless;
  }
  for (uint32_t v = 0; v < graph.numValues(); ++v)
    if (graph.maker[v] == noIndex && !graph.isConstant[v]) {
      appear(v, graph.home[v], 0);
      send(v, graph.home[v], 0);
    }
  if (!asked.streamed.empty())
    beginStreams();
  for (uint32_t d = 0; d < numDevices; ++d)
    offerTask(d);
  for (uint32_t next = nextOffer(); next != noIndex; next = nextOffer())
    if (next >= numDevices)
      startTransfer(next - numDevices);
    else if (startTask(next) > tooLate)
      return hopeless;
  std::fill(peaks.begin(), peaks.end(), 0);
  for (uint32_t d = 0; d < numDevices; ++d)
    if (nextOn[d] != tasksOn[d].size())
      finish = notAllowed; // a task that may not run there has no end
  Score score{bytesOverBudgets(), finish, copyBytes};
  if (finish == notAllowed || finish > tooLate || (toBeat && score.overflow > toBeat->overflow))
    return hopeless;
  countMemory();
  for (uint32_t d = 0; d < numDevices; ++d)
    score.overflow += overflow(d);
  return score;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The slot of a device that begins at `time` or before.
uint32_t Simulator::slotFrom(uint32_t device, double time) const {
  const std::vector<double> &starts = startsOn[device];
  const auto after = std::upper_bound(starts.begin(), starts.end(), time) - starts.begin();
  if (after == 0)
    return 0;
  const auto number = static_cast<uint32_t>(after - 1);
  return slotOf(number) + (time >= ends[tasksOn[device][number]]);
}

/// The one that begins before `time`.
uint32_t Simulator::slotUntil(uint32_t device, double time) const {
  const std::vector<double> &starts = startsOn[device];
  const auto after = std::lower_bound(starts.begin(), starts.end(), time) - starts.begin();
  if (after == 0)
    return 0;
  const auto number = static_cast<uint32_t>(after - 1);
  return slotOf(number) + (time > ends[tasksOn[device][number]]);
}

/// Plans lay out memory by the predicted times: a value lives from the start of what makes or
/// brings it to the end of what reads it, copies to elsewhere included. Of each device it is enough
/// to look at its own tasks and at the times between them.
void Simulator::countMemory() {
  const std::vector<uint32_t> &devices = devicesOfRun;
  for (uint32_t d = 0; d < numDevices; ++d)
    changes[d].assign(slotOf(uint32_t(startsOn[d].size())) + 2, 0);
  for (const Copy &copy : copies) {
    uint32_t &last = lastCopied[copy.value];
    const uint32_t slot = slotUntil(copy.from, copy.end);
    last = last == noCopy ? slot : std::max(last, slot);
  }
  for (uint32_t value = 0; value < graph.numValues(); ++value) {
    uint32_t maker = graph.maker[value];
    if (graph.isConstant[value]) {
      lastCopied[value] = noCopy;
      countConstant(value);
      continue;
    }
    if (maker == noIndex) {
      lastCopied[value] = noCopy;
      continue;
    }
    const uint32_t source = devices[maker];
    const uint32_t lastCopy = std::exchange(lastCopied[value], noCopy);
    uint32_t last = slotOf(numberOf[maker]);
    if (lastCopy != noCopy)
      last = std::max(last, lastCopy);
    for (uint32_t place : graph.readers[value])
      if (devices[place] == source)
        last = std::max(last, slotOf(numberOf[place]));
    addMade(value, source, last, lastCopy != noCopy);
  }
  addShared();
  for (const Copy &copy : copies) {
    // Brought for its readers there; copies to where results are wanted go into the caller's
    // memory.
    const uint32_t last = lastReader(copy.value, copy.to);
    if (last != noIndex)
      addLive(copy.to, slotFrom(copy.to, copy.start), slotOf(last), graph.bytes[copy.value]);
  }
  addLargestSums();
}

/// For good, so it comes on top of whatever is live.
void Simulator::countConstant(uint32_t value) {
  touched.clear();
  for (uint32_t place : graph.readers[value]) {
    // What is streamed stays at its home.
    uint32_t device = decision->isStreamed(value) ? graph.home[value] : devicesOfRun[place];
    if (!isTouched[device]) {
      isTouched[device] = 1;
      touched.push_back(device);
      peaks[device] += graph.bytes[value];
    }
  }
  for (uint32_t device : touched)
    isTouched[device] = 0;
}

bool Simulator::isMadeForCaller(uint32_t value, uint32_t device) const {
  const std::vector<uint32_t> &ends = endsOf[value];
  return std::find(ends.begin(), ends.end(), device) != ends.end();
}

/// A value where it is made. What is copied from there may be in use by the copy while the next one
/// would already be written in its place.
void Simulator::addMade(uint32_t value, uint32_t device, uint32_t last, bool isCopied) {
  if (isMadeForCaller(value, device))
    return;
  const uint32_t first = slotOf(numberOf[graph.maker[value]]);
  if (graph.buffer[value] == noIndex || (isCopied && !graph.isPart[value]))
    return addLive(device, first, last, graph.bytes[value]);
  Shared &one = shared[graph.buffer[value] * numDevices + device];
  one.first = std::min(one.first, first);
  one.last = std::max(one.last, last);
  one.bytes = std::max(one.bytes, graph.bytes[value]);
}

void Simulator::addShared() {
  for (size_t i = 0; i < shared.size(); ++i)
    if (Shared one = std::exchange(shared[i], {}); one.bytes)
      addLive(static_cast<uint32_t>(i % numDevices), one.first, one.last, one.bytes);
}

/// The number of the last task on the device that reads the value, or noIndex.
uint32_t Simulator::lastReader(uint32_t value, uint32_t device) const {
  uint32_t last = noIndex;
  for (uint32_t place : graph.readers[value])
    if (devicesOfRun[place] == device)
      last = last == noIndex ? numberOf[place] : std::max(last, numberOf[place]);
  return last;
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
      else if (at.gate != noIndex && ends[at.gate] == at.start)
        place = at.gate;
      else if (at.before != noCopy && (at.joined || copies[at.before].end == at.start))
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
    if (ready[size_t(value) * numDevices + device] != start)
      continue;
    uint32_t source = sourceOf(value);
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
    if (double time = ready[size_t(value) * numDevices + device];
        time != kAbsent && time >= starts[place])
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
  Simulator simulator(graph);
  simulator.run(graph.assignmentOf(placement));
  return simulator.schedule();
}

} // namespace gantry::placement
