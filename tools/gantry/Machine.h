// The devices of this machine, read from the system without starting any driver (spec D7).
#pragma once

#include "gantry/Device/Topology.h"

#include <string>
#include <vector>

namespace gantry::tool {

/// What is known of a physical device beyond what a topology holds.
struct DeviceDetails {
  std::string uuid; ///< empty for the host
  std::string pci;  ///< bus address
  uint64_t free = 0;
};

struct Machine {
  Topology topology;
  std::vector<DeviceDetails> details; ///< by physical device
  unsigned processors = 0;            ///< logical processors of the machine
  unsigned usable = 0;                ///< of those, the ones this process may run on
  std::vector<std::string> features;  ///< of the processor, as in /proc/cpuinfo
};

/// The host, and the GPUs that NVML lists and CUDA_VISIBLE_DEVICES lets through; no context is made
/// and no device memory taken. Rates of GPUs follow from their clocks, those of the host are left
/// open.
Machine readMachine();

} // namespace gantry::tool
