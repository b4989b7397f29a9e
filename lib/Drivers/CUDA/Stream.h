// Queues as CUDA streams, and events. Both come to be when they are first used, since making them
// makes a context.
#pragma once

#include "Context.h"
#include "gantry/Runtime/Queue.h"

#include <memory>

namespace gantry::runtime::cuda {

class CUDADevice;

class StreamEvent final : public Event {
public:
  explicit StreamEvent(PhysicalGPU &gpu) : gpu(gpu) {}
  ~StreamEvent() override;

  Status wait() override;

  /// Makes it, if need be.
  Status prepare();
  EventHandle handle() const { return event; }
  bool wasRecorded() const { return recorded; }
  void setRecorded() { recorded = true; }
  Context &in() const { return *context; }

private:
  PhysicalGPU &gpu;
  std::shared_ptr<Context> context;
  EventHandle event = nullptr;
  bool recorded = false;
};

class StreamQueue final : public Queue {
public:
  explicit StreamQueue(CUDADevice &device);
  ~StreamQueue() override;

  Status launch(const Launch &launch) override;
  Status copy(void *destination, const void *source, uint64_t bytes) override;
  Status upload(void *destination, const void *source, uint64_t bytes) override;
  Status download(void *destination, const void *source, uint64_t bytes) override;
  Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) override;
  Status fill(void *destination, uint8_t value, uint64_t bytes) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  void notify(Completion &completion) override;
  Outcome finish() override;

  /// Makes the stream, if need be; what follows is for the executor.
  Status prepare();
  StreamHandle handle() const { return stream; }
  Context &in() const { return *context; }
  CUDADevice &cudaDevice() const { return owner; }
  /// Copies from, and to, pinned memory of the host.
  Status send(void *to, const void *pinned, uint64_t bytes);
  Status fetch(void *pinned, const void *from, uint64_t bytes);

private:
  /// Calls `work` with the context current and the stream made.
  template <typename Work>
  Status with(Work work);

  CUDADevice &owner;
  std::shared_ptr<Context> context;
  StreamHandle stream = nullptr;
};

} // namespace gantry::runtime::cuda
