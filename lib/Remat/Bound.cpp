// A peak that no answer is below.
//
// A step holds what it reads and makes, whatever runs again. What a step reads must have come
// together: when the last of these values was made, the others were held, and so was what made it;
// and what that run held before it must have come together as well. Which value came last is not
// known, so that the least of all choices counts, a few runs back. Besides, a value that cannot be
// made again is held from the one run that makes it to its last reader.
#include "Graph.h"

#include <algorithm>

namespace gantry::remat {

namespace {

/// Runs that are looked back.
constexpr uint32_t kMostBack = 3;
/// Values that cannot be made again: of more, only those that a step itself meets are counted.
constexpr size_t kMostPinned = 256;

class Bound {
public:
  explicit Bound(const Graph &graph);
  uint64_t least() const;

private:
  /// A value that is held from its maker to its last reader in every answer.
  struct Pinned {
    uint32_t value, maker, last;
  };

  const Graph &graph;
  std::vector<Pinned> pinned;

  uint64_t bytesOf(uint32_t value) const {
    return graph.mayBeFree[value] ? 0 : uint64_t(graph.held[value]);
  }
  uint64_t during(uint32_t step, uint32_t end, const std::vector<uint32_t> &beside) const;
  uint64_t before(const std::vector<uint32_t> &values, uint32_t end, uint32_t back) const;
};

Bound::Bound(const Graph &graph) : graph(graph) {
  for (uint32_t value = 0; value < graph.numValues; ++value) {
    if (bytesOf(value) == 0 || graph.makerOf(value).mayRepeat)
      continue;
    uint32_t last = graph.isKept[value]            ? graph.numSteps
                    : graph.readers[value].empty() ? graph.maker[value]
                                                   : graph.readers[value].back();
    pinned.push_back({value, graph.maker[value], last});
  }
}

bool contains(const std::vector<uint32_t> &values, uint32_t value) {
  return std::ranges::find(values, value) != values.end();
}

/// What a run of the step holds at least that lies between its first one and that of `end`, when
/// other values are held beside what it uses.
uint64_t Bound::during(uint32_t index, uint32_t end, const std::vector<uint32_t> &beside) const {
  const Step &step = graph.problem.steps[index];
  uint64_t bytes = step.scratch;
  std::vector<uint32_t> used = step.reads;
  for (uint32_t value : beside)
    if (!contains(used, value) && !contains(step.makes, value))
      used.push_back(value);
  for (uint32_t value : used)
    bytes += bytesOf(value);
  for (uint32_t value : step.makes) {
    bool mayTakePlace = std::ranges::any_of(step.replaces, [&](uint32_t operand) {
      return graph.problem.bytes[operand] == graph.problem.bytes[value] &&
             !contains(beside, operand);
    });
    bytes += mayTakePlace ? 0 : bytesOf(value);
  }
  if (pinned.size() <= kMostPinned || index == end)
    for (const Pinned &one : pinned)
      if (one.maker < index && one.last >= end && !contains(used, one.value))
        bytes += bytesOf(one.value);
  return bytes;
}

/// What runs in front of the first one of `end` hold at least for these values to be there together
/// when it begins.
uint64_t Bound::before(const std::vector<uint32_t> &values, uint32_t end, uint32_t back) const {
  uint64_t least = UINT64_MAX;
  for (uint32_t last : values) {
    const uint32_t maker = graph.maker[last];
    if (maker == none)
      continue;
    const Step &step = graph.problem.steps[maker];
    uint64_t bytes = during(maker, end, values);
    if (back > 1 && bytes < least) {
      std::vector<uint32_t> earlier = step.reads;
      for (uint32_t value : values)
        if (!contains(earlier, value) && !contains(step.makes, value))
          earlier.push_back(value);
      bytes = std::max(bytes, before(earlier, end, back - 1));
    }
    least = std::min(least, bytes);
  }
  return least == UINT64_MAX ? 0 : least;
}

uint64_t Bound::least() const {
  uint64_t most = 0;
  for (uint32_t value : graph.problem.kept)
    most += bytesOf(value);
  for (uint32_t step = 0; step < graph.numSteps; ++step) {
    most = std::max(most, during(step, step, {}));
    most = std::max(most, before(graph.problem.steps[step].reads, step, kMostBack));
  }
  return most;
}

} // namespace

uint64_t leastPeak(const Problem &problem) { return Bound(Graph(problem)).least(); }

} // namespace gantry::remat
