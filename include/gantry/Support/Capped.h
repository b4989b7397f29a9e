// The largest number of bytes that there is here, and sums and products that stay there instead of
// beginning again at 0: the work of graphs that nobody could ever run has to be told, too.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace gantry {

/// 2^63 - 1: what the sizes of files, MLIR's i64 and the plan's checks can hold. Every size, limit
/// and amount of work that is read is refused above it.
inline constexpr uint64_t mostBytes = INT64_MAX;

/// Of numbers up to mostBytes, at most mostBytes.
inline uint64_t cappedSum(uint64_t a, uint64_t b) {
  return a > mostBytes || b > mostBytes - a ? mostBytes : a + b;
}

/// The same; 0 where a factor is 0.
inline uint64_t cappedProduct(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (uint64_t factor : factors)
    if (factor == 0)
      return 0;
    else if (__builtin_mul_overflow(product, factor, &product) || product > mostBytes)
      product = mostBytes;
  return product;
}

} // namespace gantry
