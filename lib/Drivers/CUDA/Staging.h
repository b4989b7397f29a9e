// Transfers between memory of the host that CUDA does not know and memory of a device: in pieces,
// through two pinned buffers, so that the host fills one while the other is on its way.
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
  static constexpr uint64_t pieceBytes = uint64_t(4) << 20;

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
  struct Buffer {
    void *data = nullptr;
    EventHandle sent = nullptr; ///< the device has read it, or written it
  };
  Status prepare();
  template <typename Work>
  Status alone(Work work);
  Status sendPieces(void *to, const void *from, uint64_t bytes);
  Status fetchPieces(void *to, const void *from, uint64_t bytes);

  Context &context;
  std::mutex mutex;
  StreamHandle stream = nullptr;
  Buffer buffers[2];
  std::atomic<uint64_t> pinned{0}; ///< bytes of the buffers
};

} // namespace gantry::runtime::cuda
