// What the simulated devices of a driver share: the turn, and who may touch which memory.
#pragma once

#include "SimMemory.h"
#include "gantry/Drivers/SimDriver.h"

#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

namespace gantry::runtime {

class SimDevice;

/// Thread-safe: commands of different sessions take turns.
class SimDriver final : public Driver {
public:
  explicit SimDriver(ThreadPool &pool) : pool(pool) {}

  std::string_view name() const override { return "sim"; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override;
  Status checkReuse(const Device &device, const DeviceRequest &request) const override;
  std::unique_ptr<Executor> createExecutor(Program &program) override;
  bool hasVirtualClock() const override { return true; }

  /// Whether the device is one of this driver's.
  bool owns(const Device &device) const;

  /// Name of the device in whose memory the address lies; empty for the host's.
  std::string ownerOf(const void *data) const;

  /// Whether the whole range lies in one live allocation of that device.
  bool holds(const Device &device, const void *data, uint64_t bytes) const;

  /// Runs `work` while the memory of no device can be touched: commands of the host.
  Status runOnHost(const std::function<Status()> &work);

  /// Makes the memory of every device inaccessible, until a device is next called.
  void close();

private:
  friend class SimDevice;

  /// Takes the turn, and opens the memory of those devices and of no others.
  Status open(std::initializer_list<SimMemory *> wanted, std::unique_lock<std::mutex> &turn);

  ThreadPool &pool;
  mutable std::mutex mutex; ///< the turn; also guards what the memories know
  struct Member {
    const Device *device;
    SimMemory *memory;
  };
  std::vector<Member> members;
};

} // namespace gantry::runtime
