// The tasks of a job: what a device's name says of the process that has it.
#pragma once

#include "gantry/Device/DeviceName.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct Topology;

/// Whose process it is.
struct TaskName {
  std::string job = "localhost";
  uint32_t replica = 0, task = 0;

  /// Reads "/job:worker/task:1", whose absent parts are the default task's. Errors:
  /// INVALID_ARGUMENT, also for a name that says a device.
  static Expected<TaskName> parse(std::string_view text);

  /// "/job:worker/replica:0/task:1".
  std::string str() const;
  /// Without a replica that is 0: "/job:worker/task:1".
  std::string shortStr() const;
  /// A device of the task.
  DeviceName device(DeviceType type, uint32_t id) const;

  bool operator==(const TaskName &) const = default;
  auto operator<=>(const TaskName &) const = default;
};

/// Of a name whose absent parts are the default task's.
TaskName taskOf(const DeviceName &device);

/// Each task that has a logical device once, in the order of names: rank r is the r-th.
std::vector<TaskName> tasksOf(const Topology &topology);

/// Names of tasks as people write them, "/job:worker/task:{0..63}", "/job:ps/task:0": what follows
/// one another in a job is folded. `tasks` are in order.
std::vector<std::string> foldedTasks(std::span<const TaskName> tasks);
/// The same in one text, with commas.
std::string foldTasks(std::span<const TaskName> tasks);

} // namespace gantry
