// What flags make of a topology: other devices, some of them hidden, some split, all simulated.
//
// Flags name physical devices, as `gantry devices` prints them: what they change is which logical
// devices stand for those, so logical GPUs are numbered anew after every change (spec D4, D8).
#include "FirstTasks.h"

#include "gantry/Device/Topology.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Text.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace gantry {

namespace {
bool isGPU(const PhysicalDevice &device) { return device.type() == DeviceType::GPU; }

std::string physicalGPUs(const Topology &topology) {
  std::string list;
  for (const PhysicalDevice &device : topology.physical)
    if (isGPU(device))
      list += (list.empty() ? "" : ", ") + device.name.shortStr();
  return list.empty() ? "there is no GPU" : "the GPUs are " + list;
}

/// "GPU:1", "/physical_device:GPU:1" or a part of a name, as the partial name of physical GPUs.
Expected<DeviceName> parseGPU(std::string_view text) {
  Expected<DeviceName> name = DeviceName::parse(text);
  if (!name)
    return name.status();
  if (name->type != DeviceType::GPU || !name->id)
    return Status::invalidArgument(
        format("'%.*s' is not one GPU; write it like GPU:0", int(text.size()), text.data()));
  name->physical = true;
  return name;
}

Status unknownGPU(const Topology &topology, const std::string &text) {
  return Status::invalidArgument(
      format("'%s': unknown device; %s", text.c_str(), physicalGPUs(topology).c_str()));
}

/// Names logical GPUs by their order in each task, CPUs stay as they are.
void renumber(Topology &topology) {
  std::stable_sort(
      topology.logical.begin(), topology.logical.end(),
      [](const LogicalDevice &a, const LogicalDevice &b) { return a.physical < b.physical; });
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> next; // by task
  for (LogicalDevice &device : topology.logical)
    if (device.name.type == DeviceType::GPU)
      device.name.id = next[{*device.name.job, *device.name.replica, *device.name.task}]++;
  std::sort(topology.logical.begin(), topology.logical.end(),
            [](const LogicalDevice &a, const LogicalDevice &b) { return a.name < b.name; });
}

/// Puts the parts in the place of the one logical device that stood for `physical`.
Status splitOne(Topology &topology, uint32_t physical, const GPUSplit &split) {
  auto isOn = [&](const LogicalDevice &device) { return device.physical == physical; };
  auto &logical = topology.logical;
  const std::string name = topology.physical[physical].name.shortStr();
  auto found = std::find_if(logical.begin(), logical.end(), isOn);
  if (found == logical.end())
    return Status::invalidArgument(
        format("'%s' is not visible; make it visible or do not split it", name.c_str()));
  if (std::count_if(logical.begin(), logical.end(), isOn) > 1)
    return Status::invalidArgument(format("'%s' is split already; split it once", name.c_str()));
  if (found->limit != 0)
    return Status::invalidArgument(
        format("'%s' has a limit of %s already; give the limits of its parts alone", name.c_str(),
               formatBytes(found->limit).c_str()));
  LogicalDevice whole = *found;
  found = logical.erase(found);
  for (uint64_t limit : split.limits) {
    whole.limit = limit;
    found = logical.insert(found, whole) + 1;
  }
  return {};
}

/// The flag's name before what went wrong with it.
Status inFlag(const char *flag, const Status &status) {
  return status.ok() ? status
                     : Status(status.code(), format("%s: %s", flag, status.message().c_str()));
}

} // namespace

Expected<VisibleGPUs> VisibleGPUs::parse(std::string_view text) {
  VisibleGPUs visible;
  if (text == "none")
    return visible;
  for (std::string_view part : splitList(text)) {
    bool isNumber = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    Expected<DeviceName> name = parseGPU((isNumber ? "GPU:" : "") + std::string(part));
    if (!name)
      return name.status();
    for (const auto &other : visible.gpus)
      if (other.name == *name)
        return Status::invalidArgument(
            format("'%.*s' is listed twice", int(part.size()), part.data()));
    visible.gpus.push_back({name.take(), std::string(part)});
  }
  return visible;
}

Expected<GPUSplit> GPUSplit::parse(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return Status::invalidArgument(format("'%.*s' has no limits; write it like GPU:0=1GiB,1GiB",
                                          int(text.size()), text.data()));
  Expected<DeviceName> name = parseGPU(text.substr(0, equals));
  if (!name)
    return name.status();
  GPUSplit split{{name.take(), std::string(text.substr(0, equals))}, {}};
  for (std::string_view part : splitList(text.substr(equals + 1))) {
    Expected<uint64_t> limit = parseByteCount(part);
    if (!limit)
      return limit.status();
    if (*limit == 0)
      return Status::invalidArgument(
          format("'%.*s': a limit of 0 bytes holds nothing", int(text.size()), text.data()));
    split.limits.push_back(*limit);
  }
  return split;
}

Expected<Topology> Topology::withVisible(const VisibleGPUs &visible) const {
  for (const GPURequest &wanted : visible.gpus)
    if (std::none_of(physical.begin(), physical.end(), [&](const PhysicalDevice &device) {
          return wanted.name.matches(device.name);
        }))
      return unknownGPU(*this, wanted.text);
  Topology result = *this;
  std::erase_if(result.logical, [&](const LogicalDevice &device) {
    const PhysicalDevice &on = physical[device.physical];
    return isGPU(on) &&
           std::none_of(visible.gpus.begin(), visible.gpus.end(),
                        [&](const GPURequest &wanted) { return wanted.name.matches(on.name); });
  });
  renumber(result);
  return result;
}

