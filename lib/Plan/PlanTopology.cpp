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
} // namespace

Expected<DeviceName> nameOf(const fb::Device &device) {
  return DeviceName::parse(textOf(device.name()));
}

Topology topologyOf(const fb::Plan &plan) {
  Topology topology;
  // Physical devices are numbered per task and type; the plan stores only their numbers.
  std::map<std::tuple<DeviceName, fb::DeviceType, uint32_t>, uint32_t> known;
  for (const fb::Device *device : each(plan.devices())) {
    Expected<DeviceName> parsed = nameOf(*device);
    DeviceName name =
        parsed ? parsed.take()
               : DeviceName::local(device->type() == fb::DeviceType::cpu ? DeviceType::CPU
                                                                         : DeviceType::GPU,
                                   static_cast<uint32_t>(topology.logical.size()));
    auto [at, isNew] = known.try_emplace({name.taskName(), device->type(), device->physical()},
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
  return topology;
}

} // namespace gantry::plan
