// Arithmetic on sizes and offsets that may come from a hostile file, and byte counts as people
// write and read them ("16GiB", "1.5 MiB").
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

/// Alignment of every tensor, constant and blob: one cache line, one AVX-512 register.
inline constexpr uint64_t bufferAlignment = 64;

/// a + b, a * b into *result; true when it does not fit (and *result is then meaningless).
inline bool addOverflows(uint64_t a, uint64_t b, uint64_t *result) {
  return __builtin_add_overflow(a, b, result);
}
inline bool mulOverflows(uint64_t a, uint64_t b, uint64_t *result) {
  return __builtin_mul_overflow(a, b, result);
}

/// Whether [offset, offset + size) lies inside [0, limit), without overflow on the way.
inline bool rangeFits(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

/// Whether two half-open ranges share a byte. Both must not overflow; empty ranges share none.
inline bool rangesOverlap(uint64_t offsetA, uint64_t sizeA, uint64_t offsetB, uint64_t sizeB) {
  return sizeA != 0 && sizeB != 0 && offsetA < offsetB + sizeB && offsetB < offsetA + sizeA;
}

/// The next multiple of `alignment` (a power of two). `value` must be trusted: no overflow check.
constexpr uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// As alignTo, for values from outside; true when the result does not fit.
inline bool alignToOverflows(uint64_t value, uint64_t alignment, uint64_t *result) {
  if (addOverflows(value, alignment - 1, result))
    return true;
  *result &= ~(alignment - 1);
  return false;
}

/// A byte count for people, in binary units with at most two decimals: "24 bytes", "1.5 MiB".
std::string formatBytes(uint64_t bytes);

/// Parses a byte count: a decimal number, then nothing or B, KiB, MiB, GiB, TiB (powers of 1024)
/// or KB, MB, GB, TB (powers of 1000), in any case, spaces allowed in between; "1.5GiB" is allowed
/// where it is a whole number of bytes. Errors name the text and the units that are known.
Expected<uint64_t> parseByteCount(std::string_view text);

} // namespace gantry
