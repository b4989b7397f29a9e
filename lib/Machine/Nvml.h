// NVIDIA's management library, opened at run time: lists GPUs without making a context on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::machine {

/// How a GPU reaches another one's memory.
struct NvmlPeer {
  bool access = false; ///< reads and writes it itself
  bool nvlink = false; ///< by NVLink
  bool atomics = false;
};

struct NvmlDevice {
  unsigned index = 0; ///< among all that NVML lists
  std::string name, uuid, pci;
  uint64_t total = 0, free = 0; ///< bytes
  uint32_t architecture = 0;    ///< 90 for sm_90; 0: not known
  double flops = 0;             ///< f32 operations a second at the highest clock; 0: not known
  double bandwidth = 0;         ///< bytes a second; 0: not known
  std::vector<NvmlPeer> peers;  ///< by index; its own place says nothing
};

struct NvmlReport {
  bool found = false;        ///< the library is there
  std::string driverVersion; ///< empty when it could not be asked
  std::vector<NvmlDevice> devices;
};

/// Everything, or as much as the library tells. GPUs come in the order of their PCI addresses.
NvmlReport readNvml();

} // namespace gantry::machine
