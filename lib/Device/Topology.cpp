// Making and checking topologies; the JSON form is in TopologyJSON.cpp, flags in TopologyFlags.cpp.
#include "gantry/Device/Topology.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"
#include "gantry/Support/Format.h"

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

DeviceName hostOf(const DeviceName &name) {
  DeviceName host = name;
  host.type = DeviceType::CPU;
  host.id = 0;
  return host;
}

struct ListedDevice {
  DeviceName name;
  uint64_t limit = 0;
};

/// "GPU:1@16GiB".
Expected<ListedDevice> parseListed(std::string_view text) {
  ListedDevice listed;
  size_t at = text.find('@');
  Expected<DeviceName> name = DeviceName::parse(text.substr(0, at));
  if (!name)
    return name.status();
  if (!name->type || !name->id || name->physical)
    return Status::invalidArgument("'" + std::string(text) +
                                   "' in a device list does not name one device; write a type and "
                                   "an id, like GPU:0");
  listed.name = name->withDefaultTask();
  if (at == std::string_view::npos)
    return listed;
  Expected<uint64_t> limit = parseByteCount(text.substr(at + 1));
  if (!limit)
    return limit.status();
  if (*limit == 0)
    return Status::invalidArgument("'" + std::string(text) + "': a limit of 0 bytes holds nothing");
  listed.limit = *limit;
  return listed;
}
} // namespace

Topology Topology::hostOnly() {
  Topology topology;
  addWhole(topology, DeviceName::local(DeviceType::CPU, 0), Driver::host, 0);
  return topology;
}

Expected<Topology> Topology::fromFlag(std::string_view text, Driver gpuDriver) {
  std::vector<ListedDevice> listed;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    Expected<ListedDevice> device = parseListed(text.substr(begin, end - begin));
    if (!device)
      return device.status();
    listed.push_back(device.take());
    begin = end + 1;
  }
  // Every task has its host.
  for (size_t i = 0, count = listed.size(); i < count; ++i) {
    DeviceName host = hostOf(listed[i].name);
    if (std::none_of(listed.begin(), listed.end(),
                     [&](const ListedDevice &other) { return other.name == host; }))
      listed.push_back({host, 0});
  }
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
  for (const LogicalDevice &device : logical)
    if (device.name == name)
      return &device;
  return nullptr;
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

