// All ways between devices are worked out once: placement asks for them in its innermost loops.
#include "gantry/Device/CostModel.h"

#include <algorithm>
#include <map>
#include <optional>

namespace gantry {

double StandInRates::flops(DeviceType device, ElementType element) {
  bool gpu = device == DeviceType::GPU;
  switch (element) {
  case ElementType::f64:
  case ElementType::i64:
  case ElementType::u64:
    return gpu ? gpuDoubleFlops : cpuDoubleFlops;
  case ElementType::f16:
  case ElementType::bf16: // a CPU computes these as f32
    return gpu ? gpuHalfFlops : cpuFlops;
  case ElementType::i8:
  case ElementType::u8:
    return gpu ? gpuByteFlops : cpuFlops;
  default:
    return gpu ? gpuFlops : cpuFlops;
  }
}

double StandInRates::bandwidth(DeviceType device) {
  return device == DeviceType::GPU ? gpuBandwidth : cpuBandwidth;
}

double StandInRates::launch(DeviceType device) {
  return device == DeviceType::GPU ? gpuLaunch : cpuLaunch;
}

namespace {
/// A type's own rate; else, of a device that says something for f32, f32's by the proportions of
/// the stand-ins.
double flopRate(const PhysicalDevice &device, ElementType element) {
  double own = device.peakFlops[static_cast<size_t>(element)];
  if (own > 0)
    return own;
  double standIn = StandInRates::flops(device.type(), element);
  double known = device.peakFlops[static_cast<size_t>(ElementType::f32)];
  return known > 0 ? standIn * (known / StandInRates::flops(device.type(), ElementType::f32))
                   : standIn;
}

/// Index of the CPU:0 of each logical device's task; the device itself when there is none, as in a
/// topology that comes from a plan which does without.
std::vector<uint32_t> findHosts(const Topology &topology) {
  std::map<DeviceName, uint32_t> known;
  std::vector<uint32_t> hosts;
  for (uint32_t i = 0; i < topology.logical.size(); ++i)
    known.emplace(topology.logical[i].name, i);
  for (uint32_t i = 0; i < topology.logical.size(); ++i) {
    DeviceName name = topology.logical[i].name;
    name.type = DeviceType::CPU;
    name.id = 0;
    auto host = known.find(name);
    hosts.push_back(host == known.end() ? i : host->second);
  }
  return hosts;
}
} // namespace

CostModel CostModel::of(const Topology &topology) {
  CostModel model;
  for (const LogicalDevice &logical : topology.logical) {
    const PhysicalDevice &physical = topology.physical[logical.physical];
    Rates rates;
    for (unsigned i = 0; i < numElementTypes; ++i)
      rates.flops[i] = gantry::flopRate(physical, static_cast<ElementType>(i));
    rates.bandwidth =
        physical.bandwidth > 0 ? physical.bandwidth : StandInRates::bandwidth(physical.type());
    rates.launch = physical.launch > 0 ? physical.launch : StandInRates::launch(physical.type());
    rates.latency = physical.type() == DeviceType::GPU ? StandInRates::gpuLatency : 0;
    model.rates.push_back(rates);
  }
  model.findWays(topology);
  return model;
}

void CostModel::findWays(const Topology &topology) {
  std::map<std::pair<uint32_t, uint32_t>, const Link *> links;
  for (const Link &link : topology.links)
    links.emplace(std::pair(link.from, link.to), &link);
  const std::vector<uint32_t> hosts = findHosts(topology);
  auto direct = [&](uint32_t from, uint32_t to) -> std::optional<CopyPath> {
    uint32_t source = topology.logical[from].physical, target = topology.logical[to].physical;
    auto found = links.find({source, target});
    const Link *link = found == links.end() ? nullptr : found->second;
    bool hasRate = link && link->bandwidth > 0;
    if (source == target) // without a link: read and written
      return CopyPath{hasRate ? link->latency : 0, hasRate ? 1 / link->bandwidth : 2 / byteRate(to),
                      LinkOrigin::same};
    if (link)
      return CopyPath{link->latency, 1 / (hasRate ? link->bandwidth : StandInRates::linkBandwidth),
                      LinkOrigin::given};
    if (hosts[from] == from || hosts[to] == to)
      return CopyPath{StandInRates::linkLatency, 1 / StandInRates::linkBandwidth,
                      LinkOrigin::assumed};
    return std::nullopt;
  };
  for (uint32_t from = 0; from < numDevices(); ++from)
    for (uint32_t to = 0; to < numDevices(); ++to) {
      std::optional<CopyPath> way = direct(from, to);
      if (!way) { // down to the host, over to the other's, and up: each of them is direct
        way = CopyPath{0, 0, LinkOrigin::byHost};
        for (auto [a, b] : {std::pair(from, hosts[from]), std::pair(hosts[from], hosts[to]),
                            std::pair(hosts[to], to)})
          if (a != b) {
            CopyPath part = *direct(a, b);
            way->latency += part.latency;
            way->secondsPerByte += part.secondsPerByte;
          }
      }
      ways.push_back(*way);
    }
}

double CostModel::seconds(uint32_t device, const Work &work) const {
  if (work.flops == 0 && work.bytes == 0)
    return 0;
  double arithmetic = static_cast<double>(work.flops) / flopRate(device, work.element);
  double traffic = static_cast<double>(work.bytes) / byteRate(device);
  return rates[device].launch + rates[device].latency + std::max(arithmetic, traffic);
}

double CostModel::copySeconds(uint32_t from, uint32_t to, uint64_t bytes) const {
  if (bytes == 0)
    return 0;
  const CopyPath &taken = way(from, to);
  return taken.latency + static_cast<double>(bytes) * taken.secondsPerByte;
}

} // namespace gantry
