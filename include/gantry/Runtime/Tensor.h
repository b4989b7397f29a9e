// Tensors as the runtime's callers see them: a type, and memory that is theirs or shared.
#pragma once

#include "gantry/Support/ElementType.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gantry::runtime {

class Device;

/// Element type and static shape; row-major, contiguous.
struct TensorType {
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape;

  bool operator==(const TensorType &) const = default;
  int64_t numElements() const;
  uint64_t byteSize() const;
  /// "f32[1,3,224,224]"
  std::string str() const;
};

/// A handle to typed memory. Copying a Tensor copies the handle; owned memory goes with the last
/// one.
class Tensor {
public:
  Tensor() = default;

  /// Memory of its own on the host, 64-byte aligned, zeroed. INVALID_ARGUMENT for a negative or
  /// impossibly large shape, DOES_NOT_FIT when memory is short.
  static Expected<Tensor> allocate(TensorType type);

  /// The caller's memory: type.byteSize() bytes that must outlive every use. Any alignment works,
  /// but what is not 64-byte aligned is copied through an aligned buffer at each run. `device` says
  /// where the memory is, null for the host.
  static Tensor borrow(TensorType type, void *data, Device *device = nullptr) {
    return Tensor(std::move(type), data, device, nullptr);
  }

  /// Memory that `owner` keeps alive.
  static Tensor share(TensorType type, void *data, std::shared_ptr<void> owner,
                      Device *device = nullptr) {
    return Tensor(std::move(type), data, device, std::move(owner));
  }

  const TensorType &type() const { return tensorType; }
  void *data() const { return start; }
  template <typename T>
  T *dataAs() const {
    return static_cast<T *>(start);
  }
  uint64_t byteSize() const { return tensorType.byteSize(); }
  /// Where the data is; null for memory of the host.
  Device *device() const { return place; }

private:
  Tensor(TensorType type, void *data, Device *device, std::shared_ptr<void> owner)
      : tensorType(std::move(type)), start(data), place(device), owner(std::move(owner)) {}

  TensorType tensorType;
  void *start = nullptr;
  Device *place = nullptr;
  std::shared_ptr<void> owner;
};

} // namespace gantry::runtime
