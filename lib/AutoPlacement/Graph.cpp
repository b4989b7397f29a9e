// Keys and orders from structure alone, and the flat form of a problem.
#include "Graph.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>

namespace gantry::placement {

/// Arenas are laid out in steps of this many bytes.
static constexpr uint64_t kGranule = 64;

Edges::Edges(const AutoProblem &problem) : maker(problem.values.size(), noIndex) {
  std::vector<uint32_t> counts(problem.values.size() + 1);
  for (uint32_t t = 0; t < problem.tasks.size(); ++t) {
    for (uint32_t value : problem.tasks[t].outputs)
      maker[value] = t;
    for (uint32_t value : problem.tasks[t].inputs)
      ++counts[value];
  }
  std::vector<uint32_t> begins, items;
  uint32_t total = 0;
  for (size_t v = 0; v < problem.values.size(); ++v) {
    begins.push_back(total);
    total += counts[v];
  }
  items.resize(total);
  std::vector<uint32_t> next = begins;
  for (uint32_t t = 0; t < problem.tasks.size(); ++t)
    for (uint32_t value : problem.tasks[t].inputs)
      items[next[value]++] = t;
  readers = Lists(std::move(begins), std::move(items));
}

std::vector<uint32_t> anyOrder(const AutoProblem &problem, const Edges &edges) {
  std::vector<uint32_t> waiting(problem.tasks.size()), order;
  order.reserve(problem.tasks.size());
  for (uint32_t t = 0; t < problem.tasks.size(); ++t) {
    for (uint32_t value : problem.tasks[t].inputs)
      waiting[t] += edges.maker[value] != noIndex;
    if (!waiting[t])
      order.push_back(t);
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (uint32_t value : problem.tasks[order[i]].outputs)
      for (uint32_t reader : edges.readers[value])
        if (--waiting[reader] == 0)
          order.push_back(reader);
  return order;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

namespace {
/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
uint64_t combine(uint64_t a, uint64_t b) { return scramble(a * 3 + scramble(b)); }

uint64_t ownKey(const AutoProblem &problem, const AutoTask &task) {
  uint64_t key = scramble(task.key);
  for (double seconds : task.seconds)
    key = combine(key, std::bit_cast<uint64_t>(seconds));
  if (task.only != noIndex)
    key = combine(key, task.only);
  for (uint32_t value : task.outputs)
    key = combine(key, problem.values[value].bytes);
  return key;
}

/// One sweep forwards (what a task is computed from) and one back (what is computed from it).
/// Readers of a value have no order of their own, so they are summed; operands have one.
struct KeyMaker {
  const AutoProblem &problem;
  const Edges &edges;
  std::vector<uint32_t> order;
  std::vector<uint64_t> own, ends; ///< by task; by value: where it has to be at the end
  std::vector<uint64_t> keys;      ///< by task, of the sweep before
  std::vector<uint64_t> sources;   ///< by value, of arguments and constants

  KeyMaker(const AutoProblem &problem, const Edges &edges)
      : problem(problem), edges(edges), order(anyOrder(problem, edges)),
        ends(problem.values.size()), keys(problem.tasks.size()), sources(problem.values.size()) {
    for (const AutoTask &task : problem.tasks)
      own.push_back(ownKey(problem, task));
    for (size_t i = 0; i < problem.ends.size(); ++i)
      ends[problem.ends[i].value] += combine(i, problem.ends[i].device);
  }

  uint64_t keyOfReaders(uint32_t value) const {
    uint64_t sum = ends[value];
    for (uint32_t reader : edges.readers[value]) {
      const std::vector<uint32_t> &inputs = problem.tasks[reader].inputs;
      size_t operand = std::find(inputs.begin(), inputs.end(), value) - inputs.begin();
      sum += combine(keys[reader], operand);
    }
    return sum;
  }

  void sweep() {
    for (uint32_t v = 0; v < problem.values.size(); ++v) {
      const AutoValue &value = problem.values[v];
      if (edges.maker[v] == noIndex)
        sources[v] =
            combine(combine(value.bytes, value.isConstant ? noIndex : value.home), keyOfReaders(v));
    }
    for (uint32_t t : order) {
      uint64_t key = combine(own[t], keys[t]);
      for (uint32_t value : problem.tasks[t].inputs)
        key = combine(key, keyOfInput(value));
      keys[t] = key;
    }
    for (size_t i = order.size(); i-- > 0;) {
      uint64_t key = keys[order[i]];
      for (uint32_t value : problem.tasks[order[i]].outputs)
        key = combine(key, keyOfReaders(value));
      keys[order[i]] = key;
    }
  }

  uint64_t keyOfInput(uint32_t value) const {
    uint32_t maker = edges.maker[value];
    if (maker == noIndex)
      return sources[value];
    const std::vector<uint32_t> &outputs = problem.tasks[maker].outputs;
    return combine(keys[maker], std::find(outputs.begin(), outputs.end(), value) - outputs.begin());
  }
};
} // namespace

std::vector<uint64_t> structuralKeys(const AutoProblem &problem, const Edges &edges) {
  KeyMaker maker(problem, edges);
  // The second sweep tells apart what only a neighbour's other neighbours tell apart.
  maker.sweep();
  maker.sweep();
  return std::move(maker.keys);
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// Seconds from the start of each task to the end; see rankOrder.
static std::vector<double> ranks(const AutoProblem &problem, const Edges &edges,
                                 std::span<const uint32_t> devices = {}) {
  auto copySeconds = [&](uint32_t value, uint32_t from, uint32_t to) {
    if (devices.empty() || devices[from] == devices[to])
      return 0.0;
    const AutoLink &link = problem.link(devices[from], devices[to]);
    return link.latency + static_cast<double>(problem.values[value].bytes) * link.secondsPerByte;
  };
  std::vector<uint32_t> order = anyOrder(problem, edges);
  std::vector<double> rank(problem.tasks.size());
  for (size_t i = order.size(); i-- > 0;) {
    const AutoTask &task = problem.tasks[order[i]];
    double after = 0;
    for (uint32_t value : task.outputs)
      for (uint32_t reader : edges.readers[value])
        after = std::max(after, rank[reader] + copySeconds(value, order[i], reader));
    rank[order[i]] =
        after + (devices.empty() ? *std::min_element(task.seconds.begin(), task.seconds.end())
                                 : task.secondsOn(devices[order[i]]));
  }
  return rank;
}

std::vector<uint32_t> depthFirstOrder(const AutoProblem &problem, const Edges &edges,
                                      std::span<const uint64_t> keys) {
  std::vector<double> rank = ranks(problem, edges);
  // How long it takes to get to a task; of several makers, the one that takes longest comes first.
  std::vector<double> depth(problem.tasks.size());
  for (uint32_t t : anyOrder(problem, edges)) {
    const AutoTask &task = problem.tasks[t];
    for (uint32_t value : task.inputs)
      if (edges.maker[value] != noIndex)
        depth[t] = std::max(depth[t], depth[edges.maker[value]]);
    depth[t] += *std::min_element(task.seconds.begin(), task.seconds.end());
  }
  auto before = [&](uint32_t a, uint32_t b) {
    return std::tuple(-depth[a], keys[a], a) < std::tuple(-depth[b], keys[b], b);
  };

  std::vector<uint32_t> order, roots;
  for (uint32_t t = 0; t < problem.tasks.size(); ++t) {
    bool isRead = false;
    for (uint32_t value : problem.tasks[t].outputs)
      isRead |= !edges.readers[value].empty();
    if (!isRead)
      roots.push_back(t);
  }
  std::sort(roots.begin(), roots.end(), before);

  struct Frame {
    uint32_t task;
    std::vector<uint32_t> makers; ///< last one first
  };
  std::vector<char> seen(problem.tasks.size());
  std::vector<Frame> stack;
  auto enter = [&](uint32_t t) {
    if (seen[t])
      return;
    seen[t] = 1;
    Frame frame{t, {}};
    for (uint32_t value : problem.tasks[t].inputs)
      if (uint32_t maker = edges.maker[value]; maker != noIndex && !seen[maker])
        frame.makers.push_back(maker);
    std::sort(frame.makers.begin(), frame.makers.end(),
              [&](uint32_t a, uint32_t b) { return before(b, a); });
    stack.push_back(std::move(frame));
  };
  for (uint32_t root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame &top = stack.back();
      if (top.makers.empty()) {
        order.push_back(top.task);
        stack.pop_back();
        continue;
      }
      uint32_t maker = top.makers.back();
      top.makers.pop_back();
      enter(maker);
    }
  }
  return order;
}

std::vector<uint32_t> rankOrder(const AutoProblem &problem, const Edges &edges,
                                std::span<const uint64_t> keys, std::span<const uint32_t> devices) {
  std::vector<double> rank = ranks(problem, edges, devices);
  auto after = [&](uint32_t a, uint32_t b) { // for a heap, whose top is the largest
    return std::tuple(-rank[a], keys[a], a) > std::tuple(-rank[b], keys[b], b);
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(after)> ready(after);
  std::vector<uint32_t> waiting(problem.tasks.size()), order;
  for (uint32_t t = 0; t < problem.tasks.size(); ++t) {
    for (uint32_t value : problem.tasks[t].inputs)
      waiting[t] += edges.maker[value] != noIndex;
    if (!waiting[t])
      ready.push(t);
  }
  while (!ready.empty()) {
    uint32_t t = ready.top();
    ready.pop();
    order.push_back(t);
    for (uint32_t value : problem.tasks[t].outputs)
      for (uint32_t reader : edges.readers[value])
        if (--waiting[reader] == 0)
          ready.push(reader);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// The flat form
//===----------------------------------------------------------------------===//

OrderedGraph::OrderedGraph(const AutoProblem &problem, std::vector<uint32_t> order)
    : problem(problem), numDevices(problem.numDevices()), taskAt(std::move(order)),
      maker(problem.values.size(), noIndex), atom(taskAt.size()) {
  // Values are numbered by first sight too: arrays are then walked nearly in order.
  std::vector<uint32_t> valueOf;
  std::vector<uint32_t> numberOf(problem.values.size(), noIndex);
  auto number = [&](uint32_t value) {
    if (numberOf[value] == noIndex) {
      numberOf[value] = static_cast<uint32_t>(valueOf.size());
      valueOf.push_back(value);
    }
    return numberOf[value];
  };
  std::map<uint32_t, uint32_t> atomOfGroup, bufferOf;
  std::vector<std::pair<uint32_t, uint32_t>> reads; // value, place
  for (uint32_t place = 0; place < taskAt.size(); ++place) {
    const AutoTask &task = problem.tasks[taskAt[place]];
    firstSecond.push_back(seconds.size());
    only.push_back(task.only);
    seconds.insert(seconds.end(), task.seconds.begin(), task.seconds.end());
    inputs.startNext();
    for (uint32_t value : task.inputs) {
      inputs.push(number(value));
      reads.emplace_back(number(value), place);
    }
    outputs.startNext();
    for (uint32_t value : task.outputs) {
      outputs.push(number(value));
      maker[number(value)] = place;
    }
    uint32_t next = static_cast<uint32_t>(atoms.size());
    atom[place] =
        task.group == noIndex ? next : atomOfGroup.try_emplace(task.group, next).first->second;
    if (atom[place] == next)
      atoms.emplace_back();
    atoms[atom[place]].push_back(place);
  }
  for (const AutoEnd &end : problem.ends)
    ends.push_back({number(end.value), end.device});
  originalValue = std::move(valueOf);
  maker.resize(originalValue.size());
  for (uint32_t value : originalValue)
    addValue(problem.values[value], bufferOf);
  numBuffers = static_cast<uint32_t>(bufferOf.size());
  std::sort(reads.begin(), reads.end());
  size_t i = 0;
  for (uint32_t v = 0; v < bytes.size(); ++v) {
    readers.startNext();
    for (; i < reads.size() && reads[i].first == v; ++i)
      readers.push(reads[i].second);
  }
}

void OrderedGraph::addValue(const AutoValue &value, std::map<uint32_t, uint32_t> &bufferOf) {
  const uint32_t v = numValues();
  bytes.push_back((value.bytes + kGranule - 1) / kGranule * kGranule);
  copiedBytes.push_back(value.bytes);
  home.push_back(value.home);
  isConstant.push_back(value.isConstant);
  isPart.push_back(value.isPart);
  if (value.isConstant)
    constants.push_back(v);
  if (!value.turning.empty()) {
    turning.resize(originalValue.size() * numDevices);
    std::copy(value.turning.begin(), value.turning.end(),
              turning.begin() + ptrdiff_t(v) * numDevices);
  }
  uint32_t next = static_cast<uint32_t>(bufferOf.size());
  buffer.push_back(
      value.buffer == noIndex ? noIndex : bufferOf.try_emplace(value.buffer, next).first->second);
}

Assignment OrderedGraph::assignmentOf(const AutoPlacement &placement) const {
  Assignment decision{{}, {}, placement.spare};
  for (uint32_t task : taskAt)
    decision.devices.push_back(placement.devices[task]);
  if (!placement.streamed.empty())
    for (uint32_t value : originalValue)
      decision.streamed.push_back(placement.streamed[value]);
  return decision;
}

AutoPlacement OrderedGraph::placementOf(const Assignment &decision) const {
  AutoPlacement placement{std::vector<uint32_t>(numTasks()), taskAt, {}, decision.spare};
  for (uint32_t place = 0; place < numTasks(); ++place)
    placement.devices[taskAt[place]] = decision.devices[place];
  for (size_t i = 0; i < decision.order.size(); ++i)
    placement.order[i] = taskAt[decision.order[i]];
  if (!decision.streamed.empty()) {
    placement.streamed.resize(problem.values.size());
    for (uint32_t value = 0; value < numValues(); ++value)
      placement.streamed[originalValue[value]] = decision.streamed[value];
  }
  return placement;
}

} // namespace gantry::placement
