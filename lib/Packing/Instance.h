// What the planners work on: the buffers of a problem that take room, in slots instead of steps.
#pragma once

#include "gantry/Packing/Packing.h"

#include "Granularity.h"

#include <cstdint>
#include <vector>

namespace gantry::packing {

/// A buffer that takes room. Slots are the stretches between two steps at which something changes.
struct Box {
  static constexpr uint64_t free = UINT64_MAX;

  uint64_t size; ///< rounded up to the granule
  uint64_t alignment;
  uint64_t fixedAt;    ///< or free
  uint32_t begin, end; ///< slots, half-open
  uint32_t duration;   ///< in steps of the problem
  uint32_t buffer;     ///< index in the problem
};

struct Instance {
  explicit Instance(const Problem &problem);

  std::vector<Box>
      boxes; ///< by slot, then as in the problem: neighbours in time are neighbours here
  uint32_t numSlots = 0;
  uint64_t granule = 64;
  uint64_t lowerBound = 0;    ///< of the peak: the largest load, or the end of what is fixed
  std::vector<uint64_t> load; ///< bytes live in each slot
  bool anyFixed = false;
  bool oneAlignment = true; ///< all alignments are the granule: every multiple of it is a place
};

/// Offsets of an instance's boxes; what a planner gives.
struct Layout {
  std::vector<uint64_t> offsets; ///< per box; empty when there is none yet
  uint64_t peak = UINT64_MAX;
};

/// The largest end of a box.
uint64_t peakOf(const Instance &instance, const std::vector<uint64_t> &offsets);

} // namespace gantry::packing
