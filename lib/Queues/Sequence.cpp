// One state, that of a run after some steps, serves the judge of orders and the searches.
#include "gantry/Queues/Sequence.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace gantry::queues {

namespace {

constexpr uint32_t none = UINT32_MAX;

/// Who makes and reads what, and what comes after each step.
struct Graph {
  const Sequence &sequence;
  std::vector<uint32_t> maker, readers; ///< by value
  std::vector<std::vector<uint32_t>> next;
  std::vector<uint32_t> before; ///< by step, how many must have run

  explicit Graph(const Sequence &sequence);
};

Graph::Graph(const Sequence &sequence)
    : sequence(sequence), maker(sequence.bytes.size(), none), readers(sequence.bytes.size()),
      next(sequence.steps.size()), before(sequence.steps.size()) {
  for (uint32_t i = 0; i < sequence.steps.size(); ++i)
    for (uint32_t value : sequence.steps[i].makes)
      maker[value] = i;
  auto follows = [&](uint32_t step, uint32_t other) {
    next[other].push_back(step);
    ++before[step];
  };
  for (uint32_t i = 0; i < sequence.steps.size(); ++i) {
    for (uint32_t value : sequence.steps[i].reads) {
      ++readers[value];
      if (maker[value] != none)
        follows(i, maker[value]);
    }
    for (uint32_t other : sequence.steps[i].after)
      follows(i, other);
  }
}

/// How a run stands.
struct State {
  std::vector<uint32_t> missing; ///< by step, how many that come before have not run
  std::vector<uint32_t> readers; ///< by value, how many have not run
  std::vector<uint32_t> ready;   ///< ascending
  uint64_t live = 0, peak = 0;

  explicit State(const Graph &graph) : missing(graph.before), readers(graph.readers) {
    for (uint32_t i = 0; i < missing.size(); ++i)
      if (missing[i] == 0)
        ready.push_back(i);
  }
};

/// What a step would do to a state.
struct Effect {
  uint64_t live, peak;
  bool operator==(const Effect &) const = default;
};

uint64_t bytesOf(const Graph &graph, uint32_t value) {
  return graph.maker[value] == none ? 0 : graph.sequence.bytes[value];
}

/// Whether the value that the step makes takes the place of one that ends with it.
bool takesPlace(const Graph &graph, const State &state, const Step &step) {
  return step.makes.size() == 1 && std::ranges::any_of(step.mayReplace, [&](uint32_t value) {
           return state.readers[value] == 1 && bytesOf(graph, value) > 0 &&
                  bytesOf(graph, value) == bytesOf(graph, step.makes[0]);
         });
}

Effect effectOf(const Graph &graph, const State &state, uint32_t index) {
  const Step &step = graph.sequence.steps[index];
  uint64_t made = 0, kept = 0, ended = 0;
  for (uint32_t value : step.makes) {
    made += bytesOf(graph, value);
    kept += graph.readers[value] > 0 ? bytesOf(graph, value) : 0;
  }
  for (uint32_t value : step.reads)
    if (state.readers[value] == 1)
      ended += bytesOf(graph, value);
  uint64_t during = state.live + step.scratch + made;
  if (takesPlace(graph, state, step))
    during -= made;
  return {state.live + kept - ended, std::max(state.peak, during)};
}

void run(const Graph &graph, State &state, uint32_t index) {
  Effect effect = effectOf(graph, state, index);
  state.live = effect.live;
  state.peak = effect.peak;
  for (uint32_t value : graph.sequence.steps[index].reads)
    --state.readers[value];
  state.ready.erase(std::ranges::lower_bound(state.ready, index));
  for (uint32_t other : graph.next[index])
    if (--state.missing[other] == 0)
      state.ready.insert(std::ranges::lower_bound(state.ready, other), other);
}

/// A number for each step, so that sets of them can be told apart by their sums.
uint64_t keyOf(uint32_t step) {
  uint64_t x = (step + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// A state of the beam, and how it came about.
struct Branch {
  State state;
  uint32_t trace; ///< the last of its steps, in `Beam::traces`
  uint64_t key;   ///< of the set of its steps
};

/// A branch and a step more.
struct BranchStep {
  uint32_t branch, step;
  Effect effect;
  uint64_t key;

  bool isBetter(const BranchStep &other) const {
    return std::tie(effect.peak, effect.live, branch, step) <
           std::tie(other.effect.peak, other.effect.live, other.branch, other.step);
  }
};

struct Beam {
  const Graph &graph;
  uint32_t width;
  std::vector<Branch> branches;
  std::vector<std::pair<uint32_t, uint32_t>> traces; ///< step, and the trace before it

  Beam(const Graph &graph, uint32_t width) : graph(graph), width(width) {
    branches.push_back({State(graph), none, 0});
  }

  /// Of each set of steps the best way there.
  std::vector<BranchStep> grow() const {
    std::vector<BranchStep> candidates;
    std::unordered_map<uint64_t, size_t> known;
    for (uint32_t b = 0; b < branches.size(); ++b)
      for (uint32_t step : branches[b].state.ready) {
        BranchStep candidate{b, step, effectOf(graph, branches[b].state, step),
                             branches[b].key + keyOf(step)};
        auto [place, isNew] = known.try_emplace(candidate.key, candidates.size());
        if (isNew)
          candidates.push_back(candidate);
        else if (candidate.isBetter(candidates[place->second]))
          candidates[place->second] = candidate;
      }
    return candidates;
  }

  void advance() {
    std::vector<BranchStep> candidates = grow();
    auto isBetter = [](const BranchStep &a, const BranchStep &b) { return a.isBetter(b); };
    size_t kept = std::min<size_t>(width, candidates.size());
    std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), isBetter);
    candidates.resize(kept);
    std::vector<Branch> next;
    next.reserve(kept);
    for (const BranchStep &candidate : candidates) {
      const Branch &from = branches[candidate.branch];
      traces.emplace_back(candidate.step, from.trace);
      next.push_back({from.state, uint32_t(traces.size() - 1), candidate.key});
      run(graph, next.back().state, candidate.step);
    }
    branches = std::move(next);
  }

  std::vector<uint32_t> orderOf(const Branch &branch) const {
    std::vector<uint32_t> order;
    for (uint32_t at = branch.trace; at != none; at = traces[at].second)
      order.push_back(traces[at].first);
    std::ranges::reverse(order);
    return order;
  }
};

} // namespace

