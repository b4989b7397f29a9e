// A logical device: a card, or the part of one that its limit allows.
#pragma once

#include "Context.h"
#include "Memory.h"
#include "gantry/Runtime/Device.h"

namespace gantry::runtime::cuda {

class CUDADevice final : public Device {
public:
  CUDADevice(const std::string &name, Driver &driver, PhysicalGPU &gpu, uint64_t limit);

  PhysicalGPU &gpu() const { return ownGPU; }
  Memory &memory() { return ownMemory; }

  bool runsInline() const override { return false; }
  Expected<MemoryInfo> memoryInfo() override;
  Expected<MemoryInfo> cardMemory() override;
  Status setAside(uint64_t bytes) override { return ownMemory.setAside(bytes); }
  Unmet unmet(const VariantNeeds &needs) const override;
  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override;
  Expected<std::unique_ptr<CodeObject>> openLibrary(std::string_view name) override;
  /// The parts of a card have one context.
  const void *codeDomain() const override { return &ownGPU; }
  Status checkOwn(const void *data, uint64_t bytes) override;
  std::unique_ptr<Queue> createQueue() override;
  std::unique_ptr<Event> createEvent() override;
  Status upload(void *destination, const void *source, uint64_t bytes) override;
  Status download(void *destination, const void *source, uint64_t bytes) override;
  Status fill(void *destination, uint8_t value, uint64_t bytes) override;

protected:
  Expected<void *> takeMemory(uint64_t bytes) override { return ownMemory.take(bytes); }
  void giveMemory(void *data, uint64_t bytes) override { ownMemory.give(data, bytes); }
  uint64_t sharedPinnedBytes() const override { return ownGPU.pinnedBytes(); }

private:
  Unmet unmetByLibrary(const VariantNeeds &needs) const;

  PhysicalGPU &ownGPU;
  Memory ownMemory;
};

} // namespace gantry::runtime::cuda
