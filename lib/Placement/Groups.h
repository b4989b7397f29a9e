// Ops that go together: the classes of "shares a group with", by union-find.
#pragma once

#include "gantry/Placement/Placement.h"

#include <span>

namespace gantry::placement {

class Groups {
public:
  explicit Groups(const Problem &problem);

  size_t count() const { return begins.size() - 1; }
  /// Ops of a class, ascending.
  std::span<const uint32_t> members(size_t which) const {
    return {items.data() + begins[which], begins[which + 1] - begins[which]};
  }
  uint32_t classOf(uint32_t op) const { return classes[op]; }

private:
  std::vector<uint32_t> classes, begins, items;
};

class Sets;

/// A constraint that may soften, and how much of it holds (Sets::matches; 3: nothing).
struct Softened {
  Member wish;
  unsigned step = 0;
};

/// The minimal set of an unsatisfiable class. `members` are its ops. With `rule`, of that rule and
/// the kernels alone.
Failure explainConflict(const Problem &problem, const Sets &sets, std::span<const uint32_t> members,
                        const Member *rule = nullptr);

/// The same of a class whose locks leave nothing of what `softened` got without them.
Failure explainStaleLock(const Problem &problem, const Sets &sets,
                         std::span<const uint32_t> members, std::span<const Softened> softened);

} // namespace gantry::placement
