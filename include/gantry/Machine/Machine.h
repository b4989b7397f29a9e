// The devices of this machine, read from the system without starting any driver (spec D7).
#pragma once

#include "gantry/Device/Topology.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::machine {

/// What is known of a physical device beyond what a topology holds.
struct DeviceDetails {
  std::string uuid; ///< empty for the host
  std::string pci;  ///< bus address
  uint64_t free = 0;
};

/// How a GPU reaches another one's memory, as its driver says.
struct PeerAccess {
  uint32_t from = 0, to = 0; ///< indices into Topology::physical
  bool access = false;       ///< without the host
  bool nvlink = false, atomics = false;
  std::optional<int> rank; ///< among the ways that there are, 0 the fastest; CUDA alone tells it
};

struct Machine {
  Topology topology;
  std::vector<DeviceDetails> details; ///< by physical device
  std::vector<PeerAccess> peers;      ///< each pair of GPUs, both ways
  std::vector<Link> assumed;          ///< of the topology's links, those whose rates nobody tells
  unsigned processors = 0;            ///< logical processors of the machine
  unsigned usable = 0;                ///< of those, the ones this process may run on
  std::vector<std::string> features;  ///< of the processor, and its levels: Support/CPUFeatures*.def
};

/// How fast copies go from one logical device to another, or within one.
struct CopyRates {
  double bandwidth = 0;  ///< bytes a second, without the latency
  double latency = 0;    ///< seconds
  bool isGiven = false;  ///< the topology has a link for them, with rates that are not assumed
  bool isByHost = false; ///< else: through the host, or what stands in for a link
};

/// By the cost model; devices are indices into Topology::logical. `assumed`: Machine::assumed.
CopyRates copyRates(const Topology &topology, uint32_t from, uint32_t to,
                    std::span<const Link> assumed = {});

/// The host, and the GPUs that NVML lists and CUDA_VISIBLE_DEVICES lets through; no context is made
/// and no device memory taken. Rates of GPUs follow from their clocks, those of the host are left
/// open; GPUs that reach each other have links at the rates of StandInRates.
Machine readMachine();

} // namespace gantry::machine
