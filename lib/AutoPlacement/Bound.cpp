// How fast no placement can be.
#include "Graph.h"

#include <algorithm>
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

  double copySeconds(uint32_t value, uint32_t from, uint32_t to) const {
    if (from == to)
      return 0;
    const AutoLink &link = graph.problem.link(from, to);
    return link.latency + static_cast<double>(graph.bytes[value]) * link.secondsPerByte;
  }

  double arrival(uint32_t value, uint32_t device) const {
    uint32_t maker = graph.maker[value];
    if (maker == noIndex)
      return copySeconds(value, graph.home[value], device);
    double best = notAllowed;
    for (uint32_t d = 0; d < devices; ++d)
      best = std::min(best, endsOf(maker)[d] + copySeconds(value, d, device));
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
} // namespace

double lowerBound(const AutoProblem &problem) {
  Edges edges(problem);
  OrderedGraph graph(problem, anyOrder(problem, edges));
  return std::max(PathBound(graph).run(), workBound(graph));
}

} // namespace gantry::placement
