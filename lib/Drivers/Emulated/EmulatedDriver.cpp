// Memory of an emulated device is memory of the host; code is PTX, and a launch a run of the
// emulator (Emulator.h) over the buffers that it names, and no others.
#include "gantry/Drivers/EmulatedDriver.h"

#include "EmulatorLibrary.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Support/Bytes.h"

#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace gantry::runtime {

namespace {

/// The architecture that is stood for: the newest that kernels may be for.
constexpr uint32_t architecture = 121;

int numberOf(EmulatorChecks checks) {
  switch (checks) {
  case EmulatorChecks::none:
    return 0;
  case EmulatorChecks::memory:
    return 1;
  case EmulatorChecks::all:
    return 2;
  }
  return 2;
}

class Code;

/// A kernel as a launch names it.
struct Kernel {
  Code *code;
  std::string name;
  Geometry geometry;
};

/// A PTX module in the emulator.
class Code final : public CodeObject {
public:
  static Expected<std::unique_ptr<CodeObject>> load(std::span<const uint8_t> text,
                                                    EmulatorChecks checks) {
    Expected<const gantry_emulator_t *> emulator = openEmulator();
    if (!emulator)
      return emulator.status();
    auto code = std::make_unique<Code>(**emulator, checks);
    GANTRY_RETURN_IF_ERROR(code->statusOf((*emulator)->load(
        reinterpret_cast<const char *>(text.data()), text.size(), &code->handle)));
    return std::unique_ptr<CodeObject>(std::move(code));
  }

  Code(const gantry_emulator_t &emulator, EmulatorChecks checks)
      : emulator(emulator), checks(checks) {}
  ~Code() override {
    if (handle)
      emulator.unload(handle);
  }

  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &geometry) override {
    GANTRY_RETURN_IF_ERROR(statusOf(emulator.find(handle, symbol.c_str())));
    std::lock_guard turn(mutex);
    kernels.push_back(std::make_unique<Kernel>(Kernel{this, symbol, geometry}));
    return static_cast<KernelHandle>(kernels.back().get());
  }

  Status run(const Kernel &kernel, const Launch &launch) const {
    if (!launch.sizes)
      return Status::invalidArgument("an emulated GPU has to know the sizes of a kernel's buffers");
    gantry_emulator_launch_t run = {};
    run.kernel = kernel.name.c_str();
    for (int i = 0; i < 3; ++i)
      run.grid[i] = kernel.geometry.grid[i], run.block[i] = kernel.geometry.block[i];
    run.shared_bytes = kernel.geometry.sharedBytes;
    run.buffers = launch.buffers, run.sizes = launch.sizes, run.num_buffers = launch.numBuffers;
    run.checks = numberOf(checks);
    return statusOf(emulator.run(handle, &run));
  }

private:
  Status statusOf(gantry_emulator_status_t status) const {
    return status == 0 ? Status() : Status(static_cast<StatusCode>(status), emulator.error());
  }

  const gantry_emulator_t &emulator;
  EmulatorChecks checks;
  gantry_emulator_code_t *handle = nullptr;
  std::mutex mutex;
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
    if (!needs.target.empty() && !needs.target.starts_with("sm_"))
      return {"the code is for " + std::string(needs.target) + ", not for GPUs", ""};
    if (needs.isCubin)
      return {"an emulated GPU runs PTX, no machine code", ""};
    if (!needs.features.empty())
      return {"an emulated GPU lacks " + std::string(needs.features.front()), ""};
    if (needs.archMin > architecture)
      return {"an emulated GPU is sm_" + std::to_string(architecture) + ", the code needs sm_" +
                  std::to_string(needs.archMin),
              ""};
    return {};
  }

  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    return Code::load(code, checks);
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
  /// Addresses have more than 32 bits, as those of a GPU: a heap may begin below, where kernels
  /// that lose the upper half of a pointer find what they look for.
  Expected<void *> takeMemory(uint64_t bytes) override {
    void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return Status::doesNotFit("the system has no " + formatBytes(bytes) + " of memory to give");
    std::memset(data, 0xff, bytes); // NaN: whoever reads what nobody wrote is to see it
    return data;
  }
  void giveMemory(void *data, uint64_t bytes) override { ::munmap(data, bytes); }

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
