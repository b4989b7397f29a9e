#include "gantry/Runtime/Runtime.h"

#include "ConstantPool.h"
#include "gantry/Runtime/Process.h"

namespace gantry::runtime {

Runtime::Runtime(RuntimeOptions options)
    : options(std::move(options)), generation(processGeneration()), pool(this->options.threads),
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
  options.topology = changed.topology;
  if (!changed.memory.empty())
    options.memory = changed.memory;
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

/// Where a setting is for its physical device, which is one of its task.
Status Runtime::shareBudget(Device &device, uint32_t physical) {
  Expected<DeviceName> name = DeviceName::parse(device.name());
  if (!name || !name->type)
    return {};
  const MemorySetting setting = settingFor(options.memory, *name->type, physical);
  if (!setting.limit && !setting.fraction && !setting.reserve)
    return {};
  name->id = physical;
  auto budget = std::make_shared<Budget>(*name, setting);
  budget = budgets.emplace(budget->name(), budget).first->second;
  std::string remark;
  GANTRY_RETURN_IF_ERROR(budget->addPart(device, &remark));
  if (!remark.empty())
    log(Severity::remark, remark);
  device.shareBudget(std::move(budget));
  return {};
}

Status Runtime::checkMemorySettings(std::vector<DeviceName> there) const {
  std::lock_guard lock(mutex);
  for (const PhysicalDevice &physical : options.topology.physical)
    there.push_back(physical.name);
  for (const std::unique_ptr<Driver> &driver : drivers)
    for (DeviceType type : {DeviceType::CPU, DeviceType::GPU})
      for (uint32_t id = 0; id < driver->numDevices(type); ++id)
        there.push_back(DeviceName::local(type, id));
  return checkSettings(options.memory, there);
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
  GANTRY_RETURN_IF_ERROR(shareBudget(**opened, physical));
  knownDevices.push_back(opened.take());
  return knownDevices.back().get();
}

Expected<Runtime::KnownDevice> Runtime::find(const DeviceName &name) const {
  std::lock_guard lock(mutex);
  const Topology &topology = options.topology;
  for (const LogicalDevice &logical : topology.logical) {
    if (name.physical || !name.matches(logical.name))
      continue;
    KnownDevice found{&logical, nullptr};
    const std::string_view driver = driverName(topology.physical[logical.physical].driver);
    for (auto &device : knownDevices)
      if (device->driver().name() == driver && device->name() == logical.name.str())
        found.open = device.get();
    return found;
  }
  return Status::invalidArgument("'" + name.withDefaultTask().str() +
                                 "': unknown device; the devices are " + topology.deviceList());
}

Expected<Device *> Runtime::device(const DeviceName &name) {
  Expected<KnownDevice> known = find(name);
  if (!known)
    return known.status();
  if (known->open)
    return known->open;
  const LogicalDevice &logical = *known->logical;
  const PhysicalDevice &physical = options.topology.physical[logical.physical];
  // As plans ask for it: a simulated device has no more memory than the topology gives it.
  const bool isBounded = logical.limit || physical.driver != gantry::Driver::sim;
  return device(logical.name.str(), std::string(driverName(physical.driver)),
                isBounded ? logical.limit : physical.memory, physical.name.id.value_or(0));
}

Status Runtime::checkProcess() const {
  if (generation == processGeneration())
    return {};
  return Status::failedPrecondition(
      "this process was forked from the one that uses Gantry, whose threads and devices are in the "
      "parent only; start it with spawn, or fork before Gantry is first used");
}

std::vector<Device *> Runtime::devices() const {
  std::lock_guard lock(mutex);
  std::vector<Device *> all;
  for (auto &device : knownDevices)
    all.push_back(device.get());
  return all;
}

} // namespace gantry::runtime
