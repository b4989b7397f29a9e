// How fast no placement can be. Each bound leaves something out: the first one queues and memory,
// the second one the order of tasks, the third one, which knows of all, that decisions are whole.
#include "Graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry::placement {

namespace {
/// Earliest end of every task on every device if each operand takes the best way for itself and
/// nothing ever waits for a queue.
class PathBound {
public:
  explicit PathBound(const OrderedGraph &graph)
      : graph(graph), devices(graph.numDevices), ends(graph.seconds.size()) {}

  double run() {
    double bound = 0;
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      for (uint32_t d = 0; d < devices; ++d) {
        double start = 0;
        for (uint32_t value : graph.inputs[place])
          if (!graph.isConstant[value])
            start = std::max(start, arrival(value, d));
        ends[size_t(place) * devices + d] = start + graph.secondsOf(place)[d];
      }
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      bound = std::max(bound, *std::min_element(endsOf(place), endsOf(place) + devices));
    for (const AutoEnd &end : graph.ends)
      if (!graph.isConstant[end.value])
        bound = std::max(bound, arrival(end.value, end.device));
    return bound;
  }

private:
  const double *endsOf(uint32_t place) const { return ends.data() + size_t(place) * devices; }

  double arrival(uint32_t value, uint32_t device) const {
    uint32_t maker = graph.maker[value];
    if (maker == noIndex)
      return graph.copySeconds(value, graph.home[value], device);
    double best = notAllowed;
    for (uint32_t d = 0; d < devices; ++d)
      best = std::min(best, endsOf(maker)[d] + graph.copySeconds(value, d, device));
    return best;
  }

  const OrderedGraph &graph;
  uint32_t devices;
  std::vector<double> ends; ///< [place * devices + device]
};

/// Of the linear program "divide every task among the devices so that the busiest is done early",
/// any weights w of sum 1 give the bound sum over tasks of min over devices of w * seconds. Weights
/// that make busy devices dear are found by multiplicative updates.
double workBound(const OrderedGraph &graph) {
  constexpr int rounds = 40;
  uint32_t devices = graph.numDevices;
  std::vector<double> weights(devices, 1.0 / devices), load(devices);
  double bound = 0;
  for (int round = 0; round < rounds; ++round) {
    std::fill(load.begin(), load.end(), 0);
    double sum = 0;
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      std::span<const double> seconds = graph.secondsOf(place);
      uint32_t best = 0;
      double least = notAllowed;
      for (uint32_t d = 0; d < devices; ++d)
        if (seconds[d] != notAllowed && seconds[d] * weights[d] < least) {
          least = seconds[d] * weights[d];
          best = d;
        }
      load[best] += seconds[best];
      sum += least;
    }
    bound = std::max(bound, sum);
    double most = *std::max_element(load.begin(), load.end());
    if (most == 0)
      break;
    double step = 1.0 / (1 + round), total = 0;
    for (uint32_t d = 0; d < devices; ++d)
      total += weights[d] *= 1 + step * load[d] / most;
    for (double &weight : weights)
      weight /= total;
  }
  return bound;
}

/// A step takes no less than any of these, whatever the placement: the tasks and copies along one
/// path; what a device has to do; what its constants are over its limit, through the queues that
/// bring it. So for weights of sum 1 it takes no less than their weighted sum where that is least.
/// There each task off the path chooses for itself, those along it one after the other, and a
/// constant is paid in equal parts by the tasks that read it, which is never more than once.
/// Weights are found as above: what is large becomes dear.
class PressureBound {
public:
  explicit PressureBound(const OrderedGraph &graph)
      : graph(graph), devices(graph.numDevices), weights(1 + 2 * devices), sums(1 + 2 * devices),
        perByte(devices), share(graph.numTasks()), isOnPath(graph.numTasks()) {
    for (uint32_t value : graph.constants)
      for (uint32_t reader : graph.readers[value])
        share[reader] += static_cast<double>(graph.bytes[value]) /
                         static_cast<double>(graph.readers[value].size());
    for (uint32_t d = 0; d < devices; ++d)
      if (graph.problem.limits[d])
        perByte[d] = secondsPerByteTo(d);
    findPath();
  }

