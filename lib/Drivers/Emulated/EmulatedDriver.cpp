// Memory of an emulated device is memory of the host; code is PTX, and a launch a run of the
// interpreter over the buffers that it names, and no others.
#include "gantry/Drivers/EmulatedDriver.h"

#include "gantry/PTX/Machine.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Support/Bytes.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace gantry::runtime {

namespace {

/// The architecture that is stood for: the newest that kernels may be for.
constexpr uint32_t architecture = 121;

ptx::Checks checksOf(EmulatorChecks checks) {
  switch (checks) {
  case EmulatorChecks::none:
    return ptx::Checks::none;
  case EmulatorChecks::memory:
    return ptx::Checks::memory;
  case EmulatorChecks::all:
    return ptx::Checks::all;
  }
  return ptx::Checks::all;
}

class Code;

/// A kernel as a launch names it.
struct Kernel {
  Code *code;
  std::string name;
  Geometry geometry;
};

/// A PTX module. One launch at a time has its buffers in the image's memory.
class Code final : public CodeObject {
public:
  static Expected<std::unique_ptr<CodeObject>> load(std::string text, EmulatorChecks checks) {
    Expected<ptx::Module> module = ptx::parse(std::move(text), "kernels.ptx");
    if (!module)
      return Status::corrupt("the plan's PTX: " + module.status().message());
    auto code = std::make_unique<Code>();
    code->checks = checks;
    Expected<std::unique_ptr<ptx::Image>> image = ptx::Image::load(module.take(), code->memory);
    if (!image)
      return image.status();
    code->image = image.take();
    return std::unique_ptr<CodeObject>(std::move(code));
  }

  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &geometry) override {
    std::lock_guard turn(mutex);
    if (Expected<const ptx::KernelInfo *> known = image->kernel(symbol); !known)
      return known.status();
    kernels.push_back(std::make_unique<Kernel>(Kernel{this, symbol, geometry}));
    return static_cast<KernelHandle>(kernels.back().get());
  }

  Status run(const Kernel &kernel, const Launch &launch) {
    std::lock_guard turn(mutex);
    std::vector<const void *> added;
    Status status = addBuffers(launch, added);
    if (status.ok())
      status = interpret(kernel, launch);
    for (const void *address : added)
      (void)memory.remove(address);
    return status;
  }

private:
  /// What takes another buffer's place is one region with it.
  Status addBuffers(const Launch &launch, std::vector<const void *> &added) {
    for (uint32_t i = 0; i < launch.numBuffers; ++i) {
      const uint64_t size = launch.sizes ? launch.sizes[i] : 0;
      const auto begin = reinterpret_cast<uint64_t>(launch.buffers[i]);
      const ptx::Region *known = memory.find(begin);
      if (size == 0 || (known && known->begin == begin && known->size == size))
        continue;
      GANTRY_RETURN_IF_ERROR(memory.add(launch.buffers[i], size, "buffer " + std::to_string(i)));
      added.push_back(launch.buffers[i]);
    }
    return {};
  }

  Status interpret(const Kernel &kernel, const Launch &launch) {
    Expected<const ptx::KernelInfo *> info = image->kernel(kernel.name);
    if (!info)
      return info.status();
    if ((*info)->parameters.size() != launch.numBuffers)
      return Status::corrupt("kernel '" + kernel.name + "' takes " +
                             std::to_string((*info)->parameters.size()) +
                             " buffers, the plan gives " + std::to_string(launch.numBuffers));
    ptx::Launch run;
    run.kernel = kernel.name;
    run.grid = kernel.geometry.grid, run.block = kernel.geometry.block;
    run.dynamicShared = kernel.geometry.sharedBytes;
    run.arguments = std::as_bytes(std::span(launch.buffers, launch.numBuffers));
    run.checks = checksOf(checks);
    Expected<ptx::Outcome> outcome = ptx::run(*image, run);
    if (!outcome)
      return outcome.status();
    if (outcome->faults.empty())
      return {};
    const std::string more =
        outcome->faultCount > 1 ? "; " + std::to_string(outcome->faultCount - 1) + " more" : "";
    return Status::internal(outcome->faults.front().text("kernels.ptx") + more);
  }

  EmulatorChecks checks = EmulatorChecks::all;
  std::mutex mutex;
  ptx::Memory memory; ///< outlives the image
  std::unique_ptr<ptx::Image> image;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

class EmulatedDevice final : public ImmediateDevice {
public:
  EmulatedDevice(const DeviceRequest &request, Driver &driver, EmulatorChecks checks)
      : ImmediateDevice(request.name, driver,
                        request.plannedMemory ? request.plannedMemory : emulatedMemory),
        checks(checks) {}

  bool runsInline() const override { return false; }
  Expected<MemoryInfo> memoryInfo() override {
    const uint64_t used = stats().bytesInUse;
    return MemoryInfo{limit(), limit() - std::min(limit(), used)};
  }

  Unmet unmet(const VariantNeeds &needs) const override {
    if (needs.source == VariantNeeds::Source::registered)
      return {"registered kernels run on CPUs only", ""};
    if (needs.source == VariantNeeds::Source::library)
      return {"an emulated GPU has no library '" + std::string(needs.library) + "'", ""};
    if (needs.archMin > architecture)
      return {"an emulated GPU is sm_" + std::to_string(architecture) + ", the code needs sm_" +
                  std::to_string(needs.archMin),
              ""};
    return {};
  }

  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    return Code::load(std::string(code.begin(), code.end()), checks);
  }

  Status launch(const Launch &launch) override {
    const auto &kernel = *static_cast<const Kernel *>(launch.kernel);
    return kernel.code->run(kernel, launch);
  }
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
  Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) override {
    if (&source.driver() != &driver())
      return ImmediateDevice::copyFrom(source, destination, data, bytes);
    return copy(destination, data, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    if (bytes != 0)
      std::memset(destination, value, bytes);
    return {};
  }

protected:
  Expected<void *> takeMemory(uint64_t bytes) override {
    void *data = nullptr;
    if (posix_memalign(&data, 256, bytes) != 0) // as CUDA aligns
      return Status::doesNotFit("the system has no " + formatBytes(bytes) + " of memory to give");
    return data;
  }
  void giveMemory(void *data, uint64_t) override { std::free(data); }

private:
  EmulatorChecks checks;
};

class EmulatedDriver final : public Driver {
public:
  explicit EmulatedDriver(EmulatorChecks checks) : checks(checks) {}

  std::string_view name() const override { return "cuda"; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override {
    return std::unique_ptr<Device>(std::make_unique<EmulatedDevice>(request, *this, checks));
  }

private:
  EmulatorChecks checks;
};

} // namespace

std::unique_ptr<Driver> createEmulatedDriver(EmulatorChecks checks) {
  return std::make_unique<EmulatedDriver>(checks);
}

} // namespace gantry::runtime
