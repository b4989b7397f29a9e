// The driver of a simulated device, and the machine that makes the devices take turns.
//
// Memory is opened when a call needs it and closed when another device's call does, so a plan that
// stays on one device pays for protection once. Every address is checked before it is touched.
#include "gantry/Runtime/SimDriver.h"

#include "SimMemory.h"
#include "drivers/host/SharedObject.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace gantry::runtime {

class SimDriver final : public Driver {
public:
  SimDriver(SimMachine &machine, std::string device, uint64_t bytes)
      : machine(machine), memory(std::move(device), bytes) {
    std::lock_guard turn(machine.mutex);
    machine.members.push_back({this, &memory});
  }
  ~SimDriver() override {
    std::lock_guard turn(machine.mutex);
    std::erase_if(machine.members, [&](auto &member) { return member.driver == this; });
  }

  std::string_view name() const override { return "sim"; }
  bool runsInline() const override { return false; }

  Expected<MemoryInfo> memoryInfo() override {
    std::lock_guard turn(machine.mutex);
    return MemoryInfo{memory.total(), memory.free()};
  }
  Expected<void *> allocate(uint64_t bytes) override {
    std::lock_guard turn(machine.mutex);
    return memory.allocate(bytes);
  }
  void release(void *data, uint64_t bytes) override {
    std::lock_guard turn(machine.mutex);
    memory.release(data, bytes);
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
  Status copyFrom(Driver &source, void *destination, const void *data, uint64_t bytes) override {
    if (!machine.owns(source))
      return Driver::copyFrom(source, destination, data, bytes);
    SimMemory *theirs = &static_cast<SimDriver &>(source).memory;
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

private:
  struct Range {
    SimMemory *owner; ///< null for the host
    const void *data;
  };

  /// Checks the ranges of `bytes` bytes, and works with those memories open.
  template <typename Work>
  Status access(std::initializer_list<SimMemory *> wanted, uint64_t bytes,
                std::initializer_list<Range> ranges, Work work) {
    if (bytes == 0)
      return {};
    std::unique_lock<std::mutex> turn;
    GANTRY_RETURN_IF_ERROR(machine.open(wanted, turn));
    for (const Range &range : ranges)
      GANTRY_RETURN_IF_ERROR(check(range, bytes));
    work();
    return {};
  }

  Status check(const Range &range, uint64_t bytes) const {
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

  SimMachine &machine;
  SimMemory memory;
};

Expected<SimOrder> SimOrder::parse(std::string_view text) {
  if (text == "virtual")
    return virtualTime();
  constexpr std::string_view prefix = "random:";
  uint64_t seed = 0;
  if (text.starts_with(prefix)) {
    const char *end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data() + prefix.size(), end, seed);
    if (error == std::errc() && at == end)
      return random(seed);
  }
  return Status::invalidArgument("unknown order of simulated commands '" + std::string(text) +
                                 "'; the orders are virtual and random:SEED");
}

std::unique_ptr<Driver> SimMachine::addDevice(std::string name, uint64_t bytes) {
  return std::make_unique<SimDriver>(*this, std::move(name), bytes ? bytes : simDefaultMemory);
}

bool SimMachine::owns(const Driver &driver) const {
  std::lock_guard turn(mutex);
  return std::any_of(members.begin(), members.end(),
                     [&](const Member &member) { return member.driver == &driver; });
}

std::string SimMachine::ownerOf(const void *data) const {
  std::lock_guard turn(mutex);
  for (const Member &member : members)
    if (member.memory->covers(data))
      return member.memory->deviceName();
  return {};
}

bool SimMachine::holds(const Driver &driver, const void *data, uint64_t bytes) const {
  std::lock_guard turn(mutex);
  for (const Member &member : members)
    if (member.driver == &driver)
      return member.memory->holds(data, bytes);
  return false;
}

Status SimMachine::runOnHost(const std::function<Status()> &work) {
  std::unique_lock<std::mutex> turn;
  GANTRY_RETURN_IF_ERROR(open({}, turn));
  return work();
}

void SimMachine::close() {
  std::unique_lock<std::mutex> turn;
  (void)open({}, turn); // what could not be closed is reported by the next command
}

Status SimMachine::open(std::initializer_list<SimMemory *> wanted,
                        std::unique_lock<std::mutex> &turn) {
  turn = std::unique_lock(mutex);
  for (const Member &member : members) {
    bool isWanted = std::find(wanted.begin(), wanted.end(), member.memory) != wanted.end();
    GANTRY_RETURN_IF_ERROR(member.memory->setOpen(isWanted));
  }
  return {};
}

} // namespace gantry::runtime
