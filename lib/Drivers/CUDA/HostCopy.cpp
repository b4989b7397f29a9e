#include "HostCopy.h"

#include "gantry/Runtime/ThreadPool.h"

#include <algorithm>
#include <cstring>

namespace gantry::runtime::cuda {

namespace {

/// What is handed out: a few pages; threads take at least a few of them in a row.
constexpr uint64_t lineBytes = 16 << 10;
constexpr int64_t leastLines = 8;

/// `buffers`: target, source, and the number of bytes.
void copyLines(void *const *buffers, int64_t begin, int64_t end) {
  const auto bytes = *static_cast<const uint64_t *>(buffers[2]);
  const uint64_t first = static_cast<uint64_t>(begin) * lineBytes;
  const uint64_t last = std::min(bytes, static_cast<uint64_t>(end) * lineBytes);
  std::memcpy(static_cast<uint8_t *>(buffers[0]) + first,
              static_cast<const uint8_t *>(buffers[1]) + first, last - first);
}

} // namespace

void copyOnHost(ThreadPool *pool, void *to, const void *from, uint64_t bytes) {
  if (!pool || bytes < sharedCopyBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  void *buffers[] = {to, const_cast<void *>(from), &bytes};
  pool->parallelFor(copyLines, buffers, static_cast<int64_t>((bytes + lineBytes - 1) / lineBytes),
                    leastLines);
}

} // namespace gantry::runtime::cuda
