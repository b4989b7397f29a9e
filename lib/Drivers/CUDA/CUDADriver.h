// The driver: the library, and the cards that devices were opened on.
#pragma once

#include "Context.h"
#include "gantry/Drivers/CUDADriver.h"

#include <mutex>
#include <vector>

namespace gantry::runtime::cuda {

class Communicators;

/// Thread-safe. Opens the library with the first device.
class CUDADriver final : public Driver {
public:
  explicit CUDADriver(CUDAOptions options) : options(options) {}

  std::string_view name() const override { return "cuda"; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override;
  uint32_t numDevices(DeviceType type) override;
  Status checkReuse(const Device &device, const DeviceRequest &request) const override;
  Status connect(std::span<Device *const> devices, std::span<const KernelHandle> ranks) override;
  std::unique_ptr<Executor> createExecutor(Program &program) override;

private:
  Expected<PhysicalGPU *> gpu(int ordinal);

  CUDAOptions options;
  std::mutex mutex;
  std::unique_ptr<Library> library; ///< outlives the cards
  std::vector<std::unique_ptr<PhysicalGPU>> gpus;
  std::vector<std::weak_ptr<Communicators>> communicators; ///< that plans have, by their cards
};

} // namespace gantry::runtime::cuda
