// Indices that are out of range: how they are found among known ones, and what is said of them, by
// the compiler of constants and by the runtime of all others.
//
// An index of a dimension of `size` is in [-size, size): negative ones count from the end. `sizes`
// holds one size for all indices, or one for each component of the tuples that their last dimension
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct BadIndex {
  int64_t position = -1; ///< among the indices, in row-major order
  int64_t value = 0;
};

/// The size that belongs to a position. There is at least one size.
inline int64_t sizeAt(int64_t position, std::span<const int64_t> sizes) {
  return sizes[static_cast<uint64_t>(position) % sizes.size()];
}

inline std::optional<BadIndex> findBadIndex(std::span<const int64_t> indices,
                                            std::span<const int64_t> sizes) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto position = static_cast<int64_t>(i);
    const int64_t size = sizeAt(position, sizes);
    if (indices[i] < -size || indices[i] >= size)
      return BadIndex{position, indices[i]};
  }
  return std::nullopt;
}

/// "reads index 9 at [1, 2] of operand 'ids', which must be in [-9, 9)"; of indices of `shape`, in
/// which no dimension is 0.
std::string describeBadIndex(const BadIndex &bad, std::string_view operand,
                             std::span<const int64_t> shape, std::span<const int64_t> sizes);

} // namespace gantry
