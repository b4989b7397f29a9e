// An array on a device: typed memory that its owner and whoever computes with it share.
//
// A session reads and writes it where it is, when it is on the device that the plan has the input
// or output on. Copies between devices are made here, outside of runs, and are counted as those of
// plans are.
#pragma once

#include "gantry/Runtime/Device.h"
#include "gantry/Runtime/Runtime.h"
#include "gantry/Runtime/Tensor.h"

#include <functional>
#include <memory>

namespace gantry::runtime {

/// Thread-safe but for the contents: who writes them sees to it that nobody reads them meanwhile.
class Array {
public:
  /// Memory of its own, aligned to bufferAlignment; what it holds is undefined. INVALID_ARGUMENT
  /// for a type that no array can have, DOES_NOT_FIT.
  static Expected<std::shared_ptr<Array>> create(std::shared_ptr<Runtime> runtime, Device &device,
                                                 TensorType type);

  /// Memory of others on the device, which `release` gives back with the last handle; also when
  /// this call fails. INVALID_ARGUMENT for a null pointer, or memory that is elsewhere.
  static Expected<std::shared_ptr<Array>> borrow(std::shared_ptr<Runtime> runtime, Device &device,
                                                 TensorType type, void *data,
                                                 std::function<void()> release);

  ~Array();
  Array(const Array &) = delete;

  const TensorType &type() const { return tensorType; }
  Device &device() const { return place; }
  void *data() const { return start; }
  uint64_t byteSize() const { return tensorType.byteSize(); }
  const std::shared_ptr<Runtime> &runtime() const { return owner; }
  /// Whether the memory was taken for this array, and goes with it.
  bool ownsMemory() const { return memory.data() != nullptr; }

  /// Copies all bytes out to, or in from, memory of the host.
  Status read(void *destination) const;
  Status write(const void *source);

  /// A new array of the same contents, on whichever device of the same runtime.
  Expected<std::shared_ptr<Array>> copyTo(Device &target) const;

  /// What bindings take; it keeps the array alive. `array` is this one's handle.
  static Tensor tensor(const std::shared_ptr<Array> &array);

private:
  Array(std::shared_ptr<Runtime> runtime, Device &device, TensorType type)
      : owner(std::move(runtime)), place(device), tensorType(std::move(type)) {}
  Status transferTo(Array &target) const;

  std::shared_ptr<Runtime> owner; // first: the memory needs its device when it goes
  Device &place;
  TensorType tensorType;
  Allocation memory;
  void *start = nullptr;
  std::function<void()> release;
};

} // namespace gantry::runtime
