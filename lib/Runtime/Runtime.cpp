#include "gantry/Runtime/Runtime.h"

#include "ConstantPool.h"

namespace gantry::runtime {

Runtime::Runtime(RuntimeOptions options)
    : options(std::move(options)), pool(this->options.threads),
      constants(std::make_unique<ConstantPool>()) {
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
  options.commandOrder = changed.commandOrder;
  options.bindings = changed.bindings;
  return {};
}

Driver *Runtime::driver(std::string_view name) const {
  for (auto &driver : drivers)
    if (driver->name() == name)
      return driver.get();
  return nullptr;
}

Status Runtime::noDriver(const std::string &fullName, const std::string &driverName) const {
  std::string known;
  for (auto &each : drivers)
    known += (known.empty() ? "" : ", ") + std::string(each->name());
  return Status::unavailable("'" + fullName + "' needs the driver '" + driverName + "'; " +
                             (known.empty() ? "there is none" : "the drivers are " + known));
}

Expected<Device *> Runtime::device(const std::string &fullName, const std::string &driverName,
                                   uint64_t plannedMemory, uint32_t physical) {
  std::lock_guard lock(mutex);
  Driver *found = driver(driverName);
  if (!found)
    return noDriver(fullName, driverName);
  const DeviceRequest request{fullName, plannedMemory, options.hostMemoryLimit, physical};
  for (auto &device : knownDevices) {
    if (device->name() != fullName || &device->driver() != found)
      continue;
    GANTRY_RETURN_IF_ERROR(found->checkReuse(*device, request));
    return device.get();
  }
  Expected<std::unique_ptr<Device>> opened = found->open(request);
  if (!opened)
    return opened.status();
  knownDevices.push_back(opened.take());
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
