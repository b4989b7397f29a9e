// The starts: one device, contiguous pieces, list scheduling.
#include "Starts.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace gantry::placement {

namespace {
/// Seconds of an atom on a device; notAllowed when one of its tasks is not.
double atomSeconds(const OrderedGraph &graph, uint32_t atom, uint32_t device) {
  double sum = 0;
  for (uint32_t place : graph.atoms[atom])
    sum += graph.secondsOn(place, device);
  return sum;
}

/// The atom's wish, or the device that is fastest for it.
uint32_t allowedDevice(const OrderedGraph &graph, uint32_t atom, uint32_t wish) {
  if (atomSeconds(graph, atom, wish) != notAllowed)
    return wish;
  uint32_t best = 0;
  for (uint32_t d = 1; d < graph.numDevices; ++d)
    if (atomSeconds(graph, atom, d) < atomSeconds(graph, atom, best))
      best = d;
  return best;
}

uint64_t limitOf(const OrderedGraph &graph, uint32_t device, double part) {
  uint64_t limit = graph.problem.limits[device];
  return limit ? static_cast<uint64_t>(static_cast<double>(limit) * part) : UINT64_MAX;
}
} // namespace

std::vector<uint32_t> startOnOne(const OrderedGraph &graph, uint32_t device) {
  std::vector<uint32_t> devices(graph.numTasks());
  for (uint32_t atom = 0; atom < graph.atoms.size(); ++atom)
    for (uint32_t place : graph.atoms[atom])
      devices[place] = allowedDevice(graph, atom, device);
  return devices;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

namespace {
/// What the cuts between places would copy, and what is live at each place if all were on one
/// device. Cut i lies before place i.
struct Cuts {
  explicit Cuts(const OrderedGraph &graph)
      : bytes(graph.numTasks() + 1), counts(graph.numTasks() + 1), live(graph.numTasks()) {
    std::vector<int64_t> liveChange(graph.numTasks() + 1), bytesChange(graph.numTasks() + 1),
        countChange(graph.numTasks() + 1);
    for (uint32_t value = 0; value < graph.numValues(); ++value) {
      if (graph.isConstant[value])
        continue;
      std::span<const uint32_t> readers = graph.readers[value];
      uint32_t maker = graph.maker[value];
      if (maker == noIndex && readers.empty())
        continue;
      uint32_t first = maker == noIndex ? readers.front() : maker;
      uint32_t last = readers.empty() ? first : readers.back();
      auto size = static_cast<int64_t>(graph.bytes[value]);
      liveChange[first] += size;
      liveChange[last + 1] -= size;
      bytesChange[first] += size; // crosses cuts first + 1 .. last
      bytesChange[last] -= size;
      ++countChange[first];
      --countChange[last];
    }
    int64_t liveNow = 0, bytesNow = 0, countNow = 0;
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      liveNow += liveChange[place];
      live[place] = static_cast<uint64_t>(liveNow);
      bytesNow += bytesChange[place];
      countNow += countChange[place];
      bytes[place + 1] = static_cast<double>(bytesNow);
      counts[place + 1] = static_cast<double>(countNow);
    }
  }
  std::vector<double> bytes, counts; ///< by cut
  std::vector<uint64_t> live;        ///< by place
};

/// By place: the first cut from which a piece that ends with this place fits into `limit`. Tied
/// constants count at their first reader alone.
std::vector<uint32_t> firstCutThatFits(const OrderedGraph &graph, const Cuts &cuts, uint64_t limit,
                                       const std::vector<char> &isTied) {
  auto counts = [&](uint32_t value, uint32_t place) {
    return graph.isConstant[value] &&
           (isTied.empty() || !isTied[value] || graph.readers[value].front() == place);
  };
  std::vector<uint32_t> result(graph.numTasks());
  std::vector<uint32_t> users(graph.numValues()); ///< of constants, inside the window
  std::deque<uint32_t> mostLive;                  ///< places, by falling live bytes
  uint64_t constants = 0;
  uint32_t first = 0;
  for (uint32_t place = 0; place < graph.numTasks(); ++place) {
    for (uint32_t value : graph.inputs[place])
      if (counts(value, place) && users[value]++ == 0)
        constants += graph.bytes[value];
    while (!mostLive.empty() && cuts.live[mostLive.back()] <= cuts.live[place])
      mostLive.pop_back();
    mostLive.push_back(place);
    while (first <= place && constants + cuts.live[mostLive.front()] > limit) {
      for (uint32_t value : graph.inputs[first])
        if (counts(value, first) && --users[value] == 0)
          constants -= graph.bytes[value];
      if (mostLive.front() == first)
        mostLive.pop_front();
      ++first;
    }
    result[place] = first;
  }
  return result;
}
} // namespace

