#include "gantry/Machine/Machine.h"

#include "Nvml.h"
#include "VisibleDevices.h"

#include "gantry/Device/CostModel.h"
#include "gantry/Drivers/CPUFeatures.h"
#include "gantry/Drivers/HostDriver.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Environment.h"

#include <algorithm>
#include <fstream>
#include <thread>

namespace gantry::machine {

namespace {

/// Value behind "key" and a colon in a file of /proc, without spaces around it.
std::string procValue(const char *path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !std::string_view(line).starts_with(key))
      continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

void readHost(Machine &machine) {
  machine.topology = Topology::hostOnly();
  PhysicalDevice &host = machine.topology.physical.front();
  host.model = procValue("/proc/cpuinfo", "model name");
  if (host.model.empty())
    host.model = "unknown processor";
  machine.processors = std::thread::hardware_concurrency();
  machine.usable = runtime::availableThreads();
  machine.features = runtime::machineFeatures();
  machine.details.emplace_back();
  if (auto memory = runtime::readHostMemory()) {
    host.memory = memory->total;
    machine.details.back().free = memory->free;
  }
}

/// GPUs in the order of CUDA_VISIBLE_DEVICES; all without it.
std::vector<NvmlDevice> letThrough(std::vector<NvmlDevice> devices) {
  const char *variable = environmentVariable("CUDA_VISIBLE_DEVICES");
  if (!variable)
    return devices;
  std::vector<std::string> uuids;
  for (const NvmlDevice &device : devices)
    uuids.push_back(device.uuid);
  std::vector<NvmlDevice> visible;
  for (size_t index : visibleDevices(variable, uuids))
    visible.push_back(devices[index]);
  return visible;
}

void addGPUs(Machine &machine) {
  uint32_t id = 0;
  const std::vector<NvmlDevice> gpus = letThrough(readNvml().devices);
  const auto first = static_cast<uint32_t>(machine.topology.physical.size());
  for (uint32_t from = 0; from < gpus.size(); ++from)
    for (uint32_t to = 0; to < gpus.size(); ++to)
      if (gpus[from].index != gpus[to].index) {
        const NvmlPeer &peer = gpus[from].peers[gpus[to].index];
        machine.peers.push_back({first + from, first + to, peer.access, peer.nvlink, peer.atomics});
        if (peer.access) // what it moves is known when it is measured
          machine.topology.links.push_back(
              {first + from, first + to,
               peer.nvlink ? StandInRates::nvlinkBandwidth : StandInRates::linkBandwidth,
               StandInRates::linkLatency});
      }
  machine.assumed = machine.topology.links;
  for (const NvmlDevice &gpu : gpus) {
    DeviceName name = DeviceName::local(DeviceType::GPU, id++);
    const auto index = static_cast<uint32_t>(machine.topology.physical.size());
    machine.topology.logical.push_back({name, index, 0});
    PhysicalDevice device;
    device.name = name;
    device.name.physical = true;
    device.driver = Driver::cuda;
    device.model = gpu.name;
    device.memory = gpu.total;
    device.bandwidth = gpu.bandwidth;
    device.peakFlops[static_cast<size_t>(ElementType::f32)] = gpu.flops;
    device.architecture = gpu.architecture;
    machine.topology.physical.push_back(std::move(device));
    machine.details.push_back({gpu.uuid, gpu.pci, gpu.free});
  }
}

} // namespace

CopyRates copyRates(const Topology &topology, uint32_t from, uint32_t to,
                    std::span<const Link> assumed) {
  const CostModel costs = CostModel::of(topology);
  const uint32_t source = topology.logical[from].physical, target = topology.logical[to].physical;
  constexpr uint64_t sample = uint64_t(1) << 40; // so large that latency does not count
  return {static_cast<double>(sample) / costs.copySeconds(from, to, sample),
          costs.copySeconds(from, to, 1),
          std::any_of(topology.links.begin(), topology.links.end(),
                      [&](const Link &link) {
                        return link.from == source && link.to == target &&
                               std::find(assumed.begin(), assumed.end(), link) == assumed.end();
                      }),
          costs.linkOrigin(from, to) == LinkOrigin::byHost};
}

Machine readMachine() {
  Machine machine;
  readHost(machine);
  addGPUs(machine);
  return machine;
}

} // namespace gantry::machine
