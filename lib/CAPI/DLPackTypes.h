// DLPack's structs, as far as arrays need them, in its versions 0 and 1: declared here so that
// nothing has to be installed. The names and the layout are the protocol's (dmlc/dlpack).
#pragma once

#include <cstdint>

namespace gantry::dlpack {

enum DeviceKind : int32_t { cpu = 1, cuda = 2 };
enum TypeCode : uint8_t { integer = 0, unsignedInteger = 1, floating = 2, bfloat = 4, boolean = 6 };

struct Device {
  int32_t kind;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t *shape;
  int64_t *strides; ///< in elements; null when row-major and contiguous
  uint64_t byteOffset;
};

/// DLManagedTensor.
struct Managed {
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *);
};

/// DLManagedTensorVersioned.
struct Versioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(Versioned *);
  uint64_t flags;
  Tensor tensor;
};

} // namespace gantry::dlpack