uint64_t peakOf(const Sequence &sequence, const std::vector<uint32_t> &order) {
  Graph graph(sequence);
  State state(graph);
  std::vector<bool> done(sequence.steps.size());
  for (uint32_t index : order) {
    if (index >= done.size() || done[index] || state.missing[index] > 0)
      return UINT64_MAX;
    done[index] = true;
    run(graph, state, index);
  }
  return order.size() == sequence.steps.size() ? state.peak : UINT64_MAX;
}

std::vector<uint32_t> orderDepthFirst(const Sequence &sequence, bool isLastFirst) {
  Graph graph(sequence);
  std::vector<uint32_t> order;
  std::vector<bool> seen(sequence.steps.size());
  std::vector<std::pair<uint32_t, size_t>> open; // step, how many of those before it were entered
  std::vector<std::vector<uint32_t>> before(sequence.steps.size());
  for (uint32_t i = 0; i < sequence.steps.size(); ++i)
    for (uint32_t other : graph.next[i])
      before[other].push_back(i);
  if (isLastFirst)
    std::ranges::for_each(before,
                          [](std::vector<uint32_t> &steps) { std::ranges::reverse(steps); });
  auto enter = [&](uint32_t step) {
    if (!seen[step])
      open.emplace_back(step, 0);
    seen[step] = true;
  };
  for (uint32_t last = 0; last < sequence.steps.size(); ++last) {
    if (graph.next[last].empty())
      enter(last);
    while (!open.empty()) {
      auto &[step, entered] = open.back();
      if (entered < before[step].size()) {
        enter(before[step][entered++]);
        continue;
      }
      order.push_back(step);
      open.pop_back();
    }
  }
  return order;
}

std::vector<uint32_t> orderGreedily(const Sequence &sequence) {
  Graph graph(sequence);
  State state(graph);
  std::vector<uint32_t> order;
  while (!state.ready.empty()) {
    uint32_t best = state.ready.front();
    Effect least = effectOf(graph, state, best);
    for (uint32_t step : state.ready) {
      Effect effect = effectOf(graph, state, step);
      if (std::tie(effect.live, effect.peak) < std::tie(least.live, least.peak)) {
        best = step;
        least = effect;
      }
    }
    order.push_back(best);
    run(graph, state, best);
  }
  return order;
}

std::vector<uint32_t> orderByBeam(const Sequence &sequence, uint32_t width) {
  Graph graph(sequence);
  Beam beam(graph, width);
  for (size_t i = 0; i < sequence.steps.size(); ++i)
    beam.advance();
  return beam.branches.empty() ? std::vector<uint32_t>() : beam.orderOf(beam.branches.front());
}

} // namespace gantry::queues
