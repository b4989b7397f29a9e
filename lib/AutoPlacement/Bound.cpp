// How fast no placement can be. Each bound leaves something out: the first one queues and memory,
// the second one the order of tasks, the third one, which knows of all, that decisions are whole.
#include "Graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry::placement {

namespace {
struct Choice {
  uint32_t device = 0;
  double seconds = 0;
};

/// Where each task may run. Of many devices, those of a job, a task that may run on any of them is
/// *anywhere*: its copies are taken to be free, since looking at all pairs of devices would take
/// longer than the bound is worth.
class Choices {
public:
  explicit Choices(const OrderedGraph &graph) {
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      begins.push_back(all.size());
      if (graph.only[place] != noIndex)
        all.push_back({graph.only[place], graph.secondsOf(place).front()});
      else
        for (uint32_t d = 0; d < graph.numDevices; ++d)
          if (double seconds = graph.secondsOf(place)[d]; seconds != notAllowed)
            all.push_back({d, seconds});
      if (all.size() == begins.back()) // nowhere: there is no placement, and so no bound
        all.push_back({0, notAllowed});
    }
    begins.push_back(all.size());
  }

  std::span<const Choice> of(uint32_t place) const {
    return {all.data() + begins[place], begins[place + 1] - begins[place]};
  }
  bool isAnywhere(uint32_t place) const { return of(place).size() > kMostInTables; }

private:
  std::vector<size_t> begins;
  std::vector<Choice> all;
};

/// Earliest end of every task on every device if each operand takes the best way for itself and
/// nothing ever waits for a queue.
class PathBound {
public:
  PathBound(const OrderedGraph &graph, const Choices &choices) : graph(graph), choices(choices) {}

  double run() {
    double bound = 0;
    for (uint32_t place = 0; place < graph.numTasks(); ++place)
      bound = std::max(bound, endOf(place));
    for (const AutoEnd &end : graph.ends)
      if (!graph.isConstant[end.value])
        bound = std::max(bound, arrival(end.value, end.device));
    return bound;
  }

private:
  /// Of a task after those before it; gives the earliest of its ends.
  double endOf(uint32_t place) {
    begins.push_back(ends.size());
    double earliest = notAllowed;
    if (choices.isAnywhere(place)) {
      double least = notAllowed;
      for (const Choice &choice : choices.of(place))
        least = std::min(least, choice.seconds);
      ends.push_back(earliest = startOf(place, noIndex) + least);
      return earliest;
    }
    for (const Choice &choice : choices.of(place)) {
      ends.push_back(startOf(place, choice.device) + choice.seconds);
      earliest = std::min(earliest, ends.back());
    }
    return earliest;
  }

  double startOf(uint32_t place, uint32_t device) const {
    double start = 0;
    for (uint32_t value : graph.inputs[place])
      if (!graph.isConstant[value])
        start = std::max(start, arrival(value, device));
    return start;
  }

  /// noIndex stands for any device.
  double arrival(uint32_t value, uint32_t device) const {
    uint32_t maker = graph.maker[value];
    if (maker == noIndex)
      return device == noIndex ? 0 : graph.copySeconds(value, graph.home[value], device);
    const double *itsEnds = ends.data() + begins[maker];
    if (choices.isAnywhere(maker))
      return *itsEnds;
    double best = notAllowed;
    for (const Choice &choice : choices.of(maker))
      best = std::min(
          best,
          *itsEnds++ + (device == noIndex ? 0 : graph.copySeconds(value, choice.device, device)));
    return best;
  }

  const OrderedGraph &graph;
  const Choices &choices;
  std::vector<size_t> begins; ///< by place: in `ends`
  std::vector<double> ends;   ///< by place and choice; of tasks that are anywhere one
};

