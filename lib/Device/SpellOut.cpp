#include "gantry/Device/SpellOut.h"

#include "gantry/Device/CostModel.h"

#include <algorithm>

namespace gantry {

/// Other types go by these, in the proportions of the stand-ins.
static constexpr ElementType peaks[] = {ElementType::f32, ElementType::f64, ElementType::f16,
                                        ElementType::bf16, ElementType::i8};

static bool hasLink(const Topology &topology, uint32_t from, uint32_t to) {
  return std::any_of(topology.links.begin(), topology.links.end(),
                     [&](const Link &link) { return link.from == from && link.to == to; });
}

Topology spelledOut(Topology topology) {
  const CostModel costs = CostModel::of(topology);
  for (uint32_t i = 0; i < topology.logical.size(); ++i) {
    PhysicalDevice &device = topology.physical[topology.logical[i].physical];
    for (ElementType element : peaks)
      device.peakFlops[static_cast<size_t>(element)] = costs.flopRate(i, element);
    device.bandwidth = costs.byteRate(i);
    device.launch = costs.launchSeconds(i);
  }
  for (Link &link : topology.links)
    if (link.bandwidth == 0 && link.from != link.to)
      link.bandwidth = StandInRates::linkBandwidth;
  for (uint32_t from = 0; from < topology.logical.size(); ++from)
    for (uint32_t to = 0; to < topology.logical.size(); ++to) {
      const uint32_t source = topology.logical[from].physical;
      const uint32_t target = topology.logical[to].physical;
      if (costs.linkOrigin(from, to) == LinkOrigin::assumed && !hasLink(topology, source, target))
        topology.links.push_back(
            {source, target, StandInRates::linkBandwidth, StandInRates::linkLatency});
    }
  return topology;
}

} // namespace gantry
