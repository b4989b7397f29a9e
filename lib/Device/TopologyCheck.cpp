// What makes a topology sound; Topology::check is asked wherever one comes in.
#include "gantry/Device/Topology.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <set>

namespace gantry {

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

/// Of what joins devices or hosts.
Status checkRates(const std::string &name, double bandwidth, double latency) {
  if (!isRate(bandwidth))
    return wrongRate(name, "bytes", bandwidth);
  if (!isTime(latency))
    return wrong(name + " takes " + format("%g", latency) +
                 " seconds before the first byte, expected 0 to 3600");
  return {};
}

Status checkLink(const Topology &topology, const Link &link) {
  const std::string name =
      "the link from " + std::to_string(link.from) + " to " + std::to_string(link.to);
  if (link.from >= topology.physical.size() || link.to >= topology.physical.size())
    return wrong(name + " does not join devices; there are " +
                 std::to_string(topology.physical.size()) + " physical devices");
  return checkRates(name, link.bandwidth, link.latency);
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
    if (DeviceName host = taskOf(device.name).device(DeviceType::CPU, 0); !topology.find(host))
      return wrong(quoted(device.name) + " has no host: " + quoted(host) + " is missing");
  return {};
}

Status checkTasks(const Topology &topology) {
  const std::vector<TaskName> named = tasksOf(topology);
  const TaskName *before = nullptr;
  for (const JobTask &task : topology.tasks) {
    const std::string name = "task '" + task.name.shortStr() + "'";
    if (before && task.name == *before)
      return wrong(name + " is there twice");
    if (before && task.name < *before)
      return wrong(name + " comes after '" + before->shortStr() +
                   "'; tasks stand in the order of their names");
    before = &task.name;
    if (task.host >= topology.hosts.size())
      return wrong(name + " is on host " + std::to_string(task.host) + " of " +
                   std::to_string(topology.hosts.size()));
    if (!std::binary_search(named.begin(), named.end(), task.name))
      return wrong(name + " has no device");
  }
  auto next = topology.tasks.begin(); // both are in order, and each that is listed is named
  for (const TaskName &name : named)
    if (!topology.tasks.empty() && (next == topology.tasks.end() || next++->name != name))
      return wrong("'" + name.shortStr() + "' has devices and is not in the list of tasks");
  return {};
}

Status checkNetwork(const Topology &topology) {
  if (topology.hosts.size() > 1 && !topology.network)
    return wrong("there are " + std::to_string(topology.hosts.size()) +
                 " hosts and no network that joins them; give its bandwidth and latency in "
                 "'network'");
  if (!topology.network)
    return {};
  const Network &network = *topology.network;
  GANTRY_RETURN_IF_ERROR(checkRates("the network", network.bandwidth, network.latency));
  GANTRY_RETURN_IF_ERROR(
      checkRates("the network inside of a host", network.insideBandwidth, network.insideLatency));
  for (size_t i = 0; i < network.links.size(); ++i) {
    const HostLink &link = network.links[i];
    const std::string name = "link " + std::to_string(i) + " of the network";
    GANTRY_RETURN_IF_ERROR(checkRates(name, link.bandwidth, link.latency));
    for (const std::vector<uint32_t> *side : {&link.from, &link.to})
      if (side->empty() || std::any_of(side->begin(), side->end(), [&](uint32_t host) {
            return host >= topology.hosts.size();
          }))
        return wrong(name + " does not join hosts; there are " +
                     std::to_string(topology.hosts.size()));
  }
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
  GANTRY_RETURN_IF_ERROR(checkTasks(*this));
  return checkNetwork(*this);
}

} // namespace gantry
