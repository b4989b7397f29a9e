// The object that everything hangs from: drivers, devices, the thread pool, registered kernels, the
// log. There are no globals; two Runtimes know nothing of each other.
//
//   Runtime -> LoadedPlan -> State -> Session, Bindings
//
// Each holds what is left of it alive, so they can be let go in any order.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Runtime/Budget.h"
#include "gantry/Runtime/Device.h"
#include "gantry/Runtime/DeviceBinding.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/KernelRegistry.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Status.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gantry::runtime {

class ConstantPool;

enum class Severity { note, remark, warning, error };

/// Receives one line without a newline; may be called from any thread.
using LogCallback = std::function<void(Severity, const std::string &)>;

/// When the bytes of a plan are compared with their checksums. Header and metadata always are.
enum class Verify : uint8_t {
  full, ///< when it is loaded
  lazy, ///< constants that are used where the file is mapped: before the first run; else as full
  off,  ///< never: for files whose storage is trusted
};

struct RuntimeOptions {
  /// Threads that kernels of the host may use, the calling thread included; 0 for all available.
  unsigned threads = 0;
  /// Bytes that Gantry may allocate on each host device; 0 for what is free.
  uint64_t hostMemoryLimit = 0;
  LogCallback log = {};
  /// In what order plans on a virtual clock run, unless their session says another.
  CommandOrder commandOrder = {};
  /// Devices of plans that run on others (spec D9).
  std::vector<DeviceBinding> bindings = {};
  Verify verify = Verify::full;
  /// The devices that arrays can be made on; those of plans are in the plans.
  Topology topology = Topology::hostOnly();
  /// What Gantry may take of the memory of the machine's devices (spec M4).
  std::vector<MemorySetting> memory = {};
};

/// Thread-safe.
class Runtime : public std::enable_shared_from_this<Runtime> {
public:
  /// Without drivers; createRuntime of gantry/Drivers/BuiltIn.h adds those that are built in.
  static std::shared_ptr<Runtime> create(RuntimeOptions options = {});
  ~Runtime();

  /// Adds a driver, or puts it in the place of the one of that name. FAILED_PRECONDITION once a
  /// device exists.
  Status addDriver(std::unique_ptr<Driver> driver);

  /// Changes what the options say about devices: limit of the host, order on the virtual clock,
  /// bindings, and memory settings when there are any; threads and log stay. FAILED_PRECONDITION
  /// once a plan has been loaded (spec D8).
  Status configureDevices(const RuntimeOptions &changed);

  /// The driver of that name; null when there is none.
  Driver *driver(std::string_view name) const;

  /// The device of that full name; opened at the first call and then kept. `plannedMemory`: see
  /// and `physical`: see DeviceRequest. UNAVAILABLE when there is no such driver, or it has no such
  /// device; FAILED_PRECONDITION when the device is open and not what is asked for.
  Expected<Device *> device(const std::string &fullName, const std::string &driverName,
                            uint64_t plannedMemory = 0, uint32_t physical = 0);

  /// INVALID_ARGUMENT when a memory setting is for a device that is neither among those nor in the
  /// options' topology nor known to a driver.
  Status checkMemorySettings(std::vector<DeviceName> there) const;

  /// The device that a name, full or not, means in the options' topology, opened as above: of those
  /// that match, the first. INVALID_ARGUMENT lists the devices that there are.
  Expected<Device *> device(const DeviceName &name);

  /// The same without opening it: what the topology says, and the device if it is open.
  struct KnownDevice {
    const LogicalDevice *logical = nullptr;
    Device *open = nullptr;
  };
  Expected<KnownDevice> find(const DeviceName &name) const;

  /// FAILED_PRECONDITION in a process that was forked from the one that made the runtime: its
  /// threads, and whatever drivers have, are in the parent only.
  Status checkProcess() const;

  /// Devices that plans have used, in order of first use.
  std::vector<Device *> devices() const;

  ThreadPool &threadPool() { return pool; }
  CommandOrder commandOrder() const { return options.commandOrder; }
  Verify verify() const { return options.verify; }
  std::span<const DeviceBinding> bindings() const { return options.bindings; }
  const Topology &topology() const { return options.topology; }
  KernelRegistry &kernels() { return registry; }
  ConstantPool &constantPool() { return *constants; }
  void log(Severity severity, const std::string &text) const {
    if (options.log)
      options.log(severity, text);
  }

private:
  explicit Runtime(RuntimeOptions options);
  Status shareBudget(Device &device, uint32_t physical);
  Status noDriver(const std::string &fullName, const std::string &driverName) const;

  RuntimeOptions options;
  unsigned generation; ///< of the process: how often it has been forked
  ThreadPool pool;
  KernelRegistry registry;
  std::unique_ptr<ConstantPool> constants;
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Driver>> drivers;
  std::map<std::string, std::shared_ptr<Budget>> budgets; ///< by the physical device's name
  std::vector<std::unique_ptr<Device>> knownDevices;      ///< behind the drivers: they go first
};

} // namespace gantry::runtime
