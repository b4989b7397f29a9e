#include "gantry/Device/Task.h"

#include "gantry/Device/NameRanges.h"
#include "gantry/Device/Topology.h"

#include <set>

namespace gantry {

Expected<TaskName> TaskName::parse(std::string_view text) {
  Expected<DeviceName> name = DeviceName::parse(text);
  if (!name)
    return name.status();
  if (name->type || name->physical)
    return Status::invalidArgument("'" + std::string(text) +
                                   "' names a device; a task is written like /job:worker/task:1");
  return taskOf(*name);
}

static std::string jobPart(const TaskName &name) { return "/job:" + name.job; }

static std::string replicaPart(const TaskName &name) {
  return "/replica:" + std::to_string(name.replica);
}

std::string TaskName::str() const {
  return jobPart(*this) + replicaPart(*this) + "/task:" + std::to_string(task);
}

std::string TaskName::shortStr() const {
  return jobPart(*this) + (replica ? replicaPart(*this) : "") + "/task:" + std::to_string(task);
}

DeviceName TaskName::device(DeviceType type, uint32_t id) const {
  return {job, replica, task, type, id, false};
}

TaskName taskOf(const DeviceName &device) {
  const DeviceName full = device.withDefaultTask();
  return {*full.job, *full.replica, *full.task};
}

std::vector<TaskName> tasksOf(const Topology &topology) {
  std::set<TaskName> tasks;
  for (const LogicalDevice &device : topology.logical)
    tasks.insert(taskOf(device.name));
  return {tasks.begin(), tasks.end()};
}

std::vector<std::string> foldedTasks(std::span<const TaskName> tasks) {
  std::vector<std::string> names;
  for (size_t first = 0; first < tasks.size();) {
    size_t last = first;
    while (last + 1 < tasks.size() && tasks[last + 1].job == tasks[first].job &&
           tasks[last + 1].replica == tasks[first].replica &&
           tasks[last + 1].task == tasks[last].task + 1)
      ++last;
    std::string name = tasks[first].shortStr();
    name.resize(name.rfind(':') + 1);
    names.push_back(name + rangeText(tasks[first].task, tasks[last].task));
    first = last + 1;
  }
  return names;
}

std::string foldTasks(std::span<const TaskName> tasks) {
  std::string text;
  for (const std::string &name : foldedTasks(tasks))
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace gantry
