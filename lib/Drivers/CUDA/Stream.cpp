#include "Stream.h"

#include "CUDADevice.h"
#include "Code.h"
#include "gantry/Runtime/Driver.h"

#include <array>
#include <vector>

namespace gantry::runtime::cuda {

namespace {
DevicePointer pointer(const void *data) { return reinterpret_cast<DevicePointer>(data); }
} // namespace

// ---- StreamEvent ----

Status StreamEvent::prepare() {
  if (event)
    return {};
  Expected<std::shared_ptr<Context>> made = gpu.context();
  if (!made)
    return made.status();
  context = made.take();
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  return GANTRY_CUDA_IN(*context, createEvent, &event, flags::eventDisableTiming);
}

StreamEvent::~StreamEvent() {
  if (!event)
    return;
  CurrentContext current(*context, CurrentContext::For::release);
  if (current.status().ok())
    (void)context->api().destroyEvent(event);
}

Status StreamEvent::wait() {
  if (!recorded)
    return {};
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  return GANTRY_CUDA_IN(*context, synchronizeEvent, event);
}

// ---- StreamQueue ----

StreamQueue::StreamQueue(CUDADevice &device) : Queue(device), owner(device) {}

StreamQueue::~StreamQueue() {
  if (!stream)
    return;
  CurrentContext current(*context, CurrentContext::For::release);
  if (current.status().ok())
    (void)context->api().destroyStream(stream);
}

Status StreamQueue::prepare() {
  if (stream)
    return context->lost();
  if (!context) {
    Expected<std::shared_ptr<Context>> made = owner.gpu().context();
    if (!made)
      return made.status();
    context = made.take();
  }
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  return GANTRY_CUDA_IN(*context, createStream, &stream, flags::streamNonBlocking);
}

template <typename Work>
Status StreamQueue::with(Work work) {
  GANTRY_RETURN_IF_ERROR(prepare());
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  return work();
}

Status StreamQueue::launch(const Launch &launch) {
  const auto &kernel = *static_cast<const Kernel *>(launch.kernel);
  if (kernel.inLibrary)
    return with([&] {
      return kernel.inLibrary->launch(*context, stream, launch.buffers, launch.numBuffers);
    });
  // The parameters are the buffers' addresses; CUDA takes a copy of them.
  std::array<void *, 64> few;
  std::vector<void *> many;
  void **parameters = few.data();
  if (launch.numBuffers > few.size()) {
    many.resize(launch.numBuffers);
    parameters = many.data();
  }
  for (uint32_t i = 0; i < launch.numBuffers; ++i)
    parameters[i] = const_cast<void **>(&launch.buffers[i]);
  const auto &grid = kernel.geometry.grid, &block = kernel.geometry.block;
  return with([&] {
    return context->check(
        context->api().launch(kernel.function, grid[0], grid[1], grid[2], block[0], block[1],
                              block[2], kernel.geometry.sharedBytes, stream, parameters, nullptr),
        symbolOf_launch);
  });
}

/// CUDA copies ranges that overlap in no order; those go through memory of their own.
Status StreamQueue::copy(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0 || destination == source)
    return {};
  const DevicePointer to = pointer(destination), from = pointer(source);
  if (to + bytes <= from || from + bytes <= to)
    return with([&] { return GANTRY_CUDA_IN(*context, copyInside, to, from, bytes, stream); });
  GANTRY_RETURN_IF_ERROR(finish().status);
  std::vector<uint8_t> kept(bytes);
  GANTRY_RETURN_IF_ERROR(owner.download(kept.data(), source, bytes));
  return owner.upload(destination, kept.data(), bytes);
}

/// Memory of the host that CUDA does not know is copied on the calling thread.
Status StreamQueue::upload(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  GANTRY_RETURN_IF_ERROR(finish().status);
  return owner.upload(destination, source, bytes);
}

Status StreamQueue::download(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0)
    return {};
  GANTRY_RETURN_IF_ERROR(finish().status);
  return owner.download(destination, source, bytes);
}

Status StreamQueue::send(void *to, const void *pinned, uint64_t bytes) {
  return with(
      [&] { return GANTRY_CUDA_IN(*context, copyToDevice, pointer(to), pinned, bytes, stream); });
}

Status StreamQueue::fetch(void *pinned, const void *from, uint64_t bytes) {
  return with(
      [&] { return GANTRY_CUDA_IN(*context, copyToHost, pinned, pointer(from), bytes, stream); });
}

Status StreamQueue::copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) {
  if (&source.driver() != &owner.driver())
    return Status::unsupported("a copy from a device of driver '" +
                               std::string(source.driver().name()) + "' to one of driver '" +
                               std::string(owner.driver().name()) + "'");
  if (bytes == 0)
    return {};
  auto &other = static_cast<CUDADevice &>(source);
  if (&other.gpu() == &owner.gpu())
    return with([&] {
      return GANTRY_CUDA_IN(*context, copyInside, pointer(destination), pointer(data), bytes,
                            stream);
    });
  if (owner.gpu().canAccess(other.gpu())) {
    GANTRY_RETURN_IF_ERROR(other.memory().shareWith(owner.gpu()));
    return with([&] {
      return GANTRY_CUDA_IN(*context, copyAnywhere, pointer(destination), pointer(data), bytes,
                            stream);
    });
  }
  GANTRY_RETURN_IF_ERROR(prepare());
  GANTRY_RETURN_IF_ERROR(finish().status);
  Expected<std::shared_ptr<Context>> from = other.gpu().context();
  if (!from)
    return from.status();
  return Staging::through(**from, data, *context, destination, bytes);
}

Status StreamQueue::fill(void *destination, uint8_t value, uint64_t bytes) {
  if (bytes == 0)
    return {};
  return with([&] {
    return GANTRY_CUDA_IN(*context, fillBytes, pointer(destination), value, bytes, stream);
  });
}

Status StreamQueue::record(Event &event) {
  auto &own = static_cast<StreamEvent &>(event);
  GANTRY_RETURN_IF_ERROR(own.prepare());
  GANTRY_RETURN_IF_ERROR(
      with([&] { return GANTRY_CUDA_IN(*context, recordEvent, own.handle(), stream); }));
  own.setRecorded();
  return {};
}

Status StreamQueue::wait(Event &event) {
  auto &own = static_cast<StreamEvent &>(event);
  if (!own.wasRecorded())
    return {};
  return with([&] { return GANTRY_CUDA_IN(*context, waitEvent, stream, own.handle(), 0); });
}

Outcome StreamQueue::finish() {
  if (!stream)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return {current.status(), currentMark()};
  return {GANTRY_CUDA_IN(*context, synchronize, stream), currentMark()};
}

void StreamQueue::notify(Completion &completion) { completion.finished(finish()); }

} // namespace gantry::runtime::cuda
