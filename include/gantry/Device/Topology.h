// What a graph is compiled for: the machine's devices, the logical devices that placement sees, and
// the links between them (spec D4, D5). Plain data; flags, a JSON file and the machine at hand
// produce it, and nothing else tells a pass about devices.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Device/Task.h"
#include "gantry/Support/ElementType.h"
#include "gantry/Support/Status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Who executes commands for a device: this process's threads, the simulator, or CUDA.
enum class Driver : uint8_t { host = 0, sim = 1, cuda = 2 };

/// "host", "sim", "cuda".
std::string_view driverName(Driver driver);

/// What the machine has. 0 stands for "not known" in every number.
struct PhysicalDevice {
  DeviceName name; ///< full, physical
  Driver driver = Driver::host;
  std::string model;
  uint64_t memory = 0;                             ///< bytes
  std::array<double, numElementTypes> peakFlops{}; ///< FLOP/s, by ElementType
  double bandwidth = 0;                            ///< of its memory, bytes/s
  double launch = 0;         ///< seconds from one start of a kernel to the next
  uint32_t architecture = 0; ///< of a GPU: 90 for sm_90

  DeviceType type() const { return *name.type; }
  bool operator==(const PhysicalDevice &) const = default;
};

/// What placement sees: a physical device or a part of one (D4).
struct LogicalDevice {
  DeviceName name;       ///< full
  uint32_t physical = 0; ///< index into Topology::physical
  uint64_t limit = 0;    ///< bytes that plans may use; 0: all of the physical device's memory

  bool operator==(const LogicalDevice &) const = default;
};

/// A way for copies, in one direction; from a device to itself: copies inside its memory.
struct Link {
  uint32_t from = 0, to = 0; ///< indices into Topology::physical
  double bandwidth = 0;      ///< bytes/s
  double latency = 0;        ///< seconds

  bool operator==(const Link &) const = default;
};

/// A task of a job, and the host that runs it.
struct JobTask {
  TaskName name;
  uint32_t host = 0; ///< index into Topology::hosts

  bool operator==(const JobTask &) const = default;
};

/// A rate of its own for what goes between hosts, both ways: from each of the first to each of the
/// second.
struct HostLink {
  std::vector<uint32_t> from, to; ///< indices into Topology::hosts
  double bandwidth = 0;           ///< bytes/s that a host sends or receives over it
  double latency = 0;             ///< seconds; 0: the network's

  bool operator==(const HostLink &) const = default;
};

/// What joins the hosts of a job: rates of one host, each way.
struct Network {
  double bandwidth = 0, latency = 0;             ///< bytes/s, seconds
  double insideBandwidth = 0, insideLatency = 0; ///< between tasks of one host
  bool joinsGPUs = false; ///< bytes of GPUs go straight ("nccl"); else by way of the host's memory
  std::vector<HostLink> links;

  bool operator==(const Network &) const = default;
};

/// More devices than any job has.
inline constexpr size_t maxDevices = 16384;
/// Seconds: what takes longer to start a kernel is a mistake.
inline constexpr double longestLaunch = 3600;

/// A physical GPU, or all those whose names a part of one stands for.
struct GPURequest {
  DeviceName name;  ///< partial, physical
  std::string text; ///< as given: "2", "GPU:2"
};

/// GPUs that a plan may use (D8); empty for none of them.
struct VisibleGPUs {
  std::vector<GPURequest> gpus;

  /// Reads "0,2" or "GPU:0,GPU:2"; "none" for none. Errors: INVALID_ARGUMENT.
  static Expected<VisibleGPUs> parse(std::string_view text);
};

/// Logical GPUs to make of a physical one, by their limits in bytes (D4).
struct GPUSplit {
  GPURequest gpu;
  std::vector<uint64_t> limits;

  /// Reads "GPU:0=1GiB,1GiB". Errors: INVALID_ARGUMENT.
  static Expected<GPUSplit> parse(std::string_view text);
};

struct Topology {
  std::vector<PhysicalDevice> physical;
  std::vector<LogicalDevice> logical; ///< in the order of their names: CPUs of a task first
  std::vector<Link> links;
  /// Of a job on several hosts: its tasks in the order of their names, the hosts' names, what joins
  /// them. Without tasks all is on one host, and links alone join devices.
  std::vector<JobTask> tasks;
  std::vector<std::string> hosts;
  std::optional<Network> network;

