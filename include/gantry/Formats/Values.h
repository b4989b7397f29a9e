// What is done with the values of arrays: print, compare, make up.
#pragma once

#include "gantry/Formats/Array.h"

namespace gantry::arrays {

/// The values as NumPy prints them: brackets, aligned columns, lines of at most 75 characters, and
/// only the ends of each dimension when there are more than 1000 elements. No newline at the end.
std::string formatValues(const ArrayView &array);

/// How an array differs from a reference of the same type and shape.
struct Difference {
  double maxAbsolute = 0;
  double maxRelative = 0; ///< |actual - expected| / |expected|; infinite where expected is 0
  uint64_t outside = 0;   ///< elements with |actual - expected| > atol + rtol * |expected|
  uint64_t count = 0;     ///< elements compared
  uint64_t worst = 0;     ///< index of the element furthest outside
  bool close() const { return outside == 0; }
};

/// How far apart results may be whose roundings came in another order, as a part of the largest
/// value (spec R5).
struct Tolerance {
  double ofLargest;
  const char *text; ///< of that number: "1e-5"

  /// For f16 and bf16 four units in the last place. What is no float counts as f64, the finest.
  static Tolerance of(ElementType element);
  Tolerance coarser(const Tolerance &other) const {
    return other.ofLargest > ofLargest ? other : *this;
  }
};

/// The largest finite magnitude; 0 when there is none.
double largestOf(const ArrayView &array);

/// As numpy.isclose with equal_nan: NaN equals NaN, an infinity only itself.
/// Both have the same number of elements; types may differ.
Difference compare(const ArrayView &actual, const ArrayView &expected, double rtol, double atol);
/// The same where each element may be off by a part of the largest one expected: where all are
/// zeros nothing else will do. Arrays that are no floats must be equal.
Difference compare(const ArrayView &actual, const ArrayView &expected, const Tolerance &tolerance);

/// Index of an element by dimension, `[0,3]`.
std::string formatIndex(uint64_t index, std::span<const int64_t> shape);

/// How to make up an input.
struct Fill {
  enum class Kind { uniform, normal, randint, zeros, ones, ramp } kind = Kind::uniform;
  double low = -1, high = 1; ///< uniform: [low, high); randint: integers of [low, high)
  std::string text() const;
};

/// Parses `uniform`, `uniform:A:B`, `normal`, `randint:A:B`, `zeros`, `ones` or `ramp` (0, 1, 2,
/// …).
Expected<Fill> parseFill(std::string_view text);

/// What is used unless told otherwise: uniform(-1,1) for floats, 0 or 1 for everything else, so
/// that integers which index something are in its range.
Fill defaultFill(ElementType element);

/// Fills the array; element i depends on (seed, name, i) only, so the same command always gives the
/// same values on every machine.
void fill(Array &array, const Fill &fill, uint64_t seed, std::string_view name);

} // namespace gantry::arrays