namespace {
/// Dynamic programming over cuts: the least seconds for the first i tasks on the first j devices.
class PieceCutter {
public:
  PieceCutter(const OrderedGraph &graph, const std::vector<uint32_t> &sequence, PieceParts parts,
              const std::vector<char> &isTied)
      : graph(graph), sequence(sequence), parts(parts), isTied(isTied), cuts(graph),
        numTasks(graph.numTasks()),
        best(sequence.size() + 1, std::vector<double>(numTasks + 1, notAllowed)),
        from(sequence.size() + 1, std::vector<uint32_t>(numTasks + 1)) {
    best[0][0] = 0;
    for (size_t j = 0; j < sequence.size(); ++j)
      if (graph.problem.limits[sequence[j]])
        lastLimited = j;
  }

  std::optional<std::vector<uint32_t>> run() {
    for (size_t j = 0; j < sequence.size(); ++j)
      addDevice(j);
    if (best.back()[numTasks] == notAllowed)
      return std::nullopt;
    std::vector<uint32_t> devices(numTasks);
    uint32_t end = numTasks;
    for (size_t j = sequence.size(); j-- > 0;) {
      uint32_t begin = from[j + 1][end];
      std::fill(devices.begin() + begin, devices.begin() + end, sequence[j]);
      end = begin;
    }
    return devices;
  }

private:
  /// Of the cuts that a piece may begin at, the window keeps those that may still be the best:
  /// their costs rise.
  void addDevice(size_t j) {
    const double part = j == lastLimited ? parts.last : parts.each;
    std::vector<uint32_t> firstCut =
        firstCutThatFits(graph, cuts, limitOf(graph, sequence[j], part), isTied);
    std::vector<double> sums = secondsUpTo(sequence[j]);
    auto cost = [&](uint32_t cut) { return best[j][cut] - sums[cut] + copiesAt(j, cut); };
    std::deque<uint32_t> window;
    best[j + 1][0] = best[j][0];
    for (uint32_t i = 1; i <= numTasks; ++i) {
      while (!window.empty() && cost(window.back()) > cost(i - 1))
        window.pop_back();
      window.push_back(i - 1);
      while (!window.empty() && window.front() < firstCut[i - 1])
        window.pop_front();
      best[j + 1][i] = best[j][i]; // nothing on this device
      from[j + 1][i] = i;
      if (!window.empty() && cost(window.front()) + sums[i] < best[j + 1][i]) {
        best[j + 1][i] = cost(window.front()) + sums[i];
        from[j + 1][i] = window.front();
      }
    }
  }

  /// A task that may not run there goes elsewhere afterwards; the pieces ignore it.
  std::vector<double> secondsUpTo(uint32_t device) const {
    std::vector<double> sums(numTasks + 1);
    for (uint32_t i = 0; i < numTasks; ++i) {
      double seconds = graph.secondsOn(i, device);
      sums[i + 1] = sums[i] + (seconds == notAllowed ? 0 : seconds);
    }
    return sums;
  }

