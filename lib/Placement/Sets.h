// Sets of devices as words, and what names match in three steps of softness: all that the solver
// asks per op is an AND of a few words.
#pragma once

#include "gantry/Placement/Placement.h"

#include <span>

namespace gantry::placement {

using Words = std::span<const uint64_t>;

class Sets {
public:
  explicit Sets(const Problem &problem);

  size_t width() const { return words; }
  /// Devices that match name `index` in full (step 0), without its id (1), without its type (2).
  Words matches(uint32_t index, unsigned step = 0) const {
    return {names.data() + (static_cast<size_t>(index) * 3 + step) * words, words};
  }
  Words kernels(uint32_t index) const { return {kernelSets.data() + index * words, words}; }

private:
  size_t words;
  std::vector<uint64_t> names, kernelSets;
};

inline bool contains(Words set, uint32_t device) { return set[device / 64] >> device % 64 & 1; }

inline bool intersects(Words a, Words b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] & b[i])
      return true;
  return false;
}

/// Narrows `set`; whether that changed it.
inline bool narrow(std::vector<uint64_t> &set, Words by) {
  bool changed = false;
  for (size_t i = 0; i < set.size(); ++i) {
    changed |= (set[i] & ~by[i]) != 0;
    set[i] &= by[i];
  }
  return changed;
}

inline bool isEmpty(Words set) {
  for (uint64_t word : set)
    if (word)
      return false;
  return true;
}

/// Whether a constraint must hold in full, or is an error; others give way.
inline bool isBinding(const Constraint &c) {
  return c.softness == Softness::strict && c.kind <= Kind::lock;
}

/// How much of a constraint must hold: all, or job, replica and task of a request that softens
/// (Sets::matches); nothing of one that may give way.
inline std::optional<unsigned> hardStep(const Constraint &c) {
  if (c.kind > Kind::lock || c.softness == Softness::any)
    return std::nullopt;
  return c.softness == Softness::strict ? 0 : 2;
}

} // namespace gantry::placement