  double run() {
    constexpr uint64_t effort = 20'000'000;
    const uint64_t runs = effort / (uint64_t(graph.numTasks() + 1) * devices * devices);
    const auto rounds = static_cast<int>(std::clamp<uint64_t>(runs, 20, 300));
    for (uint32_t i = 0; i < weights.size(); ++i)
      weights[i] = i <= devices || perByte[i - 1 - devices] > 0;
    double bound = 0;
    for (int round = 0; round < rounds; ++round) {
      normalise();
      bound = std::max(bound, respond());
      double most = 0;
      for (double sum : sums)
        most = std::max(most, std::abs(sum));
      if (most == 0)
        break;
      for (size_t i = 0; i < weights.size(); ++i)
        weights[i] *= 1 + 0.7 / std::sqrt(1 + round) * sums[i] / most;
    }
    return bound;
  }

private:
  void normalise() {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double &weight : weights)
      weight /= total;
  }

  /// Through all queues that bring constants there, side by side; where none is said to come from
  /// anywhere, through all that there are.
  double secondsPerByteTo(uint32_t to) const {
    std::vector<char> isSource(devices);
    for (uint32_t value : graph.constants)
      if (graph.home[value] != noIndex)
        isSource[graph.home[value]] = 1;
    const bool isAny = std::find(isSource.begin(), isSource.end(), 1) == isSource.end();
    std::vector<double> rates(graph.problem.numQueues);
    for (uint32_t from = 0; from < devices; ++from)
      if (from != to && (isAny || isSource[from])) {
        const AutoLink &link = graph.problem.link(from, to);
        rates[link.queue] = std::max(rates[link.queue], 1 / link.secondsPerByte);
      }
    const double rate = std::accumulate(rates.begin(), rates.end(), 0.0);
    return rate > 0 ? 1 / rate : 0;
  }

  /// The path that takes longest where every task is as fast as it can be.
  void findPath() {
    std::vector<double> ends(graph.numTasks());
    std::vector<uint32_t> before(graph.numTasks(), noIndex);
    uint32_t last = noIndex;
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      for (uint32_t value : graph.inputs[place])
        if (uint32_t maker = graph.maker[value];
            maker != noIndex && (before[place] == noIndex || ends[maker] > ends[before[place]]))
          before[place] = maker;
      std::span<const double> seconds = graph.secondsOf(place);
      ends[place] = *std::min_element(seconds.begin(), seconds.end()) +
                    (before[place] == noIndex ? 0 : ends[before[place]]);
      if (last == noIndex || ends[place] > ends[last])
        last = place;
    }
    for (; last != noIndex; last = before[last]) {
      path.push_back(last);
      isOnPath[last] = 1;
    }
    std::reverse(path.begin(), path.end());
  }

  /// The placement that these weights make cheapest, into `sums`; gives what it costs.
  double respond() {
    std::fill(sums.begin(), sums.end(), 0);
    for (uint32_t d = 0; d < devices; ++d)
      sums[1 + devices + d] = -perByte[d] * static_cast<double>(graph.problem.limits[d]);
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      if (!isOnPath[place])
        charge(place, cheapest(place));
    respondOnPath();
    double cost = 0;
    for (size_t i = 0; i < sums.size(); ++i)
      cost += weights[i] * sums[i];
    return cost;
  }

  double own(uint32_t place, uint32_t d) const {
    const double seconds = graph.secondsOf(place)[d];
    return seconds == notAllowed ? notAllowed
                                 : (weights[1 + d] + (isOnPath[place] ? weights[0] : 0)) * seconds +
                                       weights[1 + devices + d] * perByte[d] * share[place];
  }

  uint32_t cheapest(uint32_t place) const {
    uint32_t best = 0;
    for (uint32_t d = 1; d < devices; ++d)
      if (own(place, d) < own(place, best))
        best = d;
    return best;
  }

  void charge(uint32_t place, uint32_t d) {
    sums[1 + d] += graph.secondsOf(place)[d];
    sums[1 + devices + d] += perByte[d] * share[place];
  }

  /// Between the task of the path and the one before it; of the first one, from its arguments.
  double wayTo(size_t i, uint32_t from, uint32_t to) const {
    double seconds = 0;
    for (uint32_t value : graph.inputs[path[i]])
      if (i > 0 && graph.maker[value] == path[i - 1])
        seconds = std::max(seconds, graph.copySeconds(value, from, to));
      else if (i == 0 && graph.maker[value] == noIndex && !graph.isConstant[value])
        seconds = std::max(seconds, graph.copySeconds(value, graph.home[value], to));
    return seconds;
  }

  double wayToEnd(uint32_t from) const {
    double seconds = 0;
    for (const AutoEnd &end : graph.ends)
      if (graph.maker[end.value] == path.back())
        seconds = std::max(seconds, graph.copySeconds(end.value, from, end.device));
    return seconds;
  }

  void respondOnPath() {
    if (path.empty())
      return;
    costs.assign(path.size() * devices, notAllowed);
    from.assign(path.size() * devices, 0);
    for (size_t i = 0; i < path.size(); ++i)
      for (uint32_t to = 0; to < devices; ++to)
        for (uint32_t d = 0; d < (i ? devices : 1); ++d) {
          const double cost = (i ? costs[(i - 1) * devices + d] : 0) + own(path[i], to) +
                              weights[0] * wayTo(i, d, to);
          if (cost < costs[i * devices + to]) {
            costs[i * devices + to] = cost;
            from[i * devices + to] = d;
          }
        }
    const double *last = &costs[(path.size() - 1) * devices];
    auto whole = [&](uint32_t d) { return last[d] + weights[0] * wayToEnd(d); };
    uint32_t at = 0;
    for (uint32_t d = 1; d < devices; ++d)
      if (whole(d) < whole(at))
        at = d;
    sums[0] += wayToEnd(at);
    for (size_t i = path.size(); i-- > 0;) {
      const uint32_t before = from[i * devices + at];
      charge(path[i], at);
      sums[0] += graph.secondsOf(path[i])[at] + wayTo(i, before, at);
      at = before;
    }
  }

  const OrderedGraph &graph;
  uint32_t devices;
  std::vector<double> weights, sums; ///< of the path, the devices, what is over their limits
  std::vector<double> perByte;       ///< by device: seconds; 0 where there is no limit
  std::vector<double> share;         ///< by place: bytes of constants
  std::vector<uint32_t> path;        ///< places
  std::vector<char> isOnPath;        ///< by place
  std::vector<double> costs;         ///< [number on the path * devices + device]
  std::vector<uint32_t> from;        ///< the same: the device before
};
} // namespace

double lowerBound(const AutoProblem &problem) {
  Edges edges(problem);
  OrderedGraph graph(problem, anyOrder(problem, edges));
  return std::max({PathBound(graph).run(), workBound(graph), PressureBound(graph).run()});
}

} // namespace gantry::placement
