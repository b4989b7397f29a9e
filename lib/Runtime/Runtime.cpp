#include "gantry/Runtime/Runtime.h"

#include "ConstantPool.h"
#include "gantry/Runtime/HostDriver.h"

namespace gantry::runtime {

Runtime::Runtime(RuntimeOptions options)
    : options(std::move(options)), pool(this->options.threads),
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

Driver *Runtime::driver(std::string_view name) const {
  for (auto &driver : drivers)
    if (driver->name() == name)
      return driver.get();
  return nullptr;
}

Expected<Device *> Runtime::device(const std::string &fullName, const std::string &driverName) {
  std::lock_guard lock(mutex);
  for (auto &device : knownDevices)
    if (device->name() == fullName && device->driver().name() == driverName)
      return device.get();
  Driver *found = driver(driverName);
  if (!found) {
    std::string known;
    for (auto &each : drivers)
      known += (known.empty() ? "" : ", ") + std::string(each->name());
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
