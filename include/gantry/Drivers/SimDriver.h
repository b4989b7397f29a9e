// Simulated devices: they have memory, limits and queues of their own, and run on the host (spec
// D6).
//
// A SimMachine holds the devices of one runtime. Each is a driver whose memory is a range of
// addresses that nobody can touch but the command that runs at the moment; the executor of
// simulated plans (drivers/sim/SimExecutor.h) runs one command at a time and counts time on a
// virtual clock.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::plan::fb {
struct Command;
} // namespace gantry::plan::fb

namespace gantry::runtime {

class Device;
class SimMemory;
class ThreadPool;

/// Memory of a simulated device whose plan gives no limit.
inline constexpr uint64_t simDefaultMemory = uint64_t(16) << 30;

/// Which of the commands that may start next does. Every order gives the same bytes, or the plan
/// lacks a wait, which the executor says.
struct SimOrder {
  bool isRandom = false;
  uint64_t seed = 0;

  /// The one that can start first on the virtual clock.
  static SimOrder virtualTime() { return {}; }
  /// Any of them, drawn from the seed.
  static SimOrder random(uint64_t seed) { return {true, seed}; }
  /// Reads "virtual" or "random:SEED". INVALID_ARGUMENT.
  static Expected<SimOrder> parse(std::string_view text);
};

/// A launch, copy or fill on the virtual clock of a run; times in seconds since its beginning.
struct SimEvent {
  const plan::fb::Command *command = nullptr;
  Device *device = nullptr; ///< of the command
  uint32_t queue = 0;
  double start = 0;
  double end = 0;
};

/// Thread-safe: commands of different sessions take turns.
class SimMachine {
public:
  /// `pool` runs the kernels and must outlive the machine.
  explicit SimMachine(ThreadPool &pool) : pool(pool) {}
  SimMachine(const SimMachine &) = delete;

  /// A driver with `bytes` of memory, 0 for simDefaultMemory; the machine must outlive it. `name`
  /// is for messages.
  std::unique_ptr<Driver> addDevice(std::string name, uint64_t bytes);

  /// Whether the driver is one of this machine's devices.
  bool owns(const Driver &driver) const;

  /// Name of the device in whose memory the address lies; empty for the host's.
  std::string ownerOf(const void *data) const;

  /// Whether the whole range lies in one live allocation of that device.
  bool holds(const Driver &driver, const void *data, uint64_t bytes) const;

  /// Runs `work` while the memory of no device can be touched: commands of the host.
  Status runOnHost(const std::function<Status()> &work);

  /// Makes the memory of every device inaccessible, until a driver is next called.
  void close();

private:
  friend class SimDriver;

  /// Takes the turn, and opens the memory of those devices and of no others.
  Status open(std::initializer_list<SimMemory *> wanted, std::unique_lock<std::mutex> &turn);

  ThreadPool &pool;
  mutable std::mutex mutex; ///< the turn; also guards what the memories know
  struct Member {
    const Driver *driver;
    SimMemory *memory;
  };
  std::vector<Member> members;
};

} // namespace gantry::runtime
