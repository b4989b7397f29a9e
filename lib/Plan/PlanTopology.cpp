#include "gantry/Plan/PlanTopology.h"

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/Views.h"

#include <map>
#include <tuple>

namespace gantry::plan {

namespace {
Driver driverOf(const fb::Device &device) {
  std::string_view name = driversOf(device).front();
  for (Driver driver : {Driver::host, Driver::sim})
    if (name == driverName(driver))
      return driver;
  return Driver::cuda;
}

/// Tasks, hosts and what joins these.
void addJob(const fb::Plan &plan, Topology &topology) {
  for (const fb::Task *task : each(plan.tasks()))
    if (Expected<TaskName> name = TaskName::parse(textOf(task->name())))
      topology.tasks.push_back({name.take(), task->host()});
  for (const fb::Host *host : each(plan.hosts()))
    topology.hosts.emplace_back(textOf(host->name()));
  const fb::Network *given = plan.network();
  if (!given)
    return;
  Network &network = topology.network.emplace();
  network.bandwidth = given->bandwidth();
  network.latency = given->latency();
  network.insideBandwidth = given->inside_bandwidth();
  network.insideLatency = given->inside_latency();
  network.joinsGPUs = given->joins_gpus();
  for (const fb::HostLink *link : each(given->links())) {
    HostLink &added = network.links.emplace_back();
    added.from.assign(link->from()->begin(), link->from()->end());
    added.to.assign(link->to()->begin(), link->to()->end());
    added.bandwidth = link->bandwidth();
    added.latency = link->latency();
  }
}
} // namespace

Expected<DeviceName> nameOf(const fb::Device &device) {
  return DeviceName::parse(textOf(device.name()));
}

Topology topologyOf(const fb::Plan &plan) {
  Topology topology;
  // Physical devices are numbered per task and type; the plan stores only their numbers.
  std::map<std::tuple<TaskName, fb::DeviceType, uint32_t>, uint32_t> known;
  for (const fb::Device *device : each(plan.devices())) {
    Expected<DeviceName> parsed = nameOf(*device);
    DeviceName name =
        parsed ? parsed.take()
               : DeviceName::local(device->type() == fb::DeviceType::cpu ? DeviceType::CPU
                                                                         : DeviceType::GPU,
                                   static_cast<uint32_t>(topology.logical.size()));
    auto [at, isNew] = known.try_emplace({taskOf(name), device->type(), device->physical()},
                                         static_cast<uint32_t>(topology.physical.size()));
    topology.logical.push_back({name, at->second, device->memory_limit()});
    if (!isNew)
      continue;
    PhysicalDevice physical;
    physical.name = name;
    physical.name.physical = true;
    physical.name.id = device->physical();
    physical.driver = driverOf(*device);
    physical.bandwidth = device->bandwidth();
    physical.launch = device->launch();
    physical.peakFlops[static_cast<size_t>(gantry::ElementType::f32)] = device->peak_flops();
    topology.physical.push_back(std::move(physical));
  }
  for (const fb::Link *link : each(plan.links())) {
    uint32_t from = topology.logical[link->from()].physical;
    uint32_t to = topology.logical[link->to()].physical;
    if (from != to)
      topology.links.push_back({from, to, link->bandwidth(), link->latency()});
  }
  addJob(plan, topology);
  return topology;
}

} // namespace gantry::plan
