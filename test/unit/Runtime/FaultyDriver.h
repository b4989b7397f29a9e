// A driver around the host's whose devices fail on demand, and that can pretend to be apart.
#pragma once

#include "gantry/Drivers/HostDriver.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Runtime/ThreadPool.h"

#include <atomic>
#include <memory>
#include <string>

namespace gantry::runtime::test {

/// Which call is to fail, shared with the test, and what came of it.
struct Faults {
  static constexpr uint64_t never = 0;
  uint64_t failAt = never; ///< the n-th call from now on, counted from 1
  uint64_t calls = 0;
  bool failed = false;              ///< since failNth
  StatusCode code = StatusCode::ok; ///< of the failure

  void failNth(uint64_t n) {
    failAt = n;
    calls = 0;
    failed = false;
  }
  Status next(StatusCode kind, const char *what) {
    if (++calls != failAt)
      return {};
    failed = true;
    code = kind;
    return Status(kind, std::string("injected: ") + what);
  }
};

/// Bytes that were allocated and not released, and whether every size was given back right.
struct Ledger {
  int64_t bytes = 0;
};

enum class Memory { ofTheHost, apart };

/// With Memory::apart the runtime may neither touch the memory nor call the kernels by itself; here
/// both still are the host's.
class FaultyDevice final : public ImmediateDevice {
public:
  FaultyDevice(const DeviceRequest &request, Driver &driver, Memory memory, Faults &faults,
               Ledger &ledger, std::unique_ptr<Device> host)
      : ImmediateDevice(request.name, driver, 0), memory(memory), faults(faults), ledger(ledger),
        owned(std::move(host)), host(static_cast<ImmediateDevice &>(*owned)) {}

  bool runsInline() const override { return memory == Memory::ofTheHost; }
  Expected<MemoryInfo> memoryInfo() override {
    if (Status status = faults.next(StatusCode::unavailable, "memoryInfo"); !status.ok())
      return status;
    return MemoryInfo{uint64_t(1) << 30, uint64_t(1) << 30};
  }
  Unmet unmet(const VariantNeeds &needs) const override { return host.unmet(needs); }

  Status copy(void *destination, const void *source, uint64_t bytes) override {
    GANTRY_RETURN_IF_ERROR(faults.next(StatusCode::internal, "copy"));
    return host.copy(destination, source, bytes);
  }
  Status upload(void *destination, const void *source, uint64_t bytes) override {
    GANTRY_RETURN_IF_ERROR(faults.next(StatusCode::internal, "upload"));
    return host.upload(destination, source, bytes);
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    GANTRY_RETURN_IF_ERROR(faults.next(StatusCode::internal, "download"));
    return host.download(destination, source, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    GANTRY_RETURN_IF_ERROR(faults.next(StatusCode::internal, "fill"));
    return host.fill(destination, value, bytes);
  }

  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    if (Status status = faults.next(StatusCode::unavailable, "loadCode"); !status.ok())
      return status;
    return host.loadCode(code);
  }
  Status launch(const Launch &launch) override {
    GANTRY_RETURN_IF_ERROR(faults.next(StatusCode::internal, "launch"));
    return host.launch(launch);
  }

protected:
  Expected<void *> takeMemory(uint64_t bytes) override {
    if (Status status = faults.next(StatusCode::doesNotFit, "allocate"); !status.ok())
      return status;
    ledger.bytes += static_cast<int64_t>(bytes);
    void *data = nullptr;
    if (posix_memalign(&data, bufferAlignment, bytes) != 0)
      return Status::doesNotFit("out of memory");
    return data;
  }
  void giveMemory(void *data, uint64_t bytes) override {
    ledger.bytes -= static_cast<int64_t>(bytes);
    std::free(data);
  }

private:
  Memory memory;
  Faults &faults;
  Ledger &ledger;
  std::unique_ptr<Device> owned;
  ImmediateDevice &host;
};

class FaultyDriver final : public Driver {
public:
  FaultyDriver(std::string name, Memory memory, Faults &faults, Ledger &ledger)
      : driverName(std::move(name)), memory(memory), faults(faults), ledger(ledger), pool(1),
        host(createHostDriver(pool)) {}

  std::string_view name() const override { return driverName; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override {
    Expected<std::unique_ptr<Device>> inner = host->open(request);
    if (!inner)
      return inner.status();
    return std::unique_ptr<Device>(
        std::make_unique<FaultyDevice>(request, *this, memory, faults, ledger, inner.take()));
  }

private:
  std::string driverName;
  Memory memory;
  Faults &faults;
  Ledger &ledger;
  ThreadPool pool;
  std::unique_ptr<Driver> host;
};

} // namespace gantry::runtime::test