Expected<Topology> Topology::withSplits(std::span<const GPUSplit> splits) const {
  Topology result = *this;
  for (const GPUSplit &split : splits) {
    bool found = false;
    for (uint32_t i = 0; i < physical.size(); ++i)
      if (split.gpu.name.matches(physical[i].name)) {
        GANTRY_RETURN_IF_ERROR(splitOne(result, i, split));
        found = true;
      }
    if (!found)
      return unknownGPU(*this, split.gpu.text);
  }
  renumber(result);
  GANTRY_RETURN_IF_ERROR(result.check());
  return result;
}

/// GPUs, and of several tasks the CPUs, too: their memory is closed to one another.
Topology Topology::simulated() const {
  Topology result = *this;
  const bool isJob = tasksOf(*this).size() > 1;
  for (PhysicalDevice &device : result.physical)
    if (isJob || isGPU(device))
      device.driver = Driver::sim;
  return result;
}

/// The list of --devices with each device once for every task of --tasks=worker=4,ps=1.
static Expected<std::string> devicesOfTasks(const TopologyFlags &flags) {
  if (flags.tasks.empty())
    return flags.devices;
  const std::string given = "--tasks=" + flags.tasks;
  const std::string devices = flags.devices.empty() ? "CPU:0" : flags.devices;
  if (devices.find('/') != devices.npos)
    return Status::invalidArgument(
        format("%s gives each task the devices of --devices=%s, which are "
               "then written without tasks, like CPU:0,GPU:0",
               given.c_str(), devices.c_str()));
  Expected<std::vector<JobSize>> jobs = parseJobSizes(flags.tasks);
  if (!jobs)
    return inFlag(given.c_str(), jobs.status());
  std::string all;
  for (const JobSize &job : *jobs)
    for (std::string_view device : splitList(devices))
      all += format("%s/job:%s/task:{0..%u}/%.*s", all.empty() ? "" : ",", job.job.c_str(),
                    job.tasks - 1, int(device.size()), device.data());
  return all;
}

/// That of --topology, and with --tasks of those tasks alone.
static Expected<Topology> topologyInFile(const TopologyFlags &flags) {
  Expected<Topology> read = Topology::fromJSON(flags.json);
  if (!read)
    return inFlag(format("--topology: '%s'", flags.file.c_str()).c_str(), read.status());
  if (flags.tasks.empty())
    return read;
  const std::string given = "--tasks=" + flags.tasks;
  Expected<std::vector<JobSize>> jobs = parseJobSizes(flags.tasks);
  if (!jobs)
    return inFlag(given.c_str(), jobs.status());
  Expected<Topology> fewer = firstTasks(*read, *jobs);
  return fewer ? fewer : inFlag(given.c_str(), fewer.status());
}

Expected<TopologyRequest> TopologyRequest::parse(const TopologyFlags &flags) {
  TopologyRequest request;
  request.simulate = flags.simulate;
  if (!flags.devices.empty() && !flags.file.empty())
    return Status::invalidArgument(
        format("--devices=%s and --topology=%s both say what the devices are; give one of them",
               flags.devices.c_str(), flags.file.c_str()));
  if (!flags.devices.empty() || (!flags.tasks.empty() && flags.file.empty())) {
    Expected<std::string> devices = devicesOfTasks(flags);
    if (!devices)
      return devices.status();
    Expected<Topology> listed = Topology::fromFlag(*devices);
    if (!listed)
      return inFlag("--devices", listed.status());
    request.devices = listed.take();
  }
  if (!flags.file.empty()) {
    Expected<Topology> read = topologyInFile(flags);
    if (!read)
      return read.status();
    request.devices = read.take();
    request.isComplete = true;
  }
  if (!flags.visible.empty()) {
    Expected<VisibleGPUs> visible = VisibleGPUs::parse(flags.visible);
    if (!visible)
      return inFlag("--visible", visible.status());
    request.visible = visible.take();
  }
  for (const std::string &text : flags.splits) {
    Expected<GPUSplit> split = GPUSplit::parse(text);
    if (!split)
      return inFlag("--split", split.status());
    request.splits.push_back(split.take());
  }
  return request;
}

Expected<Topology> TopologyRequest::applyTo(const Topology &machine) const {
  Topology topology = devices ? *devices : machine;
  if (visible) {
    Expected<Topology> fewer = topology.withVisible(*visible);
    if (!fewer)
      return inFlag("--visible", fewer.status());
    topology = fewer.take();
  }
  if (!splits.empty()) {
    Expected<Topology> split = topology.withSplits(splits);
    if (!split)
      return inFlag("--split", split.status());
    topology = split.take();
  }
  if (!simulate)
    return topology;
  if (std::none_of(topology.physical.begin(), topology.physical.end(), isGPU) &&
      tasksOf(topology).size() < 2)
    return Status::invalidArgument(
        "--simulate: there is no GPU to simulate; list some, like --devices=CPU:0,GPU:0");
  return topology.simulated();
}

} // namespace gantry
