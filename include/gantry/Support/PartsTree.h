// The order in which values of parts are added: a balanced tree over their numbers. Every 2^k of
// them that begin at a multiple of 2^k are one sum, of two sums of 2^(k-1); of the last ones as
// many as there are. So it is the same whoever has which parts, and parts that there are not, which
// are always the last ones, change nothing of it.
#pragma once

#include <bit>
#include <cstddef>

namespace gantry {

/// The parts of one sum of the tree.
struct PartRange {
  size_t begin, size;

  size_t end() const { return begin + size; }
  bool isPart() const { return size == 1; }

  /// What a sum of several is made of: the most that are a whole tree, but not all; and the others.
  PartRange first() const { return {begin, std::bit_floor(size - 1)}; }
  PartRange second() const { return {begin + first().size, size - first().size}; }

  /// Of how many sums and parts of the tree under this one a range consists.
  size_t countSums(size_t from, size_t to) const {
    if (to <= begin || end() <= from)
      return 0;
    if (from <= begin && end() <= to)
      return 1;
    return first().countSums(from, to) + second().countSums(from, to);
  }

  /// How many sums and parts wait at most, when one after the other of a range is made.
  size_t countWaiting(size_t from, size_t to) const {
    size_t most = 0;
    for (size_t next = from; next < to; ++next)
      if (size_t waiting = countSums(from, next); waiting > most)
        most = waiting;
    return most;
  }
};

} // namespace gantry