  double copiesAt(size_t j, uint32_t cut) const {
    if (j == 0 || cut == 0 || cut == numTasks)
      return 0;
    const AutoLink &link = graph.problem.link(sequence[j - 1], sequence[j]);
    return cuts.counts[cut] * link.latency + cuts.bytes[cut] * link.secondsPerByte;
  }

  const OrderedGraph &graph;
  const std::vector<uint32_t> &sequence;
  PieceParts parts;
  size_t lastLimited = SIZE_MAX;   ///< in the sequence
  const std::vector<char> &isTied; ///< by value; empty: none
  Cuts cuts;
  uint32_t numTasks;
  std::vector<std::vector<double>> best;   ///< [devices][tasks]
  std::vector<std::vector<uint32_t>> from; ///< and where the last piece begins
};
} // namespace

std::vector<uint32_t> sharedConstants(const OrderedGraph &graph) {
  uint64_t all = 0;
  for (uint32_t value : graph.constants)
    all += graph.bytes[value];
  std::vector<uint32_t> shared;
  for (uint32_t value : graph.constants)
    if (graph.readers[value].size() > 1 && graph.bytes[value] >= all / 100)
      shared.push_back(value);
  return shared;
}

std::optional<std::vector<uint32_t>> startInPieces(const OrderedGraph &graph,
                                                   const std::vector<uint32_t> &sequence,
                                                   PieceParts parts, bool isTied) {
  std::vector<uint32_t> shared;
  std::vector<char> tied;
  if (isTied) {
    shared = sharedConstants(graph);
    tied.resize(graph.numValues());
    for (uint32_t value : shared)
      tied[value] = 1;
  }
  std::optional<std::vector<uint32_t>> pieces = PieceCutter(graph, sequence, parts, tied).run();
  if (!pieces)
    return std::nullopt;
  for (uint32_t value : shared)
    for (uint32_t reader : graph.readers[value])
      (*pieces)[reader] = (*pieces)[graph.readers[value].front()];
  for (uint32_t atom = 0; atom < graph.atoms.size(); ++atom) {
    uint32_t device = allowedDevice(graph, atom, (*pieces)[graph.atoms[atom].front()]);
    for (uint32_t place : graph.atoms[atom])
      (*pieces)[place] = device;
  }
  return pieces;
}

std::vector<std::vector<uint32_t>> deviceSequences(const OrderedGraph &graph) {
  constexpr uint32_t kMostPermuted = 4;
  std::vector<uint32_t> all(graph.numDevices);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> total(all.size());
  for (uint32_t d : all)
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      total[d] += std::min(graph.secondsOn(place, d), 1e30);
  std::stable_sort(all.begin(), all.end(),
                   [&](uint32_t a, uint32_t b) { return total[a] < total[b]; });
  std::vector<std::vector<uint32_t>> sequences{all};
  if (graph.numDevices <= kMostPermuted) {
    std::vector<uint32_t> places(all.size());
    std::iota(places.begin(), places.end(), 0);
    while (std::next_permutation(places.begin(), places.end())) {
      std::vector<uint32_t> sequence;
      for (uint32_t place : places)
        sequence.push_back(all[place]);
      sequences.push_back(std::move(sequence));
    }
    return sequences;
  }
  // The slowest, mostly the host, in front; then both from the other end.
  std::vector<uint32_t> slowFirst = all;
  std::rotate(slowFirst.begin(), slowFirst.end() - 1, slowFirst.end());
  sequences.push_back(slowFirst);
  sequences.emplace_back(all.rbegin(), all.rend());
  sequences.emplace_back(slowFirst.rbegin(), slowFirst.rend());
  return sequences;
}

//===----------------------------------------------------------------------===//
// List scheduling
//===----------------------------------------------------------------------===//