  /// One CPU:0 that the host runs: what a graph is compiled for when nothing else is said.
  static Topology hostOnly();

  /// Reads the flag form, "CPU:0,GPU:{0..3},GPU:4@16GiB": names (D2) with an id or a range of
  /// them, each with an optional limit. CPU:0 of every task that is named is there whether listed
  /// or not, since inputs and outputs live on it. `gpuDriver` runs the GPUs. Errors:
  /// INVALID_ARGUMENT.
  static Expected<Topology> fromFlag(std::string_view text, Driver gpuDriver = Driver::cuda);

  /// Reads the JSON form that toJSON writes; "logical" and "links" may be left out, memory sizes
  /// may be texts ("16GiB"). Errors: INVALID_ARGUMENT with the place, CORRUPT when it is not JSON.
  static Expected<Topology> fromJSON(std::string_view text);
  std::string toJSON() const;

  /// As if the machine had only those GPUs (D8). The physical devices stay; the logical GPUs that
  /// are left are numbered anew. INVALID_ARGUMENT for a device that is not there.
  Expected<Topology> withVisible(const VisibleGPUs &visible) const;

  /// Makes several logical GPUs of a physical one (D4). All logical GPUs are numbered anew: in the
  /// order of physical devices, then of splits. INVALID_ARGUMENT for a device that is not there or
  /// has limits already, and for limits over its memory.
  Expected<Topology> withSplits(std::span<const GPUSplit> splits) const;

  /// The same devices with all GPUs run by the simulator (D6).
  Topology simulated() const;

  /// The logical device of that full name; null when there is none.
  const LogicalDevice *find(const DeviceName &name) const;

  /// Bytes that plans may use on a logical device; 0 when neither limit nor memory is known.
  uint64_t limitOf(const LogicalDevice &device) const;

  /// The devices that one entry of a list means (gantry/Device/NameRanges.h): of a name with a "*"
  /// all that match, in order; else what is written, ranges expanded. Errors: INVALID_ARGUMENT,
  /// also where a "*" matches none.
  Expected<std::vector<DeviceName>> devicesNamed(std::string_view text) const;

  /// "/job:localhost/.../device:CPU:0, ...": what to list in an error about an unknown device.
  std::string deviceList() const;

  /// The logical device for an op that stands alone: of those that `wanted` names (P3) the best
  /// type (P6), of one type the one that holds most bytes (`held`: of each device, or empty), then
  /// the lowest id. `isSoft`: where none is meant, any id, then any type of that task (P5). Nothing
  /// when there is none.
  std::optional<uint32_t> place(const DeviceName &wanted, bool isSoft,
                                std::span<const uint64_t> held = {}) const;

  /// Whether it holds together: at most maxDevices, full names, none twice, in order, indices in
  /// range, a CPU:0 in each task, the limits on a device within its memory (D4), a limit for each
  /// that shares one. Errors: INVALID_ARGUMENT.
  Status check() const;

  bool operator==(const Topology &) const = default;
};

/// What flags say about devices, as text.
struct TopologyFlags {
  std::string devices = {};             ///< "CPU:0,GPU:0@16GiB"; empty when not given
  std::string tasks = {};               ///< "worker=4,ps=1"; empty when not given
  std::string file = {};                ///< name of a JSON file, for messages
  std::string json = {};                ///< what is in it: whoever has the flags opens files
  std::string visible = {};             ///< "0,2"
  std::vector<std::string> splits = {}; ///< "GPU:0=1GiB,1GiB"
  bool simulate = false;
};

/// What is asked of the topology: devices in the place of those that are there, and what to change
/// of them.
struct TopologyRequest {
  std::optional<Topology> devices;
  bool isComplete = false; ///< `devices` came from a file, with drivers and rates
  std::optional<VisibleGPUs> visible;
  std::vector<GPUSplit> splits;
  bool simulate = false;

  /// Errors name the flag: INVALID_ARGUMENT, CORRUPT for a file that is not JSON.
  static Expected<TopologyRequest> parse(const TopologyFlags &flags);

  bool any() const { return devices || visible || !splits.empty() || simulate; }

  /// The topology that the request makes of what is there without it. Errors name the flag.
  Expected<Topology> applyTo(const Topology &machine) const;
};

} // namespace gantry
