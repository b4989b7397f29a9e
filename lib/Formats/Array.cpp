#include "gantry/Formats/Array.h"

#include "gantry/Support/Bytes.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace gantry::arrays {

namespace {
template <typename T>
T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof value);
}
} // namespace

bool isFloat(ElementType element) { return element <= ElementType::bf16; }

bool isSigned(ElementType element) {
  return element == ElementType::i8 || element == ElementType::i16 || element == ElementType::i32 ||
         element == ElementType::i64;
}

std::optional<uint64_t> elementCount(std::span<const int64_t> shape) {
  return tensorByteSize(ElementType::i1, shape); // whose elements take one byte
}

Expected<Array> Array::make(ElementType element, std::vector<int64_t> shape) {
  auto size = tensorByteSize(element, shape);
  if (!size)
    return Status::invalidArgument("the shape " + tensorTypeName(element, shape) +
                                   " is out of range");
  auto bytes = AlignedBuffer::allocate(*size);
  if (!bytes.data())
    return Status::doesNotFit("no memory for an array " + tensorTypeName(element, shape) + " of " +
                              formatBytes(*size));
  return Array{element, std::move(shape), std::move(bytes)};
}

void normaliseBooleans(Array &array) {
  if (array.element != ElementType::i1)
    return;
  for (uint64_t i = 0; i < array.bytes.size(); ++i)
    array.bytes.data()[i] = array.bytes.data()[i] != 0;
}

float halfToFloat(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31) // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) { // zero or subnormal: mantissa * 2^-24 is exact
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    return sign | 0x7c00u;
  if (magnitude < 0x38800000u) { // below 2^-14: subnormal, in units of 2^-24
    const float units = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return sign | static_cast<uint16_t>(std::nearbyint(units));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t floatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) // keep a NaN one: rounding could carry it to infinity
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

int64_t integerAt(const ArrayView &array, uint64_t index) {
  const uint8_t *from = array.data + index * elementTypeSize(array.element);
  switch (array.element) {
  case ElementType::i8:
    return load<int8_t>(from);
  case ElementType::u8:
    return load<uint8_t>(from);
  case ElementType::i16:
    return load<int16_t>(from);
  case ElementType::u16:
    return load<uint16_t>(from);
  case ElementType::i32:
    return load<int32_t>(from);
  case ElementType::u32:
    return load<uint32_t>(from);
  case ElementType::i64:
    return load<int64_t>(from);
  case ElementType::u64:
    return static_cast<int64_t>(load<uint64_t>(from));
  case ElementType::i1:
    return load<uint8_t>(from) != 0;
  default:
    return static_cast<int64_t>(valueAt(array, index));
  }
}

double valueAt(const ArrayView &array, uint64_t index) {
  const uint8_t *from = array.data + index * elementTypeSize(array.element);
  switch (array.element) {
  case ElementType::f32:
    return load<float>(from);
  case ElementType::f64:
    return load<double>(from);
  case ElementType::f16:
    return halfToFloat(load<uint16_t>(from));
  case ElementType::bf16:
    return bfloatToFloat(load<uint16_t>(from));
  case ElementType::u64:
    return static_cast<double>(load<uint64_t>(from));
  default:
    return static_cast<double>(integerAt(array, index));
  }
}

void storeInteger(ElementType element, uint8_t *to, int64_t value) {
  if (isFloat(element))
    return storeFloat(element, to, static_cast<double>(value));
  if (element == ElementType::i1)
    return store<uint8_t>(to, value != 0);
  std::memcpy(to, &value, elementTypeSize(element)); // little-endian: the low bytes come first
}

void storeFloat(ElementType element, uint8_t *to, double value) {
  switch (element) {
  case ElementType::f32:
    return store(to, static_cast<float>(value));
  case ElementType::f64:
    return store(to, value);
  case ElementType::f16:
    return store(to, floatToHalf(static_cast<float>(value)));
  case ElementType::bf16:
    return store(to, floatToBfloat(static_cast<float>(value)));
  default:
    return storeInteger(element, to, static_cast<int64_t>(value));
  }
}

} // namespace gantry::arrays
