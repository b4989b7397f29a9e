// The object that everything hangs from: drivers, devices, the thread pool, registered kernels, the
// log. There are no globals; two Runtimes know nothing of each other.
//
//   Runtime -> LoadedPlan -> State -> Session, Bindings
//
// Each holds what is left of it alive, so they can be let go in any order.
#pragma once

#include "gantry/Runtime/Device.h"
#include "gantry/Runtime/DeviceBinding.h"
#include "gantry/Runtime/KernelRegistry.h"
#include "gantry/Runtime/SimDriver.h"
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

struct RuntimeOptions {
  /// Threads that kernels of the host may use, the calling thread included; 0 for all available.
  unsigned threads = 0;
  /// Bytes that Gantry may allocate on each host device; 0 for what is free.
  uint64_t hostMemoryLimit = 0;
  LogCallback log = {};
  /// In what order simulated plans run, unless their session says another.
  SimOrder simOrder = {};
  /// Devices of plans that run on others (spec D9).
  std::vector<DeviceBinding> bindings = {};
};

/// Thread-safe.
class Runtime {
public:
  static std::shared_ptr<Runtime> create(RuntimeOptions options = {});
  ~Runtime();

  /// Adds a driver, or puts it in the place of the one of that name. FAILED_PRECONDITION once a
  /// device exists.
  Status addDriver(std::unique_ptr<Driver> driver);

  /// Changes what the options say about devices: limit of the host, order of simulated plans,
  /// bindings; threads and log stay. FAILED_PRECONDITION once a plan has been loaded (spec D8).
  Status configureDevices(const RuntimeOptions &changed);

  /// The driver of that name; null when there is none.
  Driver *driver(std::string_view name) const;

  /// The device of that full name; made at the first call and then kept. UNAVAILABLE when no such
  /// driver is built in. `simMemory` is the memory of a simulated device, 0 for simDefaultMemory;
  /// FAILED_PRECONDITION when the device has another size already.
  Expected<Device *> device(const std::string &fullName, const std::string &driverName,
                            uint64_t simMemory = 0);

  /// Devices that plans have used, in order of first use.
  std::vector<Device *> devices() const;

  ThreadPool &threadPool() { return pool; }
  SimMachine &simMachine() { return machine; }
  SimOrder simOrder() const { return options.simOrder; }
  std::span<const DeviceBinding> bindings() const { return options.bindings; }
  KernelRegistry &kernels() { return registry; }
  ConstantPool &constantPool() { return *constants; }
  void log(Severity severity, const std::string &text) const {
    if (options.log)
      options.log(severity, text);
  }

private:
  explicit Runtime(RuntimeOptions options);
  Expected<Device *> simDevice(const std::string &fullName, uint64_t bytes);

  RuntimeOptions options;
  ThreadPool pool;
  SimMachine machine;
  KernelRegistry registry;
  std::unique_ptr<ConstantPool> constants;
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Driver>> drivers;
  std::vector<std::unique_ptr<Driver>> simDrivers; ///< one per simulated device
  std::vector<std::unique_ptr<Device>> knownDevices;
};

} // namespace gantry::runtime