namespace {
/// Seconds from the end of each task, on each device, to the end of the graph when all that follows
/// takes the best way for itself (the optimistic cost table of PEFT, Arabnejad and Barbosa 2014).
std::vector<double> restAfter(const OrderedGraph &graph) {
  uint32_t devices = graph.numDevices;
  std::vector<double> rest(graph.seconds.size());
  for (uint32_t place = graph.numTasks(); place-- > 0;)
    for (uint32_t d = 0; d < devices; ++d) {
      double most = 0;
      for (uint32_t value : graph.outputs[place])
        for (uint32_t reader : graph.readers[value]) {
          double least = notAllowed;
          for (uint32_t to = 0; to < devices; ++to)
            least = std::min(least, graph.copySeconds(value, d, to) + graph.secondsOn(reader, to) +
                                        rest[size_t(reader) * devices + to]);
          most = std::max(most, least);
        }
      rest[size_t(place) * devices + d] = most;
    }
  return rest;
}

class ListScheduler {
public:
  ListScheduler(const OrderedGraph &graph, Outlook outlook, double part)
      : graph(graph), numDevices(graph.numDevices),
        ready(size_t(graph.numValues()) * numDevices, notAllowed), isThere(ready.size()),
        unread(graph.numValues()), used(numDevices), limits(numDevices), deviceFree(numDevices),
        queueFree(graph.problem.numQueues), copied(graph.problem.budgets.size()),
        endsOf(graph.numValues()), deviceOfAtom(graph.atoms.size(), noIndex) {
    for (uint32_t d = 0; d < numDevices; ++d)
      limits[d] = limitOf(graph, d, part);
    if (outlook == Outlook::rest)
      rest = restAfter(graph);
    for (uint32_t value = 0; value < graph.numValues(); ++value) {
      unread[value] = static_cast<uint32_t>(graph.readers[value].size());
      if (graph.maker[value] == noIndex && !graph.isConstant[value])
        readyAt(value, graph.home[value]) = 0;
    }
    for (const AutoEnd &end : graph.ends) {
      ++unread[end.value]; // never read out: it lives to the end
      endsOf[end.value].push_back(end.device);
    }
  }

  std::vector<uint32_t> run() {
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      put(place, choose(place));
    return std::move(devices);
  }

private:
  double &readyAt(uint32_t value, uint32_t device) {
    return ready[size_t(value) * numDevices + device];
  }

  uint32_t sourceOf(uint32_t value) const {
    return graph.maker[value] == noIndex ? graph.home[value] : devices[graph.maker[value]];
  }

  /// When the value could be there; does not queue the copy.
  double arrival(uint32_t value, uint32_t device) {
    if (graph.isConstant[value])
      return 0;
    if (readyAt(value, device) != notAllowed)
      return readyAt(value, device);
    uint32_t source = sourceOf(value);
    const AutoLink &link = graph.problem.link(source, device);
    return std::max(readyAt(value, source), queueFree[link.queue]) +
           graph.copySeconds(value, source, device);
  }

  /// Bytes that running the task there adds.
  uint64_t bytesMore(uint32_t place, uint32_t device) {
    uint64_t sum = 0;
    for (uint32_t value : graph.inputs[place])
      if (!isThere[size_t(value) * numDevices + device] && !isAtHome(value, device))
        sum += graph.bytes[value];
    for (uint32_t value : graph.outputs[place])
      sum += graph.bytes[value];
    return sum;
  }

  /// Adds to `sums`, by budget, what has to be copied for the task to run there. A result that is
  /// wanted elsewhere counts, though a later reader may share its copy.
  void addCopies(uint32_t place, uint32_t device, std::vector<uint64_t> &sums) {
    auto add = [&](uint32_t value, uint32_t from, uint32_t to) {
      uint32_t budget = from == to ? noIndex : graph.problem.link(from, to).budget;
      if (budget != noIndex)
        sums[budget] += graph.copiedBytes[value];
    };
    for (uint32_t value : graph.inputs[place])
      if (!graph.isConstant[value] && readyAt(value, device) == notAllowed)
        add(value, sourceOf(value), device);
    for (uint32_t value : graph.outputs[place])
      for (uint32_t end : endsOf[value])
        add(value, device, end);
  }

