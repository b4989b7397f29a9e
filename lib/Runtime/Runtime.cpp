#include "gantry/Runtime/Runtime.h"

#include "ConstantPool.h"
#include "gantry/Runtime/HostDriver.h"
#include "gantry/Support/Bytes.h"

namespace gantry::runtime {

Runtime::Runtime(RuntimeOptions options)
    : options(std::move(options)), pool(this->options.threads), machine(pool),
      constants(std::make_unique<ConstantPool>()) {
  drivers.push_back(createHostDriver(pool));
  if (this->options.threads > pool.size())
    log(Severity::warning, "the system gave " + std::to_string(pool.size()) + " of " +
                               std::to_string(this->options.threads) + " threads");
}

Runtime::~Runtime() = default;

std::shared_ptr<Runtime> Runtime::create(RuntimeOptions options) {
  return std::shared_ptr<Runtime>(new Runtime(std::move(options)));
}

Status Runtime::addDriver(std::unique_ptr<Driver> driver) {
  std::lock_guard lock(mutex);
  if (!knownDevices.empty())
    return Status::failedPrecondition("driver '" + std::string(driver->name()) +
                                      "' comes too late: a plan has been loaded already");
  for (auto &known : drivers)
    if (known->name() == driver->name()) {
      known = std::move(driver);
      return {};
    }
  drivers.push_back(std::move(driver));
  return {};
}

Status Runtime::configureDevices(const RuntimeOptions &changed) {
  std::lock_guard lock(mutex);
  if (!knownDevices.empty())
    return Status::failedPrecondition(
        "devices cannot be configured any more: a plan that uses '" + knownDevices.front()->name() +
        "' has been loaded in this runtime; configure before, or make another runtime");
  options.hostMemoryLimit = changed.hostMemoryLimit;
  options.simOrder = changed.simOrder;
  options.bindings = changed.bindings;
  return {};
}

Driver *Runtime::driver(std::string_view name) const {
  for (auto &driver : drivers)
    if (driver->name() == name)
      return driver.get();
  return nullptr;
}

/// Each simulated device is a driver of its own, since its memory is.
Expected<Device *> Runtime::simDevice(const std::string &fullName, uint64_t bytes) {
  uint64_t memory = bytes ? bytes : simDefaultMemory;
  for (auto &device : knownDevices) {
    if (device->name() != fullName || !machine.owns(device->driver()))
      continue;
    if (device->limit() == memory)
      return device.get();
    return Status::failedPrecondition("'" + fullName + "' is simulated with " +
                                      formatBytes(device->limit()) +
                                      " of memory by an earlier plan, now with " +
                                      formatBytes(memory) + "; load the plan in another runtime");
  }
  simDrivers.push_back(machine.addDevice(fullName, memory));
  knownDevices.push_back(std::make_unique<Device>(fullName, *simDrivers.back(), memory));
  return knownDevices.back().get();
}

Expected<Device *> Runtime::device(const std::string &fullName, const std::string &driverName,
                                   uint64_t simMemory) {
  std::lock_guard lock(mutex);
  Driver *found = driver(driverName);
  if (!found && driverName == "sim")
    return simDevice(fullName, simMemory);
  for (auto &device : knownDevices)
    if (device->name() == fullName && device->driver().name() == driverName)
      return device.get();
  if (!found) {
    std::string known;
    for (auto &each : drivers)
      known += std::string(each->name()) + ", ";
    known += "sim";
    return Status::unavailable("'" + fullName + "' needs the driver '" + driverName +
                               "'; the drivers are " + known);
  }
  uint64_t limit = found->runsInline() ? options.hostMemoryLimit : 0;
  knownDevices.push_back(std::make_unique<Device>(fullName, *found, limit));
  return knownDevices.back().get();
}

std::vector<Device *> Runtime::devices() const {
  std::lock_guard lock(mutex);
  std::vector<Device *> all;
  for (auto &device : knownDevices)
    all.push_back(device.get());
  return all;
}

} // namespace gantry::runtime
