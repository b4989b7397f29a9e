#include "gantry/Runtime/Array.h"

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Bytes.h"

#include <vector>

namespace gantry::runtime {

namespace {

using plan::fb::CopyKind;

// What arrays without elements point to.
alignas(bufferAlignment) uint8_t noElements[bufferAlignment];

Status checkType(const TensorType &type) {
  if (tensorByteSize(type.element, type.shape))
    return {};
  return Status::invalidArgument("no array can have the type " + type.str());
}

/// On the GPU of the two, between GPUs on the target, as copies of plans are.
void count(Device &from, Device &to, uint64_t bytes) {
  const bool fromHost = from.runsInline(), toHost = to.runsInline();
  if (&from == &to)
    to.countArray(CopyKind::sameDevice, bytes);
  else if (fromHost)
    to.countArray(CopyKind::hostToDevice, bytes);
  else if (toHost)
    from.countArray(CopyKind::deviceToHost, bytes);
  else
    to.countArray(CopyKind::deviceToDevice, bytes);
}

} // namespace

Expected<std::shared_ptr<Array>> Array::create(std::shared_ptr<Runtime> runtime, Device &device,
                                               TensorType type) {
  GANTRY_RETURN_IF_ERROR(runtime->checkProcess());
  GANTRY_RETURN_IF_ERROR(checkType(type));
  std::shared_ptr<Array> array(new Array(std::move(runtime), device, std::move(type)));
  array->start = noElements;
  if (array->byteSize() == 0)
    return array;
  Expected<Allocation> memory =
      device.allocate(array->byteSize(), "an array of " + array->type().str());
  if (!memory)
    return memory.status();
  array->memory = memory.take();
  array->start = array->memory.data();
  return array;
}

Expected<std::shared_ptr<Array>> Array::borrow(std::shared_ptr<Runtime> runtime, Device &device,
                                               TensorType type, void *data,
                                               std::function<void()> release) {
  std::shared_ptr<Array> array(new Array(std::move(runtime), device, std::move(type)));
  array->release = std::move(release);
  GANTRY_RETURN_IF_ERROR(array->owner->checkProcess());
  GANTRY_RETURN_IF_ERROR(checkType(array->type()));
  const uint64_t bytes = array->byteSize();
  if (!data && bytes != 0)
    return Status::invalidArgument("an array of " + array->type().str() +
                                   " cannot be at a null pointer");
  if (bytes != 0 && !device.runsInline())
    GANTRY_RETURN_IF_ERROR(device.checkOwn(data, bytes));
  array->start = bytes == 0 ? noElements : data;
  return array;
}

Array::~Array() {
  if (release)
    release();
}

Status Array::read(void *destination) const {
  GANTRY_RETURN_IF_ERROR(owner->checkProcess());
  GANTRY_RETURN_IF_ERROR(place.download(destination, start, byteSize()));
  if (!place.runsInline())
    place.countArray(CopyKind::deviceToHost, byteSize());
  return {};
}

Status Array::write(const void *source) {
  GANTRY_RETURN_IF_ERROR(owner->checkProcess());
  GANTRY_RETURN_IF_ERROR(place.upload(start, source, byteSize()));
  if (!place.runsInline())
    place.countArray(CopyKind::hostToDevice, byteSize());
  return {};
}

Expected<std::shared_ptr<Array>> Array::copyTo(Device &target) const {
  Expected<std::shared_ptr<Array>> made = create(owner, target, tensorType);
  if (!made || byteSize() == 0)
    return made;
  GANTRY_RETURN_IF_ERROR(transferTo(**made));
  count(place, target, byteSize());
  return made;
}

Status Array::transferTo(Array &target) const {
  const uint64_t bytes = byteSize();
  if (place.runsInline())
    return target.place.upload(target.start, start, bytes);
  if (target.place.runsInline())
    return place.download(target.start, start, bytes);
  if (&place.driver() == &target.place.driver()) {
    std::unique_ptr<Queue> queue = target.place.createQueue();
    GANTRY_RETURN_IF_ERROR(&place == &target.place
                               ? queue->copy(target.start, start, bytes)
                               : queue->copyFrom(place, target.start, start, bytes));
    return queue->finish().status;
  }
  // No driver knows the memory of another's devices.
  AlignedBuffer between = AlignedBuffer::allocate(bytes);
  if (!between.data())
    return Status::doesNotFit("no memory for a copy of " + formatBytes(bytes) +
                              " between devices of two drivers");
  GANTRY_RETURN_IF_ERROR(place.download(between.data(), start, bytes));
  return target.place.upload(target.start, between.data(), bytes);
}

Tensor Array::tensor(const std::shared_ptr<Array> &array) {
  Device *device = array->device().runsInline() ? nullptr : &array->device();
  return Tensor::share(array->type(), array->data(), array, device);
}

} // namespace gantry::runtime