  uint64_t bytesOverBudgets(uint32_t place, uint32_t device) {
    if (copied.empty())
      return 0;
    std::vector<uint64_t> sums = copied;
    addCopies(place, device, sums);
    uint64_t over = 0;
    for (size_t b = 0; b < sums.size(); ++b)
      over += sums[b] - std::min(sums[b], graph.problem.budgets[b]);
    return over;
  }

  bool isAtHome(uint32_t value, uint32_t device) const {
    return graph.maker[value] == noIndex && graph.home[value] == device;
  }

  uint32_t choose(uint32_t place) {
    uint32_t atom = graph.atom[place];
    if (deviceOfAtom[atom] != noIndex)
      return deviceOfAtom[atom];
    uint32_t best = noIndex;
    std::pair<uint64_t, double> bestCost;
    for (uint32_t d = 0; d < numDevices; ++d) {
      if (atomSeconds(graph, atom, d) == notAllowed)
        continue;
      double time = deviceFree[d];
      for (uint32_t value : graph.inputs[place])
        time = std::max(time, arrival(value, d));
      time += graph.secondsOn(place, d);
      if (!rest.empty())
        time += rest[size_t(place) * numDevices + d];
      uint64_t needed = used[d] + bytesMore(place, d);
      uint64_t over = bytesOverBudgets(place, d) + needed - std::min(needed, limits[d]);
      std::pair<uint64_t, double> cost(over, time);
      if (best == noIndex || cost < bestCost) {
        best = d;
        bestCost = cost;
      }
    }
    return deviceOfAtom[atom] = best;
  }

  void put(uint32_t place, uint32_t device) {
    double start = deviceFree[device];
    if (!copied.empty())
      addCopies(place, device, copied);
    for (uint32_t value : graph.inputs[place]) {
      double time = arrival(value, device);
      start = std::max(start, time);
      if (!graph.isConstant[value] && readyAt(value, device) == notAllowed) {
        readyAt(value, device) = time;
        queueFree[graph.problem.link(sourceOf(value), device).queue] = time;
      }
      if (!isAtHome(value, device))
        keep(value, device);
    }
    deviceFree[device] = start + graph.secondsOn(place, device);
    devices.push_back(device);
    for (uint32_t value : graph.outputs[place]) {
      readyAt(value, device) = deviceFree[device];
      keep(value, device);
      if (unread[value] == 0)
        drop(value);
    }
    for (uint32_t value : graph.inputs[place])
      if (--unread[value] == 0 && !graph.isConstant[value])
        drop(value);
  }

  void keep(uint32_t value, uint32_t device) {
    char &there = isThere[size_t(value) * numDevices + device];
    if (!there)
      used[device] += graph.bytes[value];
    there = 1;
  }

  void drop(uint32_t value) {
    for (uint32_t d = 0; d < numDevices; ++d)
      if (char &there = isThere[size_t(value) * numDevices + d]) {
        used[d] -= graph.bytes[value];
        there = 0;
      }
  }

  const OrderedGraph &graph;
  uint32_t numDevices;
  std::vector<double> ready;    ///< [value * devices + device]
  std::vector<char> isThere;    ///< [value * devices + device]: takes memory now
  std::vector<uint32_t> unread; ///< by value: readers to come
  std::vector<uint64_t> used, limits;
  std::vector<double> deviceFree, queueFree;
  std::vector<uint64_t> copied;              ///< by budget
  std::vector<std::vector<uint32_t>> endsOf; ///< by value: devices
  std::vector<uint32_t> deviceOfAtom;
  std::vector<double> rest; ///< [place * devices + device]; empty: not looked at
  std::vector<uint32_t> devices;
};
} // namespace

std::vector<uint32_t> startByList(const OrderedGraph &graph, Outlook outlook, double part) {
  return ListScheduler(graph, outlook, part).run();
}

} // namespace gantry::placement
