// Arrays in memory: what is read, printed, compared and written.
//
// An array is row-major, contiguous and little-endian; readers bring every file into that form.
#pragma once

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/ElementType.h"
#include "gantry/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::arrays {

using ByteSpan = std::span<const uint8_t>;

/// Most dimensions of an array in a file: NumPy 1's own limit.
inline constexpr size_t maxRank = 32;

bool isFloat(ElementType element);
bool isSigned(ElementType element);

/// Elements of a shape; none when a dimension is negative or an array of it would be over 2^62
/// bytes.
std::optional<uint64_t> elementCount(std::span<const int64_t> shape);

/// An array that someone else owns.
struct ArrayView {
  ElementType element = ElementType::f32;
  std::span<const int64_t> shape;
  const uint8_t *data = nullptr;

  uint64_t count() const { return elementCount(shape).value_or(0); }
  uint64_t size() const { return count() * elementTypeSize(element); }
};

struct Array {
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape;
  AlignedBuffer bytes;

  /// An uninitialised array. Errors: INVALID_ARGUMENT (shape), DOES_NOT_FIT (memory).
  static Expected<Array> make(ElementType element, std::vector<int64_t> shape);
  ArrayView view() const { return {element, shape, bytes.data()}; }
  std::string type() const { return tensorTypeName(element, shape); }
};

struct NamedArray {
  std::string name;
  Array array;
};

/// ElementType `index` as a double: exact but for 64-bit integers beyond 2^53.
double valueAt(const ArrayView &array, uint64_t index);
/// ElementType `index` of an integer or i1 array.
int64_t integerAt(const ArrayView &array, uint64_t index);
/// Stores `value`, rounded to nearest even for floats and truncated and wrapped for integers.
void storeFloat(ElementType element, uint8_t *to, double value);
void storeInteger(ElementType element, uint8_t *to, int64_t value);

/// Makes every element of an i1 array 0 or 1, which kernels rely on; other arrays are left alone.
void normaliseBooleans(Array &array);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

} // namespace gantry::arrays