namespace {
Status wrong(const std::string &what) { return Status::invalidArgument("topology: " + what); }

std::string quoted(const DeviceName &name) { return "'" + name.str() + "'"; }

/// Full names of the right kind, none twice.
template <typename Device>
Status checkNames(const std::vector<Device> &devices, bool physical) {
  std::set<DeviceName> names;
  for (const Device &device : devices) {
    if (!device.name.isFull() || device.name.physical != physical)
      return wrong(quoted(device.name) + " is not the full name of a " +
                   (physical ? "physical" : "logical") + " device");
    if (!names.insert(device.name).second)
      return wrong(quoted(device.name) + " is there twice");
  }
  return {};
}

/// Bytes or operations a second: times of what is below or above would be no numbers.
constexpr double leastRate = 1, mostRate = 1e30;

/// What is not known is 0.
bool isRate(double rate) { return rate == 0 || (rate >= leastRate && rate <= mostRate); }
bool isTime(double seconds) { return seconds >= 0 && seconds <= longestLaunch; }

Status wrongRate(const std::string &what, const char *unit, double rate) {
  return wrong(what + " has a rate of " + format("%g", rate) + " " + unit + " a second, expected " +
               format("%g to %g, or 0 where it is not known", leastRate, mostRate));
}

Status checkPhysical(const PhysicalDevice &device) {
  if ((device.type() == DeviceType::CPU) != (device.driver == Driver::host) &&
      device.driver != Driver::sim)
    return wrong(quoted(device.name) + " cannot be run by the driver '" +
                 std::string(driverName(device.driver)) + "'");
  if (device.memory > mostBytes)
    return wrong(quoted(device.name) + " has over 2^63 - 1 bytes of memory");
  if (!isTime(device.launch))
    return wrong(quoted(device.name) + " takes " + format("%g", device.launch) +
                 " seconds to start a kernel, expected 0 to 3600");
  if (!isRate(device.bandwidth))
    return wrongRate(quoted(device.name), "bytes", device.bandwidth);
  for (double flops : device.peakFlops)
    if (!isRate(flops))
      return wrongRate(quoted(device.name), "operations", flops);
  return {};
}

Status checkLink(const Topology &topology, const Link &link) {
  const std::string name =
      "the link from " + std::to_string(link.from) + " to " + std::to_string(link.to);
  if (link.from >= topology.physical.size() || link.to >= topology.physical.size())
    return wrong(name + " does not join devices; there are " +
                 std::to_string(topology.physical.size()) + " physical devices");
  if (!isRate(link.bandwidth))
    return wrongRate(name, "bytes", link.bandwidth);
  if (!isTime(link.latency))
    return wrong(name + " takes " + format("%g", link.latency) +
                 " seconds before the first byte, expected 0 to 3600");
  return {};
}

Status checkLogical(const Topology &topology) {
  std::vector<uint64_t> used(topology.physical.size(), 0); // by physical device
  std::vector<uint32_t> parts(topology.physical.size(), 0);
  for (const LogicalDevice &device : topology.logical) {
    if (device.physical >= topology.physical.size())
      return wrong(quoted(device.name) + " is on physical device " +
                   std::to_string(device.physical) + " of " +
                   std::to_string(topology.physical.size()));
    const PhysicalDevice &on = topology.physical[device.physical];
    if (on.name.type != device.name.type)
      return wrong(quoted(device.name) + " is on " + quoted(on.name) +
                   ", which is of another type");
    uint64_t &sum = used[device.physical];
    if (addOverflows(sum, device.limit, &sum) || sum > mostBytes)
      return wrong("the limits on " + quoted(on.name) + " are over 2^63 - 1 bytes together");
    ++parts[device.physical];
  }
  for (const LogicalDevice &device : topology.logical) {
    const PhysicalDevice &on = topology.physical[device.physical];
    uint64_t sum = used[device.physical];
    if (on.memory != 0 && sum > on.memory)
      return wrong("the limits on " + quoted(on.name) + ", " + formatBytes(sum) +
                   " together, are over its memory of " + formatBytes(on.memory) +
                   "; lower them by " + formatBytes(sum - on.memory));
    if (parts[device.physical] > 1 && device.limit == 0)
      return wrong(quoted(device.name) + " shares " + quoted(on.name) +
                   " with others and has no limit; give each of them one");
  }
  const DeviceName *before = nullptr;
  for (const LogicalDevice &device : topology.logical) {
    if (before && device.name < *before)
      return wrong(quoted(device.name) + " comes after " + quoted(*before) +
                   "; devices stand in the order of their names, CPUs first");
    before = &device.name;
  }
  for (const LogicalDevice &device : topology.logical)
    if (!topology.find(hostOf(device.name)))
      return wrong(quoted(device.name) + " has no host: " + quoted(hostOf(device.name)) +
                   " is missing");
  return {};
}
} // namespace

Status Topology::check() const {
  if (logical.empty())
    return wrong("there is no device");
  if (size_t most = std::max(physical.size(), logical.size()); most > maxDevices)
    return wrong("there are " + std::to_string(most) + " devices; at most " +
                 std::to_string(maxDevices) + " are supported");
  GANTRY_RETURN_IF_ERROR(checkNames(physical, /*physical=*/true));
  GANTRY_RETURN_IF_ERROR(checkNames(logical, /*physical=*/false));
  for (const PhysicalDevice &device : physical)
    GANTRY_RETURN_IF_ERROR(checkPhysical(device));
  GANTRY_RETURN_IF_ERROR(checkLogical(*this));
  for (const Link &link : links)
    GANTRY_RETURN_IF_ERROR(checkLink(*this, link));
  return {};
}

} // namespace gantry
