// A topology with fewer tasks: everything else is left out, and what is left is counted anew.
#include "FirstTasks.h"

#include "gantry/Support/Format.h"
#include "gantry/Support/Text.h"

#include <charconv>
#include <set>

namespace gantry {

Expected<std::vector<JobSize>> parseJobSizes(std::string_view text) {
  std::vector<JobSize> jobs;
  for (std::string_view part : splitList(text)) {
    const size_t equals = part.find('=');
    JobSize &job = jobs.emplace_back(JobSize{std::string(part.substr(0, equals)), 0});
    const std::string_view number = equals == part.npos ? "" : part.substr(equals + 1);
    auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), job.tasks);
    if (error != std::errc() || stop != number.data() + number.size() || job.tasks == 0 ||
        job.tasks > maxDevices)
      return Status::invalidArgument(
          format("'%.*s' is not a job and how many tasks it has, like worker=4", int(part.size()),
                 part.data()));
  }
  return jobs;
}

namespace {

/// The new numbers of what is kept, in order; others have none.
struct Renumbered {
  static constexpr uint32_t none = UINT32_MAX;
  std::vector<uint32_t> numbers;

  /// Keeps those elements that `isKept` is true of, by number.
  template <typename Element, typename IsKept>
  Renumbered(std::vector<Element> &elements, IsKept isKept) : numbers(elements.size(), none) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < elements.size(); ++i)
      if (isKept(i)) {
        numbers[i] = kept;
        if (i != kept)
          elements[kept] = std::move(elements[i]);
        ++kept;
      }
    elements.resize(kept);
  }

  bool has(uint32_t number) const { return number < numbers.size() && numbers[number] != none; }
  /// Only those that are kept stay in the list.
  void apply(std::vector<uint32_t> &list) const {
    std::erase_if(list, [&](uint32_t number) { return !has(number); });
    for (uint32_t &number : list)
      number = numbers[number];
  }
};

Expected<std::set<TaskName>> findTasks(const Topology &topology, std::span<const JobSize> jobs) {
  const std::vector<TaskName> all = tasksOf(topology);
  std::set<TaskName> found;
  for (const JobSize &job : jobs) {
    uint32_t left = job.tasks;
    for (const TaskName &task : all)
      if (left > 0 && task.job == job.job && found.insert(task).second)
        --left;
    if (left > 0)
      return Status::invalidArgument(
          format("'%s=%u' is more tasks than the topology has, which are %s", job.job.c_str(),
                 job.tasks, foldTasks(all).c_str()));
  }
  return found;
}

void keepHosts(Topology &topology) {
  std::set<uint32_t> used;
  for (const JobTask &task : topology.tasks)
    used.insert(task.host);
  const Renumbered hosts(topology.hosts, [&](uint32_t host) { return used.contains(host); });
  for (JobTask &task : topology.tasks)
    task.host = hosts.numbers[task.host];
  if (!topology.network)
    return;
  for (HostLink &link : topology.network->links)
    hosts.apply(link.from), hosts.apply(link.to);
  std::erase_if(topology.network->links,
                [](const HostLink &link) { return link.from.empty() || link.to.empty(); });
}

} // namespace

Expected<Topology> firstTasks(const Topology &topology, std::span<const JobSize> jobs) {
  Expected<std::set<TaskName>> tasks = findTasks(topology, jobs);
  if (!tasks)
    return tasks.status();
  Topology result = topology;
  std::erase_if(result.tasks, [&](const JobTask &task) { return !tasks->contains(task.name); });
  std::erase_if(result.logical,
                [&](const LogicalDevice &device) { return !tasks->contains(taskOf(device.name)); });
  std::set<uint32_t> used; // also those of other tasks, as far as they are what ours stand for
  for (const LogicalDevice &device : result.logical)
    used.insert(device.physical);
  const Renumbered physical(result.physical, [&](uint32_t device) {
    return used.contains(device) || tasks->contains(taskOf(topology.physical[device].name));
  });
  for (LogicalDevice &device : result.logical)
    device.physical = physical.numbers[device.physical];
  std::erase_if(result.links, [&](const Link &link) {
    return !physical.has(link.from) || !physical.has(link.to);
  });
  for (Link &link : result.links)
    link.from = physical.numbers[link.from], link.to = physical.numbers[link.to];
  keepHosts(result);
  GANTRY_RETURN_IF_ERROR(result.check());
  return result;
}

} // namespace gantry
