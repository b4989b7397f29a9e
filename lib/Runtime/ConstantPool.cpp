#include "ConstantPool.h"

#include <cstring>

namespace gantry::runtime {

namespace {

bool sameBytes(const ConstantArena &arena, const std::vector<const uint8_t *> &bytes) {
  // Memory of other devices is not ours to read: there the 64-bit hashes and sizes must do.
  if (!arena.device->runsInline())
    return true;
  for (size_t i = 0; i < arena.ranges.size(); ++i) {
    const ConstantRange &range = arena.ranges[i];
    const uint8_t *here = arena.data + range.offset;
    if (here != bytes[i] && std::memcmp(here, bytes[i], range.size) != 0)
      return false;
  }
  return true;
}

} // namespace

std::shared_ptr<const ConstantArena> ConstantPool::find(Device *device,
                                                        const std::vector<ConstantRange> &ranges,
                                                        const std::vector<const uint8_t *> &bytes) {
  std::lock_guard lock(mutex);
  std::erase_if(arenas, [](auto &arena) { return arena.expired(); });
  for (auto &candidate : arenas)
    if (auto arena = candidate.lock())
      if (arena->device == device && arena->ranges == ranges && sameBytes(*arena, bytes))
        return arena;
  return nullptr;
}

void ConstantPool::add(const std::shared_ptr<const ConstantArena> &arena) {
  std::lock_guard lock(mutex);
  arenas.push_back(arena);
}

} // namespace gantry::runtime
