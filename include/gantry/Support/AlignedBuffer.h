// Bytes on the heap at a 64-byte boundary, for what a kernel or the plan reader looks at in place.
#pragma once

#include "gantry/Support/Bytes.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace gantry {

/// Owns `size` bytes, 64-byte aligned; move only. Contents start undefined.
class AlignedBuffer {
public:
  AlignedBuffer() = default;

  /// None of size bytes when memory is short: data() is then null.
  static AlignedBuffer allocate(uint64_t size) {
    AlignedBuffer buffer;
    auto alignment = static_cast<std::align_val_t>(bufferAlignment);
    buffer.storage.reset(
        static_cast<uint8_t *>(::operator new(size ? size : 1, alignment, std::nothrow)));
    buffer.length = buffer.storage ? size : 0;
    return buffer;
  }

  /// A copy of `bytes`; data() is null when memory is short.
  static AlignedBuffer copyOf(std::span<const uint8_t> bytes) {
    AlignedBuffer buffer = allocate(bytes.size());
    if (buffer.data() && !bytes.empty())
      std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return buffer;
  }

  uint8_t *data() { return storage.get(); }
  const uint8_t *data() const { return storage.get(); }
  uint64_t size() const { return length; }
  std::span<uint8_t> bytes() { return {storage.get(), length}; }
  std::span<const uint8_t> bytes() const { return {storage.get(), length}; }

private:
  struct Release {
    void operator()(uint8_t *p) const {
      ::operator delete(p, static_cast<std::align_val_t>(bufferAlignment));
    }
  };
  std::unique_ptr<uint8_t, Release> storage;
  uint64_t length = 0;
};

} // namespace gantry
