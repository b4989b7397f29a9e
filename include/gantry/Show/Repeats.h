// Runs of a sequence that repeat, as the layers of a network do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gantry::show {

/// Elements first .. first + period * times are `times` times the same `period` elements.
struct Repeat {
  size_t first = 0, period = 0, times = 0;

  size_t saved() const { return period * (times - 1); }
};

/// Repeats that do not overlap, in order: from the left, each time the one that saves most, and at
/// least `least` elements.
std::vector<Repeat> findRepeats(std::span<const uint64_t> sequence, size_t least);

} // namespace gantry::show
