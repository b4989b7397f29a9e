// Host memory and kernels.
#include "gantry/Drivers/HostDriver.h"

#include "SharedObject.h"
#include "gantry/Drivers/CPUFeatures.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace gantry::runtime {

namespace {

// Arenas from this size on are aligned to, and asked to be made of, huge pages: the page walks of
// large streaming kernels cost several per cent otherwise.
constexpr uint64_t hugePageSize = uint64_t(2) << 20;
constexpr uint64_t hugePageThreshold = 2 * hugePageSize;

class HostDevice final : public ImmediateDevice {
public:
  HostDevice(const DeviceRequest &request, Driver &driver, ThreadPool &pool)
      : ImmediateDevice(request.name, driver, request.hostMemoryLimit), pool(pool) {}

  bool runsInline() const override { return true; }
  Expected<MemoryInfo> memoryInfo() override { return readHostMemory(); }
  Unmet unmet(const VariantNeeds &needs) const override { return unmetByHost(needs); }

  Status copy(void *destination, const void *source, uint64_t bytes) override {
    if (bytes != 0)
      std::memmove(destination, source, bytes);
    return {};
  }
  Status upload(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    if (bytes != 0)
      std::memset(destination, value, bytes);
    return {};
  }

  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    return loadSharedObject(code);
  }

  Status launch(const Launch &launch) override {
    pool.parallelFor(reinterpret_cast<KernelFn>(launch.kernel), launch.buffers, launch.items,
                     launch.grain);
    return {};
  }

protected:
  Expected<void *> takeMemory(uint64_t bytes) override {
    bool huge = bytes >= hugePageThreshold;
    void *data = nullptr;
    if (posix_memalign(&data, huge ? hugePageSize : bufferAlignment, bytes) != 0)
      return Status::doesNotFit("the system has no " + formatBytes(bytes) + " of memory to give");
    if (huge) // advice only: nothing depends on it
      (void)madvise(data, bytes, MADV_HUGEPAGE);
    return data;
  }
  void giveMemory(void *data, uint64_t) override { std::free(data); }

private:
  ThreadPool &pool;
};

class HostDriver final : public Driver {
public:
  explicit HostDriver(ThreadPool &pool) : pool(pool) {}

  std::string_view name() const override { return "host"; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override {
    return std::unique_ptr<Device>(std::make_unique<HostDevice>(request, *this, pool));
  }

private:
  ThreadPool &pool;
};

} // namespace

std::unique_ptr<Driver> createHostDriver(ThreadPool &pool) {
  return std::make_unique<HostDriver>(pool);
}

} // namespace gantry::runtime
