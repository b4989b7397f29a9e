// What flags make of a topology: other devices, some of them hidden, some split, all simulated.
//
// Flags name physical devices, as `gantry devices` prints them: what they change is which logical
// devices stand for those, so logical GPUs are numbered anew after every change (spec D4, D8).
#include "gantry/Device/Topology.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/File.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace gantry {

namespace {
std::vector<std::string_view> splitList(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

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
    return Status::invalidArgument("'" + std::string(text) +
                                   "' is not one GPU; write it like GPU:0");
  name->physical = true;
  return name;
}

Status unknownGPU(const Topology &topology, std::string_view text) {
  return Status::invalidArgument("'" + std::string(text) + "': unknown device; " +
                                 physicalGPUs(topology));
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

struct Split {
  DeviceName name; ///< partial
  std::vector<uint64_t> limits;
};

/// "GPU:0=1GiB,1GiB"
Expected<Split> parseSplit(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return Status::invalidArgument("'" + std::string(text) +
                                   "' has no limits; write it like GPU:0=1GiB,1GiB");
  Expected<DeviceName> name = parseGPU(text.substr(0, equals));
  if (!name)
    return name.status();
  Split split{name.take(), {}};
  for (std::string_view part : splitList(text.substr(equals + 1))) {
    Expected<uint64_t> limit = parseByteCount(part);
    if (!limit)
      return limit.status();
    if (*limit == 0)
      return Status::invalidArgument("'" + std::string(text) +
                                     "': a limit of 0 bytes holds nothing");
    split.limits.push_back(*limit);
  }
  return split;
}

/// Puts the parts in the place of the one logical device that stood for `physical`.
Status splitOne(Topology &topology, uint32_t physical, const Split &split) {
  auto isOn = [&](const LogicalDevice &device) { return device.physical == physical; };
  auto &logical = topology.logical;
  std::string name = "'" + topology.physical[physical].name.shortStr() + "'";
  auto found = std::find_if(logical.begin(), logical.end(), isOn);
  if (found == logical.end())
    return Status::invalidArgument(name + " is not visible; make it visible or do not split it");
  if (std::count_if(logical.begin(), logical.end(), isOn) > 1)
    return Status::invalidArgument(name + " is split already; split it once");
  if (found->limit != 0)
    return Status::invalidArgument(name + " has a limit of " + formatBytes(found->limit) +
                                   " already; give the limits of its parts alone");
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
  return status.ok() ? status : Status(status.code(), std::string(flag) + ": " + status.message());
}

Expected<Topology> readFile(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const uint8_t> bytes = file->bytes();
  Expected<Topology> topology =
      Topology::fromJSON({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  if (!topology)
    return Status(topology.status().code(), "'" + path + "': " + topology.status().message());
  return topology;
}
} // namespace

Expected<Topology> Topology::withVisible(std::string_view list) const {
  std::vector<DeviceName> wanted;
  if (list != "none")
    for (std::string_view text : splitList(list)) {
      bool isNumber = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
      Expected<DeviceName> name = parseGPU((isNumber ? "GPU:" : "") + std::string(text));
      if (!name)
        return name.status();
      auto isWanted = [&](const PhysicalDevice &device) { return name->matches(device.name); };
      if (std::none_of(physical.begin(), physical.end(), isWanted))
        return unknownGPU(*this, text);
      wanted.push_back(name.take());
    }
  Topology visible = *this;
  std::erase_if(visible.logical, [&](const LogicalDevice &device) {
    const PhysicalDevice &on = physical[device.physical];
    return isGPU(on) && std::none_of(wanted.begin(), wanted.end(),
                                     [&](const DeviceName &name) { return name.matches(on.name); });
  });
  renumber(visible);
  return visible;
}

Expected<Topology> Topology::withSplits(std::span<const std::string> splits) const {
  Topology result = *this;
  for (const std::string &text : splits) {
    Expected<Split> split = parseSplit(text);
    if (!split)
      return split.status();
    bool found = false;
    for (uint32_t i = 0; i < physical.size(); ++i)
      if (split->name.matches(physical[i].name)) {
        GANTRY_RETURN_IF_ERROR(splitOne(result, i, *split));
        found = true;
      }
    if (!found)
      return unknownGPU(*this, text.substr(0, text.find('=')));
  }
  renumber(result);
  GANTRY_RETURN_IF_ERROR(result.check());
  return result;
}

Topology Topology::simulated() const {
  Topology result = *this;
  for (PhysicalDevice &device : result.physical)
    if (isGPU(device))
      device.driver = Driver::sim;
  return result;
}

Expected<Topology> applyFlags(const TopologyFlags &flags, const Topology &machine) {
  Topology topology = machine;
  if (!flags.devices.empty() && !flags.file.empty())
    return Status::invalidArgument("--devices=" + flags.devices + " and --topology=" + flags.file +
                                   " both say what the devices are; give one of them");
  if (!flags.devices.empty()) {
    Expected<Topology> listed = Topology::fromFlag(flags.devices);
    if (!listed)
      return inFlag("--devices", listed.status());
    topology = listed.take();
  }
  if (!flags.file.empty()) {
    Expected<Topology> read = readFile(flags.file);
    if (!read)
      return inFlag("--topology", read.status());
    topology = read.take();
  }
  if (!flags.visible.empty()) {
    Expected<Topology> visible = topology.withVisible(flags.visible);
    if (!visible)
      return inFlag("--visible", visible.status());
    topology = visible.take();
  }
  if (!flags.splits.empty()) {
    Expected<Topology> split = topology.withSplits(flags.splits);
    if (!split)
      return inFlag("--split", split.status());
    topology = split.take();
  }
  if (!flags.simulate)
    return topology;
  if (std::none_of(topology.physical.begin(), topology.physical.end(), isGPU))
    return Status::invalidArgument(
        "--simulate: there is no GPU to simulate; list some, like --devices=CPU:0,GPU:0");
  return topology.simulated();
}

} // namespace gantry
