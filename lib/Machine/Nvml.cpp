// The few declarations of nvml.h that are needed, so that nothing of CUDA has to be installed to
// build; each function is optional, as in older versions of the library.
#include "Nvml.h"

#include <dlfcn.h>

namespace gantry::machine {

namespace {

using Handle = struct NvmlHandle *;
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, deviceId, subSystemId;
  char busId[32];
};
constexpr int clockSm = 1, clockMemory = 2;
constexpr int peerReads = 0, peerWrites = 1, peerByNvlink = 2, peerAtomics = 3; // of P2P

/// A function of the library; a call fails when the library lacks it.
template <typename... Arguments>
class Function {
public:
  Function(void *library, const char *name)
      : pointer(reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))) {}
  bool operator()(Arguments... arguments) const { return pointer && pointer(arguments...) == 0; }

private:
  int (*pointer)(Arguments...);
};

struct Library {
  explicit Library(void *l)
      : init(l, "nvmlInit_v2"), shutdown(l, "nvmlShutdown"),
        driverVersion(l, "nvmlSystemGetDriverVersion"), count(l, "nvmlDeviceGetCount_v2"),
        handle(l, "nvmlDeviceGetHandleByIndex_v2"), name(l, "nvmlDeviceGetName"),
        uuid(l, "nvmlDeviceGetUUID"), pci(l, "nvmlDeviceGetPciInfo_v3"),
        memory(l, "nvmlDeviceGetMemoryInfo"), clock(l, "nvmlDeviceGetMaxClockInfo"),
        busWidth(l, "nvmlDeviceGetMemoryBusWidth"), cores(l, "nvmlDeviceGetNumGpuCores"),
        capability(l, "nvmlDeviceGetCudaComputeCapability"),
        peerStatus(l, "nvmlDeviceGetP2PStatus") {}

  Function<> init, shutdown;
  Function<char *, unsigned> driverVersion;
  Function<unsigned *> count;
  Function<unsigned, Handle *> handle;
  Function<Handle, char *, unsigned> name, uuid;
  Function<Handle, PciInfo *> pci;
  Function<Handle, Memory *> memory;
  Function<Handle, int, unsigned *> clock;
  Function<Handle, unsigned *> busWidth, cores;
  Function<Handle, int *, int *> capability;
  Function<Handle, Handle, int, int *> peerStatus;

  bool can(Handle device, Handle peer, int what) const {
    int status = -1;
    return peerStatus(device, peer, what, &status) && status == 0;
  }
  NvmlPeer readPeer(Handle device, Handle peer) const {
    return {can(device, peer, peerReads) && can(device, peer, peerWrites),
            can(device, peer, peerByNvlink), can(device, peer, peerAtomics)};
  }

  NvmlDevice read(Handle device) const {
    NvmlDevice result;
    char text[96] = {};
    if (name(device, text, sizeof text))
      result.name = text;
    if (uuid(device, text, sizeof text))
      result.uuid = text;
    if (PciInfo info{}; pci(device, &info))
      result.pci = info.busId;
    if (Memory bytes{}; memory(device, &bytes)) {
      result.total = bytes.total;
      result.free = bytes.free;
    }
    if (int major = 0, minor = 0; capability(device, &major, &minor))
      result.architecture = static_cast<uint32_t>(10 * major + minor);
    unsigned megahertz = 0, number = 0;
    // A multiplication and an addition a core and cycle.
    if (clock(device, clockSm, &megahertz) && cores(device, &number))
      result.flops = 2e6 * megahertz * number;
    // Two transfers a cycle over a bus of so many bits.
    if (clock(device, clockMemory, &megahertz) && busWidth(device, &number))
      result.bandwidth = 2e6 * megahertz * number / 8;
    return result;
  }
};

} // namespace

NvmlReport readNvml() {
  NvmlReport report;
  void *opened = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!opened)
    return report;
  report.found = true;
  Library nvml(opened);
  if (nvml.init()) {
    char version[96] = {};
    if (nvml.driverVersion(version, sizeof version))
      report.driverVersion = version;
    unsigned count = 0;
    if (!nvml.count(&count))
      count = 0;
    std::vector<Handle> handles(count);
    for (unsigned i = 0; i < count; ++i)
      if (!nvml.handle(i, &handles[i]))
        handles[i] = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      if (!handles[i])
        continue;
      NvmlDevice device = nvml.read(handles[i]);
      device.index = i;
      for (unsigned k = 0; k < count; ++k)
        device.peers.push_back(i != k && handles[k] ? nvml.readPeer(handles[i], handles[k])
                                                    : NvmlPeer());
      report.devices.push_back(std::move(device));
    }
    nvml.shutdown();
  }
  dlclose(opened);
  return report;
}

} // namespace gantry::machine
