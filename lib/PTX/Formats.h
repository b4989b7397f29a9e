// Floating-point formats of fewer bits, by bits alone. Written without branches, so that a loop
// over lanes becomes vector code.
//
// Everything here is static: the files of Lanes/ are compiled for several instruction sets, and the
// linker must never take one set's copy for all.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gantry::ptx {
namespace {

[[maybe_unused]] inline float floatOfBits(uint32_t bits) { return std::bit_cast<float>(bits); }
[[maybe_unused]] inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
[[maybe_unused]] inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

[[maybe_unused]] inline float halfToFloat(uint16_t half) {
  uint32_t magnitude = half & 0x7fffu;
  // As an f32 the exponent is 112 too low, subnormals included: the product is exact.
  uint32_t bits = bitsOf(floatOfBits(magnitude << 13) * 0x1p112f);
  bits = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude & 0x3ffu) << 13 : bits;
  return floatOfBits(bits | (half & 0x8000u) << 16);
}

/// To nearest even; every NaN becomes 0x7fff, which is what the hardware makes.
[[maybe_unused]] inline uint16_t floatToHalf(float value) {
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffffu;
  uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1)) >> 13;
  // 0.5 has an ulp of 2^-24, that of f16's subnormals: the addition rounds.
  uint32_t small = bitsOf(floatOfBits(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half |= (bits >> 16) & 0x8000u;
  return uint16_t(magnitude > 0x7f800000u ? 0x7fffu : half);
}

[[maybe_unused]] inline float bfloatToFloat(uint16_t bits) {
  return floatOfBits(uint32_t(bits) << 16);
}

[[maybe_unused]] inline uint16_t floatToBfloat(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

/// To f32 such that rounding on to a format of at most 22 bits gives what one rounding would: cut
/// off, with the last bit set when anything was lost (round to odd).
[[maybe_unused]] inline float oddFloat(double value) {
  float nearest = float(value);
  uint32_t bits = bitsOf(nearest);
  bool inexact = double(nearest) < value || double(nearest) > value;
  bits -= std::fabs(double(nearest)) > std::fabs(value) ? 1 : 0;
  return floatOfBits(inexact ? bits | 1 : bits);
}

/// a + b, cut off to f64, with the last bit set when anything was lost.
[[maybe_unused]] inline double oddSum(double a, double b) {
  double sum = a + b, part = sum - a;
  double lost = (a - (sum - part)) + (b - part); // exactly, in whatever order they are
  uint64_t bits = bitsOf(sum);
  bool inexact = lost < 0 || lost > 0, outward = (lost < 0) == (sum < 0);
  uint64_t towards = outward ? bits + 1 : bits - 1;
  return std::bit_cast<double>(inexact && !(bits & 1) ? towards : bits);
}

/// How a result is rounded.
enum class Round : uint8_t { nearestEven, zero, down, up, nearestAway };

/// A format of `mantissa` stored bits, with exponents as IEEE 754 has them.
struct SmallFormat {
  int mantissa, minExponent, maxExponent;
  bool hasInfinity; ///< e4m3 has none, and one NaN
};

inline constexpr SmallFormat formatF16 = {10, -14, 15, true};
inline constexpr SmallFormat formatBF16 = {7, -126, 127, true};
inline constexpr SmallFormat formatTF32 = {10, -126, 127, true};
inline constexpr SmallFormat formatF32 = {23, -126, 127, true};
inline constexpr SmallFormat formatE4M3 = {3, -6, 8, false};
inline constexpr SmallFormat formatE5M2 = {2, -14, 15, true};

/// The finite or infinite value of `format` that `value` rounds to; a double holds all of them.
/// `finite`: what is too large becomes the largest finite value. NaN stays.
[[maybe_unused]] inline double roundTo(double value, const SmallFormat &format, Round mode,
                                       bool finite) {
  double magnitude = std::fabs(value);
  bool negative = std::signbit(value);
  if (std::isnan(value) || magnitude == 0)
    return value;
  double largest = std::ldexp(format.hasInfinity ? 2.0 - std::ldexp(1.0, -format.mantissa) : 1.75,
                              format.maxExponent);
  bool away = mode == (negative ? Round::down : Round::up);
  double result;
  if (std::isinf(value)) {
    result = magnitude;
  } else {
    int exponent = std::max(std::ilogb(magnitude), format.minExponent) - format.mantissa;
    double scaled = std::ldexp(magnitude, -exponent), whole = std::floor(scaled);
    double rest = scaled - whole;
    bool up = mode == Round::nearestEven ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) != 0)
              : mode == Round::nearestAway ? rest >= 0.5
                                           : away && rest > 0;
    result = std::ldexp(whole + up, exponent);
    bool toLargest = mode == Round::zero || ((mode == Round::up || mode == Round::down) && !away);
    if (result > largest)
      result = toLargest ? largest : INFINITY;
  }
  if (std::isinf(result) && finite)
    result = largest;
  return negative ? -result : result;
}

/// Bits of a value that `format` can hold, sign at `mantissa + exponent bits`.
[[maybe_unused]] inline uint32_t encodeSmall(double value, const SmallFormat &format,
                                             int exponentBits) {
  uint32_t sign = uint32_t(std::signbit(value)) << (format.mantissa + exponentBits);
  uint32_t top = ((1u << exponentBits) - 1) << format.mantissa;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return format.hasInfinity ? top | ((1u << format.mantissa) - 1) : 0x7f;
  if (std::isinf(value))
    return sign | (format.hasInfinity ? top : 0x7f);
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  uint32_t digits = uint32_t(std::ldexp(magnitude, format.mantissa - exponent));
  uint32_t biased = uint32_t(exponent - format.minExponent); // and the hidden digit adds one
  return sign | ((biased << format.mantissa) + digits);
}

/// The value of an fp8 number.
[[maybe_unused]] inline double decodeSmall(uint32_t bits, const SmallFormat &format,
                                           int exponentBits) {
  uint32_t digits = bits & ((1u << format.mantissa) - 1);
  uint32_t exponent = (bits >> format.mantissa) & ((1u << exponentBits) - 1);
  bool negative = bits >> (format.mantissa + exponentBits) & 1;
  double value;
  if (format.hasInfinity && exponent == (1u << exponentBits) - 1)
    value = digits ? NAN : INFINITY;
  else if (!format.hasInfinity && (bits & 0x7f) == 0x7f)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(double(digits), format.minExponent - format.mantissa);
  else
    value = std::ldexp(double(digits + (1u << format.mantissa)),
                       format.minExponent + int(exponent) - 1 - format.mantissa);
  return negative ? -value : value;
}

} // namespace
} // namespace gantry::ptx
