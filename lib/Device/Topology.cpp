// Making topologies and finding devices in them; what is sound is in TopologyCheck.cpp, the JSON
// form in TopologyJSON.cpp, flags in TopologyFlags.cpp.
#include "gantry/Device/Topology.h"

#include "gantry/Device/NameRanges.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Text.h"

#include <algorithm>
#include <set>

namespace gantry {

std::string_view driverName(Driver driver) {
  switch (driver) {
  case Driver::host:
    return "host";
  case Driver::sim:
    return "sim";
  case Driver::cuda:
    return "cuda";
  }
  return "";
}

namespace {
DeviceName asPhysical(DeviceName name) {
  name.physical = true;
  return name;
}

/// Adds a physical device with the logical device that is all of it.
void addWhole(Topology &topology, const DeviceName &name, Driver driver, uint64_t limit) {
  PhysicalDevice physical;
  physical.name = asPhysical(name);
  physical.driver = driver;
  topology.logical.push_back({name, static_cast<uint32_t>(topology.physical.size()), limit});
  topology.physical.push_back(std::move(physical));
}

struct ListedDevice {
  DeviceName name;
  uint64_t limit = 0;
};

/// "GPU:1@16GiB", "GPU:{0..3}@16GiB".
Status addListed(std::string_view text, std::vector<ListedDevice> &listed) {
  size_t at = text.find('@');
  Expected<std::vector<DeviceName>> names = expandDevices(text.substr(0, at));
  if (!names)
    return names.status();
  uint64_t limit = 0;
  for (const DeviceName &name : *names)
    if (!name.type || !name.id || name.physical)
      return Status::invalidArgument("'" + std::string(text) +
                                     "' in a device list does not name one device; write a type "
                                     "and an id, like GPU:0");
  if (at != std::string_view::npos) {
    Expected<uint64_t> bytes = parseByteCount(text.substr(at + 1));
    if (!bytes)
      return bytes.status();
    if (*bytes == 0)
      return Status::invalidArgument("'" + std::string(text) +
                                     "': a limit of 0 bytes holds nothing");
    limit = *bytes;
  }
  for (const DeviceName &name : *names)
    listed.push_back({name.withDefaultTask(), limit});
  return {};
}
} // namespace

Topology Topology::hostOnly() {
  Topology topology;
  addWhole(topology, DeviceName::local(DeviceType::CPU, 0), Driver::host, 0);
  return topology;
}

Expected<Topology> Topology::fromFlag(std::string_view text, Driver gpuDriver) {
  std::vector<ListedDevice> listed;
  for (std::string_view part : splitList(text))
    GANTRY_RETURN_IF_ERROR(addListed(part, listed));
  // Every task has its host.
  std::set<DeviceName> known;
  for (const ListedDevice &device : listed)
    known.insert(device.name);
  for (size_t i = 0, count = listed.size(); i < count; ++i)
    if (DeviceName host = taskOf(listed[i].name).device(DeviceType::CPU, 0);
        known.insert(host).second)
      listed.push_back({host, 0});
  // The order of names is that of jobs, tasks, CPUs before GPUs, ids.
  std::sort(listed.begin(), listed.end(),
            [](const ListedDevice &a, const ListedDevice &b) { return a.name < b.name; });
  Topology topology;
  for (const ListedDevice &device : listed)
    addWhole(topology, device.name, device.name.type == DeviceType::CPU ? Driver::host : gpuDriver,
             device.limit);
  GANTRY_RETURN_IF_ERROR(topology.check());
  return topology;
}

const LogicalDevice *Topology::find(const DeviceName &name) const {
  // In order of names; a plan that somebody made by hand need not be.
  auto found = std::lower_bound(
      logical.begin(), logical.end(), name,
      [](const LogicalDevice &device, const DeviceName &wanted) { return device.name < wanted; });
  if (found == logical.end() || found->name != name)
    found = std::find_if(logical.begin(), logical.end(),
                         [&](const LogicalDevice &device) { return device.name == name; });
  return found == logical.end() ? nullptr : &*found;
}

Expected<std::vector<DeviceName>> Topology::devicesNamed(std::string_view text) const {
  Expected<std::vector<DeviceName>> written = expandDevices(text);
  if (!written || !namesAll(text))
    return written;
  std::vector<DeviceName> named;
  for (const DeviceName &pattern : *written)
    for (const LogicalDevice &device : logical)
      if (pattern.matches(device.name))
        named.push_back(device.name);
  if (named.empty())
    return Status::invalidArgument("'" + std::string(text) +
                                   "' matches no device; the devices are " + deviceList());
  return named;
}

std::optional<uint32_t> Topology::place(const DeviceName &wanted, bool isSoft,
                                        std::span<const uint64_t> held) const {
  std::optional<uint32_t> best;
  auto bytes = [&](uint32_t device) { return device < held.size() ? held[device] : 0; };
  for (uint32_t device = 0; device < logical.size(); ++device) {
    const DeviceName &name = logical[device].name;
    if (!wanted.matches(name))
      continue;
    const bool isBetter =
        !best || (name.type == logical[*best].name.type && bytes(device) != bytes(*best)
                      ? bytes(device) > bytes(*best)
                      : name.isPreferredTo(logical[*best].name));
    if (isBetter)
      best = device;
  }
  if (best || !isSoft || (!wanted.id && !wanted.type))
    return best;
  DeviceName weaker = wanted;
  if (!weaker.id)
    weaker.type.reset();
  weaker.id.reset();
  return place(weaker, true, held);
}

uint64_t Topology::limitOf(const LogicalDevice &device) const {
  return device.limit ? device.limit : physical[device.physical].memory;
}

std::string Topology::deviceList() const {
  std::string list;
  for (const LogicalDevice &device : logical)
    list += (list.empty() ? "" : ", ") + device.name.str();
  return list;
}

} // namespace gantry
