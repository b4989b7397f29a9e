// How long an op or a copy takes on a device, by rates alone: one model for placement, schedules,
// the simulator's virtual clock and the predictions that are printed.
//
// An op takes the longer of its arithmetic at the device's peak and its traffic at the memory's
// rate (the roofline), after the time to start it and, on a GPU, what its first bytes take to come
// and its last to go, whatever there is to do. A copy takes its link's latency and its bytes at
// the link's rate. Devices that no link joins copy through the host: down one link, up the other.
// Tasks of several hosts copy over the network (gantry/Device/NetworkModel.h), from host to host or
// where it joins GPUs straight. Rates come from the topology; for those that it does not know,
// StandInRates stand in.
#pragma once

#include "gantry/Device/NetworkModel.h"
#include "gantry/Device/Topology.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gantry {

/// What stands in for rates that a topology does not give: operations and bytes a second, seconds.
/// GPU: data sheet of the NVIDIA A100 40 GB PCIe (2020), dense. Launch: a kernel more in a CUDA
/// graph on an H100; with the latency kernels of networks take 3 us at least
/// (docs/benchmarks/notes.md). CPU: two cores of a server with AVX2, as measured on such a machine.
/// Link: PCIe 4 x16, 32 GB/s less what copies do not reach of it; NVLink: the A100's, one way.
struct StandInRates {
  static constexpr double gpuFlops = 19.5e12, gpuHalfFlops = 312e12, gpuDoubleFlops = 9.7e12,
                          gpuByteFlops = 624e12;
  static constexpr double gpuBandwidth = 1555e9, gpuLaunch = 1.1e-6, gpuLatency = 1.9e-6;
  static constexpr double cpuFlops = 100e9, cpuDoubleFlops = 50e9;
  static constexpr double cpuBandwidth = 20e9, cpuLaunch = 1e-6;
  static constexpr double linkBandwidth = 25e9, nvlinkBandwidth = 300e9, linkLatency = 10e-6;

  /// Operations a second on elements of a type.
  static double flops(DeviceType device, ElementType element);
  static double bandwidth(DeviceType device);
  static double launch(DeviceType device);
};

/// What an op does: operations on elements of one type, bytes that it reads and writes.
struct Work {
  uint64_t flops = 0;
  uint64_t bytes = 0;
  ElementType element = ElementType::f32;
};

/// How two devices are joined.
enum class LinkOrigin : uint8_t {
  same,    ///< they share one memory
  given,   ///< the topology has the link
  assumed, ///< a device and a host without a link that is known: StandInRates
  byHost,  ///< down to the host and up again
  network, ///< from one task to another over the network of their hosts
};

/// Immutable, and cheap to copy next to what is done with it. Devices are indices into
/// Topology::logical; an index past it is the caller's error.
class CostModel {
public:
  /// `topology` is sound (Topology::check) or a plan's (plan::topologyOf), and may go away.
  static CostModel of(const Topology &topology);

  /// Seconds of one op as one kernel; 0 for one that does nothing.
  double seconds(uint32_t device, const Work &work) const;

  /// Seconds to move `bytes` from one device's memory to another's, or within one. 0 for no bytes.
  double copySeconds(uint32_t from, uint32_t to, uint64_t bytes) const;

  /// The part of copySeconds that does not depend on the bytes.
  double copyLatency(uint32_t from, uint32_t to) const { return way(from, to).latency; }

  /// Where copySeconds has its rate from.
  LinkOrigin linkOrigin(uint32_t from, uint32_t to) const { return way(from, to).origin; }

  /// Rates as they are used, stand-ins included.
  double flopRate(uint32_t device, ElementType element = ElementType::f32) const {
    return rates[device].flops[static_cast<size_t>(element)];
  }
  double byteRate(uint32_t device) const { return rates[device].bandwidth; }
  double launchSeconds(uint32_t device) const { return rates[device].launch; }

  uint32_t numDevices() const { return static_cast<uint32_t>(rates.size()); }

private:
  struct Rates {
    std::array<double, numElementTypes> flops{};
    double bandwidth = 0;
    double launch = 0;
    double latency = 0; ///< of a kernel that does anything
  };
  /// Copies through the host are one way too: both latencies, and the sum of the times of a byte.
  struct CopyPath {
    double latency = 0;
    double secondsPerByte = 0;
    LinkOrigin origin = LinkOrigin::same;
  };
  /// Devices that one process has. Tasks that have the same devices are of one kind, which has one
  /// table of the ways between them: a job of many takes little more than one of them.
  struct TaskDevices {
    std::vector<uint32_t> devices;
    uint32_t kind = 0;
    uint32_t number = 0; ///< of the network's tasks
  };
  void findTasks(const Topology &topology);
  void findLinks(const Topology &topology);
  void addKinds(const Topology &topology);
  std::optional<CopyPath> direct(uint32_t from, uint32_t to) const;
  CopyPath find(uint32_t from, uint32_t to) const;
  CopyPath way(uint32_t from, uint32_t to) const {
    if (taskAt[from] != taskAt[to])
      return find(from, to);
    const TaskDevices &task = tasks[taskAt[from]];
    return kinds[task.kind][placeAt[from] * task.devices.size() + placeAt[to]];
  }

  std::vector<Rates> rates;                 ///< by logical device
  std::vector<uint32_t> physical;           ///< the same
  std::vector<uint32_t> hosts;              ///< the same: the task's CPU:0, or itself
  std::vector<uint32_t> taskAt, placeAt;    ///< the same: its task, and where among its devices
  std::vector<char> isGPU;                  ///< the same
  std::vector<TaskDevices> tasks;           ///< in the order of their first devices
  std::vector<std::vector<CopyPath>> kinds; ///< by kind: by source, then target
  std::map<std::pair<uint32_t, uint32_t>, Link> links; ///< by physical devices
  std::optional<NetworkModel> network;
  bool joinsGPUs = false;
};

} // namespace gantry
