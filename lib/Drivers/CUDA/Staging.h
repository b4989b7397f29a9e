// Transfers between memory of the host and memory of a device. What CUDA does not know goes in
// pieces through pinned buffers, so that the host fills one while others are on their way; what a
// caller has pinned goes as it is.
//
// One at a time, and over on return. Buffers and stream are made by the first transfer.
#pragma once

#include "Api.h"
#include "gantry/Support/Status.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace gantry::runtime::cuda {

class Context;

class Staging {
public:
  static constexpr uint64_t pieceBytes = uint64_t(2) << 20;
  static constexpr uint64_t numBuffers = 4;
  /// Of fewer bytes nobody asks whether they are pinned.
  static constexpr uint64_t directBytes = uint64_t(256) << 10;

  explicit Staging(Context &context) : context(context) {}

  Status upload(void *to, const void *from, uint64_t bytes);
  Status download(void *to, const void *from, uint64_t bytes);
  Status fill(void *to, uint8_t value, uint64_t bytes);
  /// From a device to another that cannot read its memory; `source` is the other's context.
  static Status through(Context &source, const void *from, Context &target, void *to,
                        uint64_t bytes);

  uint64_t pinnedBytes() const { return pinned; }
  void release();

private:
  Status prepare();
  template <typename Work>
  Status alone(Work work);
  bool isPinned(const void *data, uint64_t bytes) const;
  uint8_t *bufferOf(uint64_t piece) const { return buffers + piece % numBuffers * pieceBytes; }
  EventHandle &sentOf(uint64_t piece) { return sent[piece % numBuffers]; }
  Status sendPieces(void *to, const void *from, uint64_t bytes);
  Status fetchPieces(void *to, const void *from, uint64_t bytes);

  Context &context;
  std::mutex mutex;
  StreamHandle stream = nullptr;
  uint8_t *buffers = nullptr;
  EventHandle sent[numBuffers] = {}; ///< by buffer: the device has read it, or written it
  std::atomic<uint64_t> pinned{0};   ///< bytes of the buffers
};

} // namespace gantry::runtime::cuda
