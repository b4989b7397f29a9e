// The driver of simulated devices, which makes them take turns, and the devices.
//
// Memory is opened when a call needs it and closed when another device's call does, so a plan that
// stays on one device pays for protection once. Every address is checked before it is touched.
#include "SimDriver.h"

#include "Host/SharedObject.h"
#include "SimExecutor.h"
#include "gantry/Drivers/CPUFeatures.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <cstring>

namespace gantry::runtime {

class SimDevice final : public ImmediateDevice {
public:
  SimDevice(SimDriver &machine, const std::string &name, uint64_t bytes)
      : ImmediateDevice(name, machine, bytes), machine(machine), memory(name, bytes) {
    std::lock_guard turn(machine.mutex);
    machine.members.push_back({this, &memory});
  }
  ~SimDevice() override {
    std::lock_guard turn(machine.mutex);
    std::erase_if(machine.members, [&](auto &member) { return member.device == this; });
  }

  bool runsInline() const override { return false; }

  Unmet unmet(const VariantNeeds &needs) const override {
    if (needs.source == VariantNeeds::Source::registered)
      return {"registered kernels run on CPUs only", ""};
    return unmetByHost(needs);
  }

  /// All of them run on the same host, which keeps the code once.
  const void *codeDomain() const override { return &machine; }

  Expected<MemoryInfo> memoryInfo() override {
    std::lock_guard turn(machine.mutex);
    return MemoryInfo{memory.total(), memory.free()};
  }
  Status copy(void *destination, const void *source, uint64_t bytes) override {
    return access({&memory}, bytes, {{&memory, destination}, {&memory, source}},
                  [&] { std::memmove(destination, source, bytes); });
  }
  Status upload(void *destination, const void *source, uint64_t bytes) override {
    return access({&memory}, bytes, {{&memory, destination}, {nullptr, source}},
                  [&] { std::memcpy(destination, source, bytes); });
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    return access({&memory}, bytes, {{nullptr, destination}, {&memory, source}},
                  [&] { std::memcpy(destination, source, bytes); });
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    return access({&memory}, bytes, {{&memory, destination}},
                  [&] { std::memset(destination, value, bytes); });
  }
  Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) override {
    if (!machine.owns(source))
      return ImmediateDevice::copyFrom(source, destination, data, bytes);
    SimMemory *theirs = &static_cast<SimDevice &>(source).memory;
    return access({&memory, theirs}, bytes, {{&memory, destination}, {theirs, data}},
                  [&] { std::memmove(destination, data, bytes); });
  }

  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    return loadSharedObject(code);
  }

  /// The sizes of the buffers are not known here; the executor checks them before.
  Status launch(const Launch &launch) override {
    std::unique_lock<std::mutex> turn;
    GANTRY_RETURN_IF_ERROR(machine.open({&memory}, turn));
    for (uint32_t i = 0; i < launch.numBuffers; ++i)
      for (auto &member : machine.members)
        if (member.memory != &memory && member.memory->covers(launch.buffers[i]))
          return Status::invalidArgument("argument " + std::to_string(i) +
                                         " lies in the memory of '" + member.memory->deviceName() +
                                         "', the kernel runs on '" + memory.deviceName() + "'");
    machine.pool.parallelFor(reinterpret_cast<KernelFn>(launch.kernel), launch.buffers,
                             launch.items, launch.grain);
    return {};
  }

protected:
  Expected<void *> takeMemory(uint64_t bytes) override {
    std::lock_guard turn(machine.mutex);
    return memory.allocate(bytes);
  }
  void giveMemory(void *data, uint64_t bytes) override {
    std::lock_guard turn(machine.mutex);
    memory.release(data, bytes);
  }

private:
  struct OwnedBytes {
    SimMemory *owner; ///< null for the host
    const void *data;
  };

  /// Checks the ranges of `bytes` bytes, and works with those memories open.
  template <typename Work>
  Status access(std::initializer_list<SimMemory *> wanted, uint64_t bytes,
                std::initializer_list<OwnedBytes> ranges, Work work) {
    if (bytes == 0)
      return {};
    std::unique_lock<std::mutex> turn;
    GANTRY_RETURN_IF_ERROR(machine.open(wanted, turn));
    for (const OwnedBytes &range : ranges)
      GANTRY_RETURN_IF_ERROR(check(range, bytes));
    work();
    return {};
  }

  Status check(const OwnedBytes &range, uint64_t bytes) const {
    if (range.owner && range.owner->holds(range.data, bytes))
      return {};
    std::string where = "memory of the host";
    for (auto &member : machine.members)
      if (member.memory->covers(range.data))
        where = "the memory of '" + member.memory->deviceName() + "'";
    if (!range.owner && where == "memory of the host")
      return {};
    return Status::invalidArgument(formatBytes(bytes) + " lie in " + where + ", expected " +
                                   (range.owner
                                        ? "an allocation of '" + range.owner->deviceName() + "'"
                                        : "memory of the host"));
  }

  SimDriver &machine;
  SimMemory memory;
};

std::unique_ptr<Driver> createSimDriver(ThreadPool &pool) {
  return std::make_unique<SimDriver>(pool);
}

namespace {
uint64_t memoryOf(const DeviceRequest &request) {
  return request.plannedMemory ? request.plannedMemory : simDefaultMemory;
}
} // namespace

Expected<std::unique_ptr<Device>> SimDriver::open(const DeviceRequest &request) {
  return std::unique_ptr<Device>(
      std::make_unique<SimDevice>(*this, request.name, memoryOf(request)));
}

Status SimDriver::checkReuse(const Device &device, const DeviceRequest &request) const {
  if (device.limit() == memoryOf(request))
    return {};
  return Status::failedPrecondition(
      "'" + device.name() + "' is simulated with " + formatBytes(device.limit()) +
      " of memory by an earlier plan, now with " + formatBytes(memoryOf(request)) +
      "; load the plan in another runtime");
}

std::unique_ptr<Executor> SimDriver::createExecutor(Program &program) {
  return std::make_unique<SimExecutor>(program, *this, pool);
}

bool SimDriver::owns(const Device &device) const {
  std::lock_guard turn(mutex);
  return std::any_of(members.begin(), members.end(),
                     [&](const Member &member) { return member.device == &device; });
}

std::string SimDriver::ownerOf(const void *data) const {
  std::lock_guard turn(mutex);
  for (const Member &member : members)
    if (member.memory->covers(data))
      return member.memory->deviceName();
  return {};
}

bool SimDriver::holds(const Device &device, const void *data, uint64_t bytes) const {
  std::lock_guard turn(mutex);
  for (const Member &member : members)
    if (member.device == &device)
      return member.memory->holds(data, bytes);
  return false;
}

Status SimDriver::runOnHost(const std::function<Status()> &work) {
  std::unique_lock<std::mutex> turn;
  GANTRY_RETURN_IF_ERROR(open({}, turn));
  return work();
}

void SimDriver::close() {
  std::unique_lock<std::mutex> turn;
  (void)open({}, turn); // what could not be closed is reported by the next command
}

Status SimDriver::open(std::initializer_list<SimMemory *> wanted,
                       std::unique_lock<std::mutex> &turn) {
  turn = std::unique_lock(mutex);
  for (const Member &member : members) {
    bool isWanted = std::find(wanted.begin(), wanted.end(), member.memory) != wanted.end();
    GANTRY_RETURN_IF_ERROR(member.memory->setOpen(isWanted));
  }
  return {};
}

} // namespace gantry::runtime
