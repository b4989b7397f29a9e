#include "gantry/Runtime/Tensor.h"

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Bytes.h"

#include <cstring>

namespace gantry::runtime {

int64_t TensorType::numElements() const {
  int64_t n = 1;
  for (int64_t dim : shape)
    n *= dim;
  return n;
}

uint64_t TensorType::byteSize() const {
  return static_cast<uint64_t>(numElements()) * elementTypeSize(element);
}

std::string TensorType::str() const { return tensorTypeName(element, shape); }

Expected<Tensor> Tensor::allocate(TensorType type) {
  std::optional<uint64_t> bytes = tensorByteSize(type.element, type.shape);
  if (!bytes)
    return Status::invalidArgument("no tensor can have the type " + type.str());
  auto memory = std::make_shared<AlignedBuffer>(AlignedBuffer::allocate(*bytes));
  if (!memory->data())
    return Status::doesNotFit("no memory for a tensor of " + formatBytes(*bytes));
  std::memset(memory->data(), 0, *bytes);
  void *data = memory->data();
  return share(std::move(type), data, std::move(memory));
}

} // namespace gantry::runtime
