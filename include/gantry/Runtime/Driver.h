// What the runtime asks of a kind of device: memory, bytes moved, code loaded, kernels started.
//
// A driver knows nothing of plans, tensors or sessions. The conformance suite (test/conformance)
// states what every driver must do; host is here, the simulator and CUDA register the same way.
#pragma once

#include "gantry/Runtime/Kernel.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry::runtime {

/// Memory of a device at this moment, in bytes.
struct MemoryInfo {
  uint64_t total = 0;
  uint64_t free = 0;
};

/// A kernel that a driver can launch: a KernelFn for drivers that run inline, else the driver's own
/// handle. Valid as long as the CodeObject that it came from.
using KernelHandle = void *;

/// Machine code that a driver has loaded; unloaded when destroyed.
class CodeObject {
public:
  virtual ~CodeObject() = default;
  /// NOT_FOUND when the code has no such symbol.
  virtual Expected<KernelHandle> lookup(const std::string &symbol) = 0;
};

/// One kernel call; the arrays live until the launch has finished.
struct Launch {
  KernelHandle kernel = nullptr;
  void *const *buffers = nullptr;
  uint32_t numBuffers = 0;
  int64_t items = 0;
  int64_t grain = 1;
};

class Driver {
public:
  virtual ~Driver() = default;

  /// "host", "sim" or "cuda": what a plan's device names.
  virtual std::string_view name() const = 0;

  /// Whether the caller can read and write device memory through plain pointers, and a launch is a
  /// call of a KernelFn that the executor may make itself. Everything is then done on return.
  virtual bool runsInline() const = 0;

  virtual Expected<MemoryInfo> memoryInfo() = 0;

  /// `bytes` (more than 0) of device memory, aligned to bufferAlignment, contents undefined.
  /// DOES_NOT_FIT when there is not as much.
  virtual Expected<void *> allocate(uint64_t bytes) = 0;
  /// Gives back what allocate gave, with the same size.
  virtual void release(void *data, uint64_t bytes) = 0;

  /// Copies inside the device. The ranges may overlap.
  virtual Status copy(void *destination, const void *source, uint64_t bytes) = 0;
  /// Copies from host memory to the device, and back. Done on return.
  virtual Status upload(void *destination, const void *source, uint64_t bytes) = 0;
  virtual Status download(void *destination, const void *source, uint64_t bytes) = 0;
  /// Copies from memory of another device, whose driver has the same name. Unless a kind of device
  /// can do it, UNSUPPORTED.
  virtual Status copyFrom(Driver &source, void *destination, const void *data, uint64_t bytes) {
    (void)destination, (void)data, (void)bytes;
    return Status::unsupported("a copy from a device of driver '" + std::string(source.name()) +
                               "' to one of driver '" + std::string(name()) + "'");
  }
  /// Sets every byte.
  virtual Status fill(void *destination, uint8_t value, uint64_t bytes) = 0;

  /// Loads an object of machine code of the driver's kind; the bytes may go away afterwards.
  /// CORRUPT when they are not that, UNAVAILABLE when the system refuses them.
  virtual Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) = 0;

  virtual Status launch(const Launch &launch) = 0;
};

} // namespace gantry::runtime
