#include "Staging.h"

#include "Context.h"
#include "HostCopy.h"

#include <algorithm>
#include <vector>

namespace gantry::runtime::cuda {

namespace {
DevicePointer pointer(const void *data) { return reinterpret_cast<DevicePointer>(data); }
} // namespace

Status Staging::prepare() {
  if (!stream)
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(context, createStream, &stream, flags::streamNonBlocking));
  if (!buffers) {
    constexpr uint64_t bytes = numBuffers * pieceBytes;
    void *data = nullptr;
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(context, allocateHost, &data, bytes, flags::hostPortable));
    buffers = static_cast<uint8_t *>(data);
    pinned += bytes;
  }
  for (EventHandle &event : sent)
    if (!event)
      GANTRY_RETURN_IF_ERROR(
          GANTRY_CUDA_IN(context, createEvent, &event, flags::eventDisableTiming));
  return {};
}

void Staging::release() {
  CurrentContext current(context, CurrentContext::For::release);
  if (!current.status().ok())
    return; // they went with what was lost
  const Library &api = context.api();
  for (EventHandle &event : sent) {
    if (event)
      (void)api.destroyEvent(event);
    event = nullptr;
  }
  if (buffers)
    (void)api.freeHost(buffers);
  buffers = nullptr;
  if (stream)
    (void)api.destroyStream(stream);
  stream = nullptr;
}

template <typename Work>
Status Staging::alone(Work work) {
  std::lock_guard lock(mutex);
  GANTRY_RETURN_IF_ERROR(context.lost());
  CurrentContext current(context);
  GANTRY_RETURN_IF_ERROR(current.status());
  GANTRY_RETURN_IF_ERROR(prepare());
  Status status = work();
  // Nothing of a transfer that failed half-way is on its way when the buffers are used again.
  Status rest = GANTRY_CUDA_IN(context, synchronize, stream);
  if (!rest.ok())
    (void)GANTRY_CUDA_IN(context, synchronize, stream);
  return status.ok() ? rest : status;
}

/// Whether CUDA knows the memory as the host's, and so copies it without a stop in between. Where
/// it cannot be told the memory is as any other.
bool Staging::isPinned(const void *data, uint64_t bytes) const {
  if (bytes < directBytes)
    return false;
  const DevicePointer first = pointer(data), last = first + bytes - 1;
  for (DevicePointer at : {first, last}) {
    MemoryType type = MemoryType::device;
    if (context.api().pointerAttribute(&type, PointerAttribute::memoryType, at) !=
            Result::success ||
        type != MemoryType::host)
      return false;
  }
  return true;
}

Status Staging::upload(void *to, const void *from, uint64_t bytes) {
  return alone([&] {
    return isPinned(from, bytes)
               ? GANTRY_CUDA_IN(context, copyToDevice, pointer(to), from, bytes, stream)
               : sendPieces(to, from, bytes);
  });
}

Status Staging::download(void *to, const void *from, uint64_t bytes) {
  return alone([&] {
    return isPinned(to, bytes)
               ? GANTRY_CUDA_IN(context, copyToHost, to, pointer(from), bytes, stream)
               : fetchPieces(to, from, bytes);
  });
}

Status Staging::fill(void *to, uint8_t value, uint64_t bytes) {
  return alone(
      [&] { return GANTRY_CUDA_IN(context, fillBytes, pointer(to), value, bytes, stream); });
}

Status Staging::sendPieces(void *to, const void *from, uint64_t bytes) {
  for (uint64_t at = 0, piece = 0; at < bytes; at += pieceBytes, ++piece) {
    const uint64_t size = std::min(pieceBytes, bytes - at);
    if (piece >= numBuffers)
      GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, synchronizeEvent, sentOf(piece)));
    copyOnHost(context.gpu().copyingPool(), bufferOf(piece),
               static_cast<const uint8_t *>(from) + at, size);
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(context, copyToDevice, pointer(to) + at, bufferOf(piece), size, stream));
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, recordEvent, sentOf(piece), stream));
  }
  return {};
}

/// The pieces that follow are on their way while the host takes one.
Status Staging::fetchPieces(void *to, const void *from, uint64_t bytes) {
  const uint64_t pieces = (bytes + pieceBytes - 1) / pieceBytes;
  auto sizeOf = [&](uint64_t piece) { return std::min(pieceBytes, bytes - piece * pieceBytes); };
  auto start = [&](uint64_t piece) -> Status {
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, copyToHost, bufferOf(piece),
                                          pointer(from) + piece * pieceBytes, sizeOf(piece),
                                          stream));
    return GANTRY_CUDA_IN(context, recordEvent, sentOf(piece), stream);
  };
  for (uint64_t piece = 0; piece < std::min(pieces, numBuffers); ++piece)
    GANTRY_RETURN_IF_ERROR(start(piece));
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, synchronizeEvent, sentOf(piece)));
    copyOnHost(context.gpu().copyingPool(), static_cast<uint8_t *>(to) + piece * pieceBytes,
               bufferOf(piece), sizeOf(piece));
    if (piece + numBuffers < pieces)
      GANTRY_RETURN_IF_ERROR(start(piece + numBuffers));
  }
  return {};
}

Status Staging::through(Context &source, const void *from, Context &target, void *to,
                        uint64_t bytes) {
  std::vector<uint8_t> piece(std::min(bytes, numBuffers * pieceBytes));
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    const uint64_t size = std::min<uint64_t>(piece.size(), bytes - at);
    GANTRY_RETURN_IF_ERROR(
        source.staging().download(piece.data(), static_cast<const uint8_t *>(from) + at, size));
    GANTRY_RETURN_IF_ERROR(
        target.staging().upload(static_cast<uint8_t *>(to) + at, piece.data(), size));
  }
  return {};
}

} // namespace gantry::runtime::cuda
