// Squares of registers, turned: rows become columns. For Lanes/ only.
#pragma once

#include <cstdint>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

using Four = uint32_t __attribute__((vector_size(16)));
using Two = uint64_t __attribute__((vector_size(16)));

[[gnu::always_inline, maybe_unused]] inline void turn(Four (&square)[4]) {
  Four a = __builtin_shufflevector(square[0], square[1], 0, 4, 1, 5),
       b = __builtin_shufflevector(square[2], square[3], 0, 4, 1, 5),
       c = __builtin_shufflevector(square[0], square[1], 2, 6, 3, 7),
       d = __builtin_shufflevector(square[2], square[3], 2, 6, 3, 7);
  square[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  square[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  square[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  square[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

[[gnu::always_inline, maybe_unused]] inline void turn(Two (&square)[2]) {
  Two a = __builtin_shufflevector(square[0], square[1], 0, 2),
      b = __builtin_shufflevector(square[0], square[1], 1, 3);
  square[0] = a;
  square[1] = b;
}

} // namespace
} // namespace gantry::ptx::GANTRY_PTX_LANES
