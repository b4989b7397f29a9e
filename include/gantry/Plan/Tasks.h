// The tasks of a job, and what of a plan is each one's: the plan is one for all of them, and a task
// has the devices whose names say so, with the arenas, constants, commands and kernels there.
//
// The device indices of the plan have been checked.
#pragma once

#include "gantry/Device/Task.h"
#include "gantry/Plan/Views.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gantry::plan {

/// Whose each device is.
class Tasks {
public:
  explicit Tasks(const fb::Plan &plan);

  /// In the order of names, which is that of ranks.
  const std::vector<TaskName> &names() const { return all; }
  uint32_t count() const { return static_cast<uint32_t>(all.size()); }
  /// The task of a device of the plan.
  uint32_t of(uint32_t device) const { return byDevice[device]; }

private:
  std::vector<TaskName> all;
  std::vector<uint32_t> byDevice;
};

/// The conditions of a branch or loop, one value: of each task that has commands inside, or the
/// only one. None of other commands.
std::span<const fb::BufferRef> conditionsOf(const fb::Command &command);

/// Bytes in arenas of each kind.
struct MemoryNeed {
  uint64_t constants = 0, variables = 0, transient = 0;
  uint64_t total() const { return constants + variables + transient; }
};

/// What a task has of a plan. Lists hold indices into the plan's tables, in their order.
class TaskView {
public:
  /// Both outlive the view.
  TaskView(const fb::Plan &plan, const Tasks &tasks, uint32_t task)
      : plan(plan), tasks(tasks), task(task) {}

  bool hasDevice(uint32_t device) const { return tasks.of(device) == task; }
  /// Whether it does the command; a branch or loop where it has commands inside.
  bool has(const fb::Function &function, const fb::Command &command) const;

  std::vector<uint32_t> devices() const;
  std::vector<uint32_t> arenas() const;
  std::vector<uint32_t> constants() const;
  /// Those that it launches.
  std::vector<uint32_t> kernels() const;
  /// Of one of its devices.
  MemoryNeed peak(uint32_t device) const;

private:
  const fb::Plan &plan;
  const Tasks &tasks;
  uint32_t task;
};

} // namespace gantry::plan