/// Of the linear program "divide every task among the devices so that the busiest is done early",
/// any weights w of sum 1 give the bound sum over tasks of min over devices of w * seconds. Weights
/// that make busy devices dear are found by multiplicative updates.
double workBound(const OrderedGraph &graph, const Choices &choices) {
  constexpr int rounds = 40;
  uint32_t devices = graph.numDevices;
  std::vector<double> weights(devices, 1.0 / devices), load(devices);
  double bound = 0;
  for (int round = 0; round < rounds; ++round) {
    std::fill(load.begin(), load.end(), 0);
    double sum = 0;
    for (uint32_t place = 0; place < graph.numTasks(); ++place) {
      Choice best;
      double least = notAllowed;
      for (const Choice &choice : choices.of(place))
        if (choice.seconds * weights[choice.device] < least) {
          least = choice.seconds * weights[choice.device];
          best = choice;
        }
      load[best.device] += best.seconds;
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
  PressureBound(const OrderedGraph &graph, const Choices &choices)
      : graph(graph), choices(choices), devices(graph.numDevices), weights(1 + 2 * devices),
        sums(1 + 2 * devices), perByte(devices), share(graph.numTasks()),
        isOnPath(graph.numTasks()) {
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

  double own(uint32_t place, const Choice &choice) const {
    const uint32_t d = choice.device;
    if (choice.seconds == notAllowed)
      return notAllowed;
    return (weights[1 + d] + (isOnPath[place] ? weights[0] : 0)) * choice.seconds +
           weights[1 + devices + d] * perByte[d] * share[place];
  }

  Choice cheapest(uint32_t place) const {
    Choice best = choices.of(place).front();
    for (const Choice &choice : choices.of(place))
      if (own(place, choice) < own(place, best))
        best = choice;
    return best;
  }

  void charge(uint32_t place, const Choice &choice) {
    sums[1 + choice.device] += choice.seconds;
    sums[1 + devices + choice.device] += perByte[choice.device] * share[place];
  }

  /// Between the task of the path and the one before it; of the first one, from its arguments.
  double wayTo(size_t i, uint32_t from, uint32_t to) const {
    double seconds = 0;
    if (choices.isAnywhere(path[i]) || (i > 0 && choices.isAnywhere(path[i - 1])))
      return 0;
    for (uint32_t value : graph.inputs[path[i]])
      if (i > 0 && graph.maker[value] == path[i - 1])
        seconds = std::max(seconds, graph.copySeconds(value, from, to));
      else if (i == 0 && graph.maker[value] == noIndex && !graph.isConstant[value])
        seconds = std::max(seconds, graph.copySeconds(value, graph.home[value], to));
    return seconds;
  }

  double wayToEnd(uint32_t from) const {
    double seconds = 0;
    if (choices.isAnywhere(path.back()))
      return 0;
    for (const AutoEnd &end : graph.ends)
      if (graph.maker[end.value] == path.back())
        seconds = std::max(seconds, graph.copySeconds(end.value, from, end.device));
    return seconds;
  }

  /// Of a task of the path what it may be: of one that is anywhere its cheapest choice, since the
  /// ways there are free.
  std::vector<Choice> optionsOf(uint32_t place) const {
    if (choices.isAnywhere(place))
      return {cheapest(place)};
    return {choices.of(place).begin(), choices.of(place).end()};
  }

  void respondOnPath() {
    if (path.empty())
      return;
    struct Option {
      Choice choice;
      double cost = notAllowed;
      size_t before = 0; ///< number of the best option of the task before
    };
    std::vector<std::vector<Option>> options(path.size());
    for (size_t i = 0; i < path.size(); ++i)
      for (const Choice &choice : optionsOf(path[i])) {
        Option &here = options[i].emplace_back(choice);
        for (size_t b = 0; b < (i ? options[i - 1].size() : 1); ++b) {
          const Option *last = i ? &options[i - 1][b] : nullptr;
          const double cost = (last ? last->cost : 0) + own(path[i], choice) +
                              weights[0] * wayTo(i, last ? last->choice.device : 0, choice.device);
          if (cost < here.cost) {
            here.cost = cost;
            here.before = b;
          }
        }
      }
    auto whole = [&](const Option &last) {
      return last.cost + weights[0] * wayToEnd(last.choice.device);
    };
    size_t at = 0;
    for (size_t b = 1; b < options.back().size(); ++b)
      if (whole(options.back()[b]) < whole(options.back()[at]))
        at = b;
    sums[0] += wayToEnd(options.back()[at].choice.device);
    for (size_t i = path.size(); i-- > 0;) {
      const Option &here = options[i][at];
      const uint32_t before = i ? options[i - 1][here.before].choice.device : 0;
      charge(path[i], here.choice);
      sums[0] += here.choice.seconds + wayTo(i, before, here.choice.device);
      at = here.before;
    }
  }

  const OrderedGraph &graph;
  const Choices &choices;
  uint32_t devices;
  std::vector<double> weights, sums; ///< of the path, the devices, what is over their limits
  std::vector<double> perByte;       ///< by device: seconds; 0 where there is no limit
  std::vector<double> share;         ///< by place: bytes of constants
  std::vector<uint32_t> path;        ///< places
  std::vector<char> isOnPath;        ///< by place
};
} // namespace

double lowerBound(const AutoProblem &problem) {
  Edges edges(problem);
  OrderedGraph graph(problem, anyOrder(problem, edges));
  Choices choices(graph);
  return std::max({PathBound(graph, choices).run(), workBound(graph, choices),
                   PressureBound(graph, choices).run()});
}

} // namespace gantry::placement
