// Problems of automatic placement made by hand and at random.
#pragma once

#include "gantry/AutoPlacement/AutoPlacement.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace gantry::placement {

/// Devices joined all with all: `latency` and `secondsPerByte` everywhere but within one.
inline AutoProblem devices(uint32_t count, uint64_t limit = 0, double latency = 0,
                           double secondsPerByte = 0) {
  AutoProblem problem;
  problem.limits.assign(count, limit);
  problem.numQueues = count * count;
  for (uint32_t from = 0; from < count; ++from)
    for (uint32_t to = 0; to < count; ++to)
      problem.links.push_back(
          {from == to ? 0 : latency, from == to ? 0 : secondsPerByte, from * count + to});
  return problem;
}

inline uint32_t addValue(AutoProblem &problem, AutoValue value) {
  problem.values.push_back(value);
  return static_cast<uint32_t>(problem.values.size() - 1);
}
inline uint32_t addConstant(AutoProblem &problem, uint64_t bytes) {
  return addValue(problem, {bytes, noIndex, true});
}
inline uint32_t addArgument(AutoProblem &problem, uint64_t bytes, uint32_t home) {
  return addValue(problem, {bytes, home, false});
}

/// Adds a task with one output, and returns that.
inline uint32_t addTask(AutoProblem &problem, std::vector<uint32_t> inputs,
                        std::vector<double> seconds, uint64_t bytes) {
  uint32_t output = addValue(problem, {bytes, noIndex, false});
  problem.tasks.push_back({std::move(inputs), {output}, std::move(seconds), noIndex, 0});
  return output;
}

/// `length` tasks of a second, each with a constant of its own, one after the other.
inline AutoProblem chain(AutoProblem problem, uint32_t length, uint64_t constant, uint64_t bytes) {
  uint32_t value = addArgument(problem, bytes, 0);
  std::vector<double> second(problem.numDevices(), 1);
  for (uint32_t i = 0; i < length; ++i)
    value = addTask(problem, {value, addConstant(problem, constant)}, second, bytes);
  problem.ends.push_back({value, 0});
  return problem;
}

struct RandomShape {
  uint32_t devices = 2, tasks = 6;
  bool tight = false;         ///< memory for a part of the whole on each device
  bool groups = false;        ///< some tasks belong together, some may not run everywhere
  bool budgets = false;       ///< on the copies into the first device and on all others
  bool roomForValues = false; ///< tight memory is so for constants alone
};

inline AutoProblem randomProblem(std::mt19937 &random, const RandomShape &shape) {
  auto draw = [&](int from, int to) { return std::uniform_int_distribution<>(from, to)(random); };
  AutoProblem problem = devices(shape.devices, 0, draw(0, 3) * 0.3, draw(0, 3) * 1e-3);
  std::vector<double> speed;
  for (uint32_t d = 0; d < shape.devices; ++d)
    speed.push_back(draw(0, 2) ? 1 : 0.5);
  std::vector<uint32_t> values;
  for (int i = draw(1, 2); i > 0; --i)
    values.push_back(addArgument(problem, draw(1, 20) * 64, 0));
  uint64_t constants = 0;
  for (uint32_t t = 0; t < shape.tasks; ++t) {
    std::vector<uint32_t> inputs;
    for (int i = draw(1, 2); i > 0; --i) {
      uint32_t value = values[draw(std::max(0, int(values.size()) - 5), int(values.size()) - 1)];
      if (std::find(inputs.begin(), inputs.end(), value) == inputs.end())
        inputs.push_back(value);
    }
    if (draw(0, 1)) {
      uint64_t bytes = draw(1, 40) * 64;
      constants += bytes;
      inputs.push_back(addConstant(problem, bytes));
    }
    double work = draw(1, 1000) * 1e-2;
    std::vector<double> seconds;
    for (double s : speed)
      seconds.push_back(work / s);
    values.push_back(addTask(problem, inputs, seconds, draw(1, 20) * 64));
  }
  problem.ends.push_back({values.back(), 0});
  uint64_t room = 64 * 40;
  if (shape.roomForValues)
    for (const AutoValue &value : problem.values)
      room += value.isConstant ? 0 : value.bytes;
  if (shape.tight)
    for (uint64_t &limit : problem.limits)
      limit = constants * draw(50, 120) / 100 + room;
  if (shape.budgets) {
    for (uint32_t from = 0; from < shape.devices; ++from)
      for (uint32_t to = 0; to < shape.devices; ++to)
        if (from != to)
          problem.links[from * shape.devices + to].budget = to == 0 ? 0 : 1;
    // Some tasks cannot be where the arguments and the result are.
    for (uint32_t t = 0; t < shape.tasks; t += 3)
      problem.tasks[t].seconds[0] = notAllowed;
    problem.budgets = {uint64_t(draw(0, 40)) * 64, uint64_t(draw(0, 60)) * 64};
  }
  if (shape.groups) {
    for (int i = 0; i < 2; ++i)
      problem.tasks[draw(0, int(shape.tasks) - 1)].group = 7;
    problem.tasks[draw(0, int(shape.tasks) - 1)].seconds.back() = notAllowed;
  }
  return problem;
}

/// The same problem with tasks and values numbered otherwise; `taskOf` becomes old → new.
inline AutoProblem shuffled(const AutoProblem &problem, std::mt19937 &random,
                            std::vector<uint32_t> &taskOf) {
  std::vector<uint32_t> valueOf(problem.values.size());
  taskOf.resize(problem.tasks.size());
  std::iota(valueOf.begin(), valueOf.end(), 0);
  std::iota(taskOf.begin(), taskOf.end(), 0);
  std::shuffle(valueOf.begin(), valueOf.end(), random);
  std::shuffle(taskOf.begin(), taskOf.end(), random);
  AutoProblem result = problem;
  for (size_t v = 0; v < problem.values.size(); ++v)
    result.values[valueOf[v]] = problem.values[v];
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    AutoTask task = problem.tasks[t];
    for (std::vector<uint32_t> *list : {&task.inputs, &task.outputs})
      for (uint32_t &value : *list)
        value = valueOf[value];
    result.tasks[taskOf[t]] = task;
  }
  for (AutoEnd &end : result.ends)
    end.value = valueOf[end.value];
  return result;
}

/// An order as the tasks are numbered, makers first.
inline std::vector<uint32_t> asNumbered(const AutoProblem &problem) {
  std::vector<uint32_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

} // namespace gantry::placement
