#include "Graph.h"

#include <algorithm>

namespace gantry::remat {

Graph::Graph(const Problem &problem)
    : problem(problem), numSteps(uint32_t(problem.steps.size())),
      numValues(uint32_t(problem.bytes.size())), maker(numValues, none), readers(numValues),
      isKept(numValues), held(numValues), mayBeFree(numValues), affected(numSteps) {
  for (uint32_t i = 0; i < numSteps; ++i) {
    for (uint32_t value : problem.steps[i].makes) {
      maker[value] = i;
      held[value] = int64_t(problem.bytes[value]);
    }
    for (uint32_t value : problem.steps[i].reads)
      readers[value].push_back(i);
    seconds += problem.steps[i].seconds;
  }
  for (uint32_t value : problem.kept)
    isKept[value] = 1;
  findFree();
  findAffected();
}

void Graph::findFree() {
  for (uint32_t i = 0; i < numSteps; ++i) {
    const Step &step = problem.steps[i];
    for (uint32_t operand : step.replaces) {
      const bool isOnce = isGiven(operand) || !makerOf(operand).mayRepeat;
      const bool isReadLater = isKept[operand] || readers[operand].back() > i;
      if ((!isGiven(operand) && !mayBeFree[operand]) || (isOnce && isReadLater && !step.mayRepeat))
        continue;
      for (uint32_t result : step.makes)
        if (problem.bytes[result] == problem.bytes[operand])
          mayBeFree[result] = 1;
    }
  }
}

void Graph::findAffected() {
  std::vector<std::vector<uint32_t>> takers(numValues); // results that may take a value's place
  for (const Step &step : problem.steps)
    for (uint32_t operand : step.replaces)
      for (uint32_t result : step.makes)
        if (held[result] > 0)
          takers[operand].push_back(result);
  std::vector<uint32_t> seen(numValues, none);
  for (uint32_t i = 0; i < numSteps; ++i) {
    std::vector<uint32_t> &list = affected[i];
    auto add = [&](uint32_t value) {
      if (seen[value] != i)
        list.push_back(value);
      seen[value] = i;
    };
    for (const std::vector<uint32_t> *values : {&problem.steps[i].makes, &problem.steps[i].reads})
      for (uint32_t value : *values)
        add(value);
    size_t direct = list.size();
    // Whether an operand ends changes the places of results; whether a result is free changes
    // whether those in its place are.
    for (size_t at = 0; at < list.size(); ++at)
      for (uint32_t result : takers[list[at]])
        if (at < direct || (mayBeFree[list[at]] && mayBeFree[result]))
          add(result);
    std::erase_if(list, [&](uint32_t value) { return held[value] == 0; });
  }
}

} // namespace gantry::remat
