// The unit in which an arena is shared out: the smallest alignment of a problem. All offsets are
// multiples of it, so sizes may be rounded up to it at no cost.
#pragma once

#include "gantry/Packing/Packing.h"

#include <algorithm>

namespace gantry::packing {

inline uint64_t granuleOf(const Problem &problem) {
  uint64_t granule = uint64_t(1) << 32;
  for (const Buffer &buffer : problem.buffers)
    granule = std::min(granule, buffer.alignment);
  return granule;
}

inline uint64_t roundUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

} // namespace gantry::packing
