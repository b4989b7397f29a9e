// All ways between devices are worked out once: placement asks for them in its innermost loops.
#include "gantry/Device/CostModel.h"

#include <algorithm>
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

const Link *findLink(const Topology &topology, uint32_t from, uint32_t to) {
  for (const Link &link : topology.links)
    if (link.from == from && link.to == to)
      return &link;
  return nullptr;
}

/// Index of the CPU:0 of a logical device's task; none in a topology that comes from a plan which
/// does without.
std::optional<uint32_t> hostOf(const Topology &topology, uint32_t device) {
  DeviceName name = topology.logical[device].name;
  name.type = DeviceType::CPU;
  name.id = 0;
  const LogicalDevice *host = topology.find(name);
  return host ? std::optional(static_cast<uint32_t>(host - topology.logical.data()))
              : std::nullopt;
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
    rates.launch = StandInRates::launch(physical.type());
    model.rates.push_back(rates);
  }
  auto count = static_cast<uint32_t>(topology.logical.size());
  auto hasNoHost = [&](uint32_t device) {
    return topology.logical[device].name.type == DeviceType::CPU || !hostOf(topology, device);
  };
  model.ways.resize(size_t(count) * count);
  auto at = [&](uint32_t from, uint32_t to) -> Way & {
    return model.ways[size_t(from) * count + to];
  };
  // Ways in one memory, over links, and to and from hosts; the others are made of these.
  std::vector<std::pair<uint32_t, uint32_t>> indirect;
  for (uint32_t from = 0; from < count; ++from)
    for (uint32_t to = 0; to < count; ++to) {
      uint32_t source = topology.logical[from].physical, target = topology.logical[to].physical;
      const Link *link = findLink(topology, source, target);
      if (source == target) { // without a link: read and written
        bool known = link && link->bandwidth > 0;
        at(from, to) = {known ? link->latency : 0,
                        known ? 1 / link->bandwidth : 2 / model.byteRate(to), LinkOrigin::same};
      } else if (link) {
        double rate = link->bandwidth > 0 ? link->bandwidth : StandInRates::linkBandwidth;
        at(from, to) = {link->latency, 1 / rate, LinkOrigin::given};
      } else if (hasNoHost(from) || hasNoHost(to)) {
        at(from, to) = {StandInRates::linkLatency, 1 / StandInRates::linkBandwidth,
                        LinkOrigin::assumed};
      } else {
        indirect.emplace_back(from, to);
      }
    }
  for (auto [from, to] : indirect) {
    uint32_t down = *hostOf(topology, from), up = *hostOf(topology, to);
    Way way{0, 0, LinkOrigin::byHost};
    auto add = [&](const Way &part) {
      way.latency += part.latency;
      way.secondsPerByte += part.secondsPerByte;
    };
    add(at(from, down));
    if (down != up)
      add(at(down, up));
    add(at(up, to));
    at(from, to) = way;
  }
  return model;
}

double CostModel::seconds(uint32_t device, const Work &work) const {
  if (work.flops == 0 && work.bytes == 0)
    return 0;
  double arithmetic = static_cast<double>(work.flops) / flopRate(device, work.element);
  double traffic = static_cast<double>(work.bytes) / byteRate(device);
  return rates[device].launch + std::max(arithmetic, traffic);
}

double CostModel::copySeconds(uint32_t from, uint32_t to, uint64_t bytes) const {
  if (bytes == 0)
    return 0;
  const Way &taken = way(from, to);
  return taken.latency + static_cast<double>(bytes) * taken.secondsPerByte;
}

} // namespace gantry
