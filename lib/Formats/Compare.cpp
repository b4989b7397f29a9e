// Comparison of an array with a reference: by numpy.isclose's rule, or by the largest value (spec
// R5), since a sum that comes to little is no more exact than the terms that cancelled in it.
#include "gantry/Formats/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::arrays {

namespace {
/// |a - b|, exact for 64-bit integers as well, whose doubles may be equal when they are not.
double distance(const ArrayView &a, const ArrayView &b, uint64_t i) {
  if (!isFloat(a.element) && !isFloat(b.element)) {
    const int64_t x = integerAt(a, i), y = integerAt(b, i);
    const bool isUnsigned = !isSigned(a.element);
    const bool less = isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
    const uint64_t difference = static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
    return static_cast<double>(less ? 0 - difference : difference);
  }
  const double x = valueAt(a, i), y = valueAt(b, i);
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  const double difference = std::fabs(x - y);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}
} // namespace

Difference compare(const ArrayView &actual, const ArrayView &expected, double rtol, double atol) {
  Difference result;
  result.count = expected.count();
  double worstExcess = 0;
  for (uint64_t i = 0; i < result.count; ++i) {
    const double difference = distance(actual, expected, i);
    if (difference == 0)
      continue;
    const double magnitude = std::fabs(valueAt(expected, i));
    result.maxAbsolute = std::max(result.maxAbsolute, difference);
    result.maxRelative =
        std::max(result.maxRelative,
                 magnitude > 0 ? difference / magnitude : std::numeric_limits<double>::infinity());
    // An infinite reference allows nothing but itself, although rtol * infinity is infinite.
    const double allowed = std::isfinite(magnitude) ? atol + rtol * magnitude : 0;
    if (difference <= allowed)
      continue;
    ++result.outside;
    if (difference - allowed > worstExcess) {
      worstExcess = difference - allowed;
      result.worst = i;
    }
  }
  return result;
}

Tolerance Tolerance::of(ElementType element) {
  switch (element) {
  case ElementType::f32:
    return {1e-5, "1e-5"};
  case ElementType::f16:
    return {4e-3, "4e-3"};
  case ElementType::bf16:
    return {3e-2, "3e-2"};
  default:
    return {1e-12, "1e-12"};
  }
}

double largestOf(const ArrayView &array) {
  double largest = 0;
  for (uint64_t i = 0; i < array.count(); ++i)
    if (const double value = std::fabs(valueAt(array, i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

Difference compare(const ArrayView &actual, const ArrayView &expected, const Tolerance &tolerance) {
  const bool isExact = !isFloat(actual.element) && !isFloat(expected.element);
  return compare(actual, expected, 0, isExact ? 0 : tolerance.ofLargest * largestOf(expected));
}

std::string formatIndex(uint64_t index, std::span<const int64_t> shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[d]);
    text = std::to_string(index % size) + (text.empty() ? "" : ",") + text;
    index /= size;
  }
  return "[" + text + "]";
}

} // namespace gantry::arrays
