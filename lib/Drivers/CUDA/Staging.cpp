#include "Staging.h"

#include "Context.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gantry::runtime::cuda {

namespace {
DevicePointer pointer(const void *data) { return reinterpret_cast<DevicePointer>(data); }
} // namespace

Status Staging::prepare() {
  if (!stream)
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(context, createStream, &stream, flags::streamNonBlocking));
  for (Buffer &buffer : buffers) {
    if (!buffer.data) {
      GANTRY_RETURN_IF_ERROR(
          GANTRY_CUDA_IN(context, allocateHost, &buffer.data, pieceBytes, flags::hostPortable));
      pinned += pieceBytes;
    }
    if (!buffer.sent)
      GANTRY_RETURN_IF_ERROR(
          GANTRY_CUDA_IN(context, createEvent, &buffer.sent, flags::eventDisableTiming));
  }
  return {};
}

void Staging::release() {
  CurrentContext current(context, CurrentContext::For::release);
  if (!current.status().ok())
    return; // they went with what was lost
  const Library &api = context.api();
  for (Buffer &buffer : buffers) {
    if (buffer.sent)
      (void)api.destroyEvent(buffer.sent);
    if (buffer.data)
      (void)api.freeHost(buffer.data);
    buffer = {};
  }
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

Status Staging::upload(void *to, const void *from, uint64_t bytes) {
  return alone([&] { return sendPieces(to, from, bytes); });
}

Status Staging::download(void *to, const void *from, uint64_t bytes) {
  return alone([&] { return fetchPieces(to, from, bytes); });
}

Status Staging::fill(void *to, uint8_t value, uint64_t bytes) {
  return alone(
      [&] { return GANTRY_CUDA_IN(context, fillBytes, pointer(to), value, bytes, stream); });
}

Status Staging::sendPieces(void *to, const void *from, uint64_t bytes) {
  bool used[2] = {};
  for (uint64_t at = 0, piece = 0; at < bytes; at += pieceBytes, ++piece) {
    Buffer &buffer = buffers[piece % 2];
    const uint64_t size = std::min(pieceBytes, bytes - at);
    if (used[piece % 2])
      GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, synchronizeEvent, buffer.sent));
    std::memcpy(buffer.data, static_cast<const uint8_t *>(from) + at, size);
    GANTRY_RETURN_IF_ERROR(
        GANTRY_CUDA_IN(context, copyToDevice, pointer(to) + at, buffer.data, size, stream));
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, recordEvent, buffer.sent, stream));
    used[piece % 2] = true;
  }
  return {};
}

/// Piece n + 1 is on its way while the host takes piece n.
Status Staging::fetchPieces(void *to, const void *from, uint64_t bytes) {
  const uint64_t pieces = (bytes + pieceBytes - 1) / pieceBytes;
  auto sizeOf = [&](uint64_t piece) { return std::min(pieceBytes, bytes - piece * pieceBytes); };
  auto start = [&](uint64_t piece) -> Status {
    Buffer &buffer = buffers[piece % 2];
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, copyToHost, buffer.data,
                                          pointer(from) + piece * pieceBytes, sizeOf(piece),
                                          stream));
    return GANTRY_CUDA_IN(context, recordEvent, buffer.sent, stream);
  };
  GANTRY_RETURN_IF_ERROR(start(0));
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces)
      GANTRY_RETURN_IF_ERROR(start(piece + 1));
    Buffer &buffer = buffers[piece % 2];
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, synchronizeEvent, buffer.sent));
    std::memcpy(static_cast<uint8_t *>(to) + piece * pieceBytes, buffer.data, sizeOf(piece));
  }
  return {};
}

Status Staging::through(Context &source, const void *from, Context &target, void *to,
                        uint64_t bytes) {
  std::vector<uint8_t> piece(std::min(bytes, 2 * pieceBytes));
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
