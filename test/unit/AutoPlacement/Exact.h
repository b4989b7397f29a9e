// The best of all placements in all orders, of problems with few tasks.
#pragma once

#include "gantry/AutoPlacement/AutoPlacement.h"

#include <algorithm>
#include <vector>

namespace gantry::placement {

/// Branches over the next task and its device. What is begun is bounded by a schedule in which
/// copies never wait for each other; what is complete is played by the simulator.
class Exact {
public:
  Exact(const AutoProblem &problem, double known) : problem(problem), best(known) {
    const size_t count = problem.tasks.size();
    maker.assign(problem.values.size(), noIndex);
    for (uint32_t t = 0; t < count; ++t)
      for (uint32_t value : problem.tasks[t].outputs)
        maker[value] = t;
    findTails();
    devices.resize(count);
    end.resize(count);
    isDone.resize(count);
    free.resize(problem.numDevices());
    numOn.resize(problem.numDevices());
  }

  /// Seconds of the best, or `known` where none is faster. Gives up, with `isComplete` false, after
  /// so many branches.
  double run(uint64_t mostBranches) {
    left = mostBranches;
    branch();
    isComplete = left > 0;
    return best;
  }

  bool isComplete = false;
  AutoPlacement placement; ///< of the best; empty: none is faster than what was known

private:
  void findTails() {
    tail.assign(problem.tasks.size(), 0);
    for (size_t t = problem.tasks.size(); t-- > 0;) // numbered makers first
      for (uint32_t value : problem.tasks[t].inputs)
        if (uint32_t before = maker[value]; before != noIndex) {
          const std::vector<double> &seconds = problem.tasks[t].seconds;
          tail[before] =
              std::max(tail[before], tail[t] + *std::min_element(seconds.begin(), seconds.end()));
        }
  }

  double arrival(uint32_t value, uint32_t device) const {
    if (problem.values[value].isConstant)
      return 0;
    const uint32_t from =
        maker[value] == noIndex ? problem.values[value].home : devices[maker[value]];
    const double made = maker[value] == noIndex ? 0 : end[maker[value]];
    const AutoLink &link = problem.link(from, device);
    return from == device
               ? made
               : made + link.latency +
                     static_cast<double>(problem.values[value].bytes) * link.secondsPerByte;
  }

  bool isReady(uint32_t t) const {
    return !isDone[t] && std::all_of(problem.tasks[t].inputs.begin(), problem.tasks[t].inputs.end(),
                                     [&](uint32_t value) {
                                       return maker[value] == noIndex || isDone[maker[value]];
                                     });
  }

  /// Whether an empty device before this one is the same in all respects.
  bool isLikeEarlier(uint32_t device) const {
    for (uint32_t other = 0; other < device; ++other)
      if (numOn[other] == 0 && numOn[device] == 0 &&
          problem.limits[other] == problem.limits[device] &&
          std::all_of(
              problem.tasks.begin(), problem.tasks.end(),
              [&](const AutoTask &task) { return task.seconds[other] == task.seconds[device]; }) &&
          !isHome(other) && !isHome(device))
        return true;
    return false;
  }

  bool isHome(uint32_t device) const {
    return std::any_of(problem.values.begin(), problem.values.end(),
                       [&](const AutoValue &value) { return value.home == device; }) ||
           std::any_of(problem.ends.begin(), problem.ends.end(),
                       [&](const AutoEnd &end) { return end.device == device; });
  }

  void branch() {
    if (left == 0 || --left == 0)
      return;
    if (order.size() == problem.tasks.size())
      return play();
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      for (uint32_t d = 0; isReady(t) && d < problem.numDevices(); ++d)
        if (problem.tasks[t].seconds[d] != notAllowed && !isLikeEarlier(d))
          place(t, d);
  }

  void place(uint32_t t, uint32_t d) {
    double start = free[d];
    for (uint32_t value : problem.tasks[t].inputs)
      start = std::max(start, arrival(value, d));
    const double done = start + problem.tasks[t].seconds[d];
    // Tasks in the order in which they start: each set of turns comes once.
    if (start < lastStart || done + tail[t] >= best * (1 - 1e-9))
      return;
    const double before = free[d], startBefore = lastStart;
    devices[t] = d;
    end[t] = free[d] = done;
    lastStart = start;
    isDone[t] = 1;
    ++numOn[d];
    order.push_back(t);
    branch();
    order.pop_back();
    --numOn[d];
    isDone[t] = 0;
    lastStart = startBefore;
    free[d] = before;
  }

  void play() {
    const AutoSchedule schedule = simulate(problem, {devices, order});
    if (schedule.seconds < best && fitsMemory(problem, schedule) &&
        fitsBudgets(problem, schedule)) {
      best = schedule.seconds;
      placement = {devices, order};
    }
  }

  const AutoProblem &problem;
  double best;
  std::vector<uint32_t> maker;
  std::vector<double> tail; ///< by task: seconds behind it at least
  std::vector<uint32_t> devices, order, numOn;
  std::vector<double> end, free;
  std::vector<char> isDone;
  double lastStart = 0;
  uint64_t left = 0;
};

} // namespace gantry::placement
