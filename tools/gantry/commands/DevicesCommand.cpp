// gantry devices: what this machine has, or what flags make of it; no driver is started (spec D7).
#include "Commands.h"
#include "Compiler.h"
#include "Console.h"
#include "DeviceFlags.h"
#include "Print.h"

#include "gantry/Device/CostModel.h"
#include "gantry/Device/GPUArch.h"
#include "gantry/Device/SpellOut.h"
#include "gantry/Drivers/CPUFeatures.h"
#include "gantry/Machine/Calibrate.h"
#include "gantry/Machine/Libraries.h"
#include "gantry/Machine/Machine.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Support/Version.h"

#include <algorithm>

namespace gantry::tool {

using machine::Machine;

namespace {

/// What the machine knows beyond the topology, when the device is one of its own.
const machine::DeviceDetails *detailsOf(const Machine &machine, const PhysicalDevice &device) {
  for (size_t i = 0; i < machine.topology.physical.size(); ++i)
    if (machine.topology.physical[i].name == device.name &&
        device.model.starts_with(machine.topology.physical[i].model))
      return &machine.details[i];
  return nullptr;
}

/// What kernels are chosen by, of the hundred flags that a processor lists.
std::string notableFeatures(const Machine &machine) {
  std::string text;
  for (const std::string &feature : machine.features)
    for (const char *notable : {"avx", "fma", "f16c", "amx", "sve", "asimd"})
      if (feature.starts_with(notable)) {
        text += (text.empty() ? "" : " ") + feature;
        break;
      }
  return text.empty() ? "none of note" : text;
}

/// "1.2 TFLOP/s": decimal units, as data sheets have them.
std::string formatRate(double rate, const char *unit) {
  const char *prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; rate >= 1000 && prefix + 1 < std::size(prefixes); ++prefix)
    rate /= 1000;
  return format("%.3g %s%s", rate, prefixes[prefix], unit);
}

std::string assumedUnless(bool known) { return known ? "" : " (assumed)"; }

std::string memoryText(const PhysicalDevice &device, const machine::DeviceDetails *details) {
  if (device.memory == 0)
    return "not known";
  return (details ? formatBytes(details->free) + " free of " : "") + formatBytes(device.memory);
}

void printPhysical(const PhysicalDevice &device, const Machine &machine) {
  const machine::DeviceDetails *details = detailsOf(machine, device);
  std::printf("%s\n", (device.name.shortStr() + "  " +
                       (device.model.empty() ? "no model given" : device.model))
                          .c_str());
  Table table({"", ""});
  table.add({"driver", std::string(driverName(device.driver))});
  const bool isThisHost = details && device.driver == Driver::host;
  if (isThisHost) {
    table.add({"target", std::string(runtime::machineTarget())});
    table.add({"threads", std::to_string(machine.usable) + " usable of " +
                              std::to_string(machine.processors)});
  }
  if (device.architecture)
    table.add({"target", gpuArchName(device.architecture)});
  if (details && !details->uuid.empty())
    table.add({"uuid", details->uuid});
  if (details && !details->pci.empty())
    table.add({"pci", details->pci});
  table.add({"memory", memoryText(device, details)});
  const double flops = device.peakFlops[static_cast<size_t>(ElementType::f32)];
  Topology one;
  one.physical.push_back(device);
  one.logical.push_back({device.name, 0, 0});
  const CostModel alone = CostModel::of(one);
  table.add({"f32", formatRate(alone.flopRate(0), "FLOP/s") + assumedUnless(flops > 0)});
  table.add(
      {"bandwidth", formatRate(alone.byteRate(0), "B/s") + assumedUnless(device.bandwidth > 0)});
  if (device.type() == DeviceType::GPU)
    table.add({"launch", formatSeconds(alone.launchSeconds(0)) + assumedUnless(device.launch > 0)});
  if (isThisHost)
    table.add({"features", notableFeatures(machine)});
  // Without titles: the first line is empty.
  std::fputs(linesOf(table).substr(linesOf(table).find('\n') + 1).c_str(), stdout);
}

void printLogical(const Topology &topology) {
  Table table({"logical", "on", ">limit"});
  for (const LogicalDevice &device : topology.logical)
    table.add({device.name.shortStr(), topology.physical[device.physical].name.shortStr(),
               device.limit ? formatBytes(device.limit) : "none"});
  std::fputs(linesOf(table).c_str(), stdout);
}

/// One line for each pair of logical devices on different physical ones, and given ones inside.
void printLinks(const Machine &machine, const Topology &topology, const char *given) {
  Table table({"from", "to", ">rate", ">latency", ""});
  for (uint32_t from = 0; from < topology.logical.size(); ++from)
    for (uint32_t to = 0; to < topology.logical.size(); ++to) {
      const machine::CopyRates rates = machine::copyRates(topology, from, to, machine.assumed);
      if (topology.logical[from].physical == topology.logical[to].physical &&
          !(rates.isGiven && from == to))
        continue;
      table.add({topology.logical[from].name.shortStr(), topology.logical[to].name.shortStr(),
                 formatRate(rates.bandwidth, "B/s"), formatSeconds(rates.latency),
                 rates.isGiven    ? given
                 : rates.isByHost ? "through the host"
                                  : "assumed"});
    }
  if (!table.empty())
    std::fputs(linesOf(table).c_str(), stdout);
}

/// "atomics, rank 0", as far as it is so and known.
std::string peerNotes(const machine::PeerAccess &peer) {
  std::string text = peer.atomics ? "atomics" : "";
  if (peer.rank)
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(*peer.rank);
  return text;
}

/// One line for each way between GPUs of the machine that the topology still has.
void printPeers(const Machine &machine, const Topology &topology) {
  auto has = [&](const PhysicalDevice &device) {
    return std::any_of(topology.physical.begin(), topology.physical.end(),
                       [&](const PhysicalDevice &each) {
                         return each.name == device.name && detailsOf(machine, each);
                       });
  };
  Table table({"from", "to", "access", ""});
  for (const machine::PeerAccess &peer : machine.peers) {
    const PhysicalDevice &from = machine.topology.physical[peer.from],
                         &to = machine.topology.physical[peer.to];
    if (has(from) && has(to))
      table.add({from.name.shortStr(), to.name.shortStr(),
                 !peer.access  ? "through the host"
                 : peer.nvlink ? "direct, NVLink"
                               : "direct",
                 peerNotes(peer)});
  }
  if (!table.empty())
    std::fputs(linesOf(table).c_str(), stdout);
}

void printLibraries() {
  Table table({"library", "version", ""});
  const bool hasCompiler = Compiler::open().ok();
  table.add({"gantry-compiler", hasCompiler ? GANTRY_VERSION_STRING : "not found",
             hasCompiler ? "compiles graphs" : "plans run, graphs do not compile"});
  for (const machine::LibraryReport &library : machine::findLibraries())
    table.add(
        {library.name, library.version.empty() ? "not found" : library.version, library.note});
  std::fputs(linesOf(table).c_str(), stdout);
}

void printForPeople(const Machine &machine, const Topology &topology, bool calibrated) {
  size_t physical = 0, logical = 0;
  for (const PhysicalDevice &device : topology.physical) {
    printPhysical(device, machine);
    physical += device.type() == DeviceType::GPU;
  }
  for (const LogicalDevice &device : topology.logical)
    logical += device.name.type == DeviceType::GPU;
  printLogical(topology);
  printLinks(machine, topology, calibrated ? "measured" : "given");
  printPeers(machine, topology);
  printLibraries();
  std::printf("GPUs: %zu physical, %zu logical\n", physical, logical);
}

/// What the flags make of the machine.
Expected<Topology> describedTopology(const Options &options, const Topology &machine) {
  TopologyFlags flags = topologyFlagsOf(options);
  GANTRY_RETURN_IF_ERROR(readTopologyFile(flags));
  auto request = TopologyRequest::parse(flags);
  return request ? request->applyTo(machine) : Expected<Topology>(request.status());
}

} // namespace

int devicesCommand(const Options &options) {
  Machine machine = machine::readMachine();
  auto topology = describedTopology(options, machine.topology);
  if (!topology)
    return topologyFlagsOf(options).file.empty() ? reportUsage(topology.status())
                                                 : report(topology.status());
  if (options.calibrate) {
    const auto threads = static_cast<unsigned>(options.threads);
    machine::applyRates(machine::measureHost(threads), *topology);
    Status status = machine::measureGPUs(*topology, threads);
    if (status.ok())
      status = machine::askPeers(machine);
    if (!status.ok())
      printWarning("GPUs are not measured: " + status.message());
  }
  if (!options.json)
    printForPeople(machine, *topology, options.calibrate);
  else
    std::fputs(spelledOut(topology.take()).toJSON().c_str(), stdout);
  return exitSuccess;
}

} // namespace gantry::tool
