// Ways between devices of a task are worked out once for each kind of task: placement asks for them
// in its innermost loops. Those between tasks are put together when they are asked for.
#include "gantry/Device/CostModel.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

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
  model.findTasks(topology);
  model.findLinks(topology);
  model.addKinds(topology);
  return model;
}

/// A device's host is itself where its task has no CPU:0, as in a topology that comes from a plan
/// which does without.
void CostModel::findTasks(const Topology &topology) {
  std::map<TaskName, uint32_t> known;
  std::map<uint32_t, uint32_t> hostOf; // by task
  for (uint32_t i = 0; i < topology.logical.size(); ++i) {
    const LogicalDevice &device = topology.logical[i];
    auto [task, isNew] =
        known.try_emplace(taskOf(device.name), static_cast<uint32_t>(tasks.size()));
    if (isNew)
      tasks.emplace_back();
    physical.push_back(device.physical);
    isGPU.push_back(device.name.type == DeviceType::GPU);
    taskAt.push_back(task->second);
    placeAt.push_back(static_cast<uint32_t>(tasks[task->second].devices.size()));
    tasks[task->second].devices.push_back(i);
    if (device.name.type == DeviceType::CPU && device.name.id == 0)
      hostOf[task->second] = i;
  }
  for (uint32_t i = 0; i < topology.logical.size(); ++i) {
    auto host = hostOf.find(taskAt[i]);
    hosts.push_back(host == hostOf.end() ? i : host->second);
  }
  if (topology.tasks.empty() || !topology.network)
    return;
  for (uint32_t i = 0; i < topology.tasks.size(); ++i)
    if (auto task = known.find(topology.tasks[i].name); task != known.end())
      tasks[task->second].number = i;
  network = NetworkModel::of(topology);
  joinsGPUs = topology.network->joinsGPUs;
}

void CostModel::findLinks(const Topology &topology) {
  for (const Link &link : topology.links)
    links.emplace(std::pair(link.from, link.to), link);
}

/// What tells kinds apart: which devices share a physical one, their memory's rate, their links.
void CostModel::addKinds(const Topology &topology) {
  using Described = std::vector<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>>;
  std::vector<Described> described(tasks.size());
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> first; // physical: a task, and where in it
  auto bits = [](double number) { return std::bit_cast<uint64_t>(number); };
  for (uint32_t t = 0; t < tasks.size(); ++t)
    for (uint32_t device : tasks[t].devices) {
      const auto [owner, place] =
          first.try_emplace(physical[device], t, placeAt[device]).first->second;
      // Of a physical device of another task the way is its own.
      described[t].push_back({owner == t ? place : UINT32_MAX - device,
                              uint32_t(isGPU[device]) * 2 + (hosts[device] == device),
                              bits(byteRate(device)), 0});
    }
  for (const auto &[ends, link] : links)
    if (auto from = first.find(ends.first), to = first.find(ends.second);
        from != first.end() && to != first.end() && from->second.first == to->second.first)
      described[from->second.first].push_back(
          {from->second.second, to->second.second, bits(link.bandwidth), bits(link.latency)});
  std::map<Described, uint32_t> known;
  for (uint32_t t = 0; t < tasks.size(); ++t) {
    auto [kind, isNew] = known.try_emplace(described[t], static_cast<uint32_t>(kinds.size()));
    tasks[t].kind = kind->second;
    if (!isNew)
      continue;
    kinds.emplace_back();
    for (uint32_t from : tasks[t].devices)
      for (uint32_t to : tasks[t].devices)
        kinds.back().push_back(find(from, to));
  }
}

/// The way of two devices that share memory or a link, or one of which is a host.
std::optional<CostModel::CopyPath> CostModel::direct(uint32_t from, uint32_t to) const {
  auto found = links.find({physical[from], physical[to]});
  const Link *link = found == links.end() ? nullptr : &found->second;
  bool hasRate = link && link->bandwidth > 0;
  if (physical[from] == physical[to]) // without a link: read and written
    return CopyPath{hasRate ? link->latency : 0, hasRate ? 1 / link->bandwidth : 2 / byteRate(to),
                    LinkOrigin::same};
  if (link)
    return CopyPath{link->latency, 1 / (hasRate ? link->bandwidth : StandInRates::linkBandwidth),
                    LinkOrigin::given};
  if (network && taskAt[from] != taskAt[to]) {
    const bool areHosts = hosts[from] == from && hosts[to] == to;
    if (!areHosts && !(joinsGPUs && isGPU[from] && isGPU[to]))
      return std::nullopt;
    const uint32_t a = tasks[taskAt[from]].number, b = tasks[taskAt[to]].number;
    return CopyPath{network->latency(a, b), network->secondsPerByte(a, b), LinkOrigin::network};
  }
  if (hosts[from] == from || hosts[to] == to)
    return CopyPath{StandInRates::linkLatency, 1 / StandInRates::linkBandwidth,
                    LinkOrigin::assumed};
  return std::nullopt;
}

CostModel::CopyPath CostModel::find(uint32_t from, uint32_t to) const {
  if (std::optional<CopyPath> way = direct(from, to))
    return *way;
  // Down to the host, over to the other's, and up: each of them is direct.
  CopyPath way{0, 0,
               network && taskAt[from] != taskAt[to] ? LinkOrigin::network : LinkOrigin::byHost};
  for (auto [a, b] :
       {std::pair(from, hosts[from]), std::pair(hosts[from], hosts[to]), std::pair(hosts[to], to)})
    if (a != b) {
      CopyPath part = *direct(a, b);
      way.latency += part.latency;
      way.secondsPerByte += part.secondsPerByte;
    }
  return way;
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
  const CopyPath taken = way(from, to);
  return taken.latency + static_cast<double>(bytes) * taken.secondsPerByte;
}

} // namespace gantry
