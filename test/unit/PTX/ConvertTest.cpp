// cvt: formats of 16 and 8 bits exhaustively, against a rounding that is found by search.
#include "PTX/RunText.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

/// The value of a code by the definition of the format.
double decode(unsigned code, int mantissa, int exponentBits, bool hasInfinity) {
  int bias = (1 << (exponentBits - 1)) - 1,
      exponent = int(code >> mantissa) & ((1 << exponentBits) - 1);
  unsigned digits = code & ((1u << mantissa) - 1);
  double value;
  if (hasInfinity && exponent == (1 << exponentBits) - 1)
    value = digits ? NAN : INFINITY;
  else if (!hasInfinity && (code & 0x7f) == 0x7f)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(digits, 1 - bias - mantissa);
  else
    value = std::ldexp(digits + (1u << mantissa), exponent - bias - mantissa);
  return code >> (mantissa + exponentBits) & 1 ? -value : value;
}

std::vector<uint64_t> codes(unsigned count) {
  std::vector<uint64_t> made(count);
  for (unsigned i = 0; i < count; ++i)
    made[i] = i;
  return made;
}

TEST(ConvertTest, halvesToFloats) {
  auto in = codes(65536);
  auto out = compute("cvt.f32.f16 %f1, %h1;", "u16", "%h1", "f32", "%f1", in);
  auto wide = compute("cvt.f64.f16 %fd1, %h1;", "u16", "%h1", "f64", "%fd1", in);
  auto bf = compute("cvt.f32.bf16 %f1, %h1;", "u16", "%h1", "f32", "%f1", in);
  for (unsigned i = 0; i < 65536; ++i) {
    double expected = decode(i, 10, 5, true), brain = decode(i, 7, 8, true);
    float value = std::bit_cast<float>(uint32_t(out[i]));
    if (expected != expected) {
      ASSERT_NE(value, value);
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(float(expected))) << i;
      ASSERT_EQ(wide[i], std::bit_cast<uint64_t>(expected)) << i;
    }
    float other = std::bit_cast<float>(uint32_t(bf[i]));
    if (brain != brain)
      ASSERT_NE(other, other);
    else
      ASSERT_EQ(other, float(brain)) << i;
  }
}

/// f32 around every value of a format: it, halves between neighbours, and one f32 to either side.
std::vector<uint64_t> aroundAll(unsigned positive, double (*value)(unsigned)) {
  std::vector<uint64_t> made;
  for (unsigned code = 0; code < positive; code += positive > 1000 ? 7 : 1) {
    float here = float(value(code)), middle = float((value(code) + value(code + 1)) / 2);
    for (float one : {here, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)})
      for (float sign : {1.0f, -1.0f})
        made.push_back(std::bit_cast<uint32_t>(one * sign));
  }
  for (float one : {INFINITY, NAN, 1e30f, 65519.9f, 65520.0f, 448.0f, 464.0f, 480.0f, 1e-40f})
    made.push_back(std::bit_cast<uint32_t>(one));
  return made;
}

/// The nearest value, to even codes where two are as near. `codes` are positive and finite; one
/// above the largest stands for what rounds to infinity.
unsigned nearest(double magnitude, unsigned count, double (*value)(unsigned)) {
  unsigned low = 0, high = count;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  double down = magnitude - value(low), up = value(low + 1) - magnitude;
  return down < up || (down == up && low % 2 == 0) ? low : low + 1;
}

double halfValue(unsigned code) {
  return code >= 0x7c00 ? std::ldexp(1.0, 16) : decode(code, 10, 5, true);
}
double brainValue(unsigned code) {
  return code >= 0x7f80 ? std::ldexp(1.0, 128) : decode(code, 7, 8, true);
}
double e4m3Value(unsigned code) { return code >= 0x7f ? 480 : decode(code, 3, 4, false); }
double e5m2Value(unsigned code) { return code >= 0x7c ? 65536 : decode(code, 2, 5, true); }

TEST(ConvertTest, floatsToHalvesToNearestEven) {
  for (bool brain : {false, true}) {
    auto *value = brain ? brainValue : halfValue;
    unsigned infinity = brain ? 0x7f80 : 0x7c00;
    auto in = aroundAll(infinity, value);
    auto out = compute(brain ? "cvt.rn.bf16.f32 %h1, %f1;" : "cvt.rn.f16.f32 %h1, %f1;", "f32",
                       "%f1", "u16", "%h1", in);
    for (size_t i = 0; i < in.size(); ++i) {
      float x = std::bit_cast<float>(uint32_t(in[i]));
      unsigned expected =
          x != x ? 0x7fff
                 : (std::isinf(x) ? infinity : nearest(std::fabs(double(x)), infinity, value)) |
                       (std::signbit(x) ? 0x8000u : 0);
      ASSERT_EQ(out[i], expected) << x << (brain ? " bf16" : " f16");
    }
  }
}

TEST(ConvertTest, floatsToHalvesTowardZero) {
  auto in = aroundAll(0x7c00, halfValue);
  auto out = compute("cvt.rz.f16.f32 %h1, %f1;", "f32", "%f1", "u16", "%h1", in);
  for (size_t i = 0; i < in.size(); ++i) {
    float x = std::bit_cast<float>(uint32_t(in[i]));
    if (x != x || std::isinf(x))
      continue;
    unsigned code = nearest(std::fabs(double(x)), 0x7c00, halfValue);
    code -= code && (code >= 0x7c00 || halfValue(code) > std::fabs(double(x)));
    ASSERT_EQ(out[i], code | (std::signbit(x) ? 0x8000u : 0)) << x;
  }
}

TEST(ConvertTest, floatsToFp8AndBack) {
  for (bool e5m2 : {false, true}) {
    auto *value = e5m2 ? e5m2Value : e4m3Value;
    unsigned top = e5m2 ? 0x7b : 0x7e; // the largest finite value
    auto in = aroundAll(top, value);
    std::string type = e5m2 ? "e5m2x2" : "e4m3x2";
    auto out = compute("cvt.rn.satfinite." + type + ".f32 %h1, %f1, 0f3F800000;", "f32", "%f1",
                       "u16", "%h1", in);
    for (size_t i = 0; i < in.size(); ++i) {
      float x = std::bit_cast<float>(uint32_t(in[i]));
      unsigned expected =
          x != x
              ? 0x7f
              : std::min(top, std::isinf(x) ? top : nearest(std::fabs(double(x)), top + 1, value)) |
                    (std::signbit(x) ? 0x80u : 0);
      ASSERT_EQ(out[i], expected << 8 | (e5m2 ? 0x3cu : 0x38u)) << x << " " << type;
    }
    auto all = codes(256);
    auto back = compute("cvt.rn.f16x2." + type + " %r1, %h1;", "u16", "%h1", "u32", "%r1", all);
    for (unsigned i = 0; i < 256; ++i) {
      double expected = decode(i, e5m2 ? 2 : 3, e5m2 ? 5 : 4, e5m2),
             made = decode(back[i] & 0xffff, 10, 5, true);
      ASSERT_TRUE(made == expected || (made != made && expected != expected)) << i << " " << type;
    }
  }
}

TEST(ConvertTest, arithmeticOfHalvesIsExact) {
  std::mt19937 random(5);
  std::vector<uint64_t> in;
  for (int i = 0; i < 20000; ++i)
    in.push_back(uint64_t(random()) << 32 | random());
  auto sums = compute("mov.b64 {%h1, %h2, %h3, %h4}, %rd5;\nfma.rn.f16 %h5, %h1, %h2, %h3;", "u64",
                      "%rd5", "u16", "%h5", in);
  for (size_t i = 0; i < in.size(); ++i) {
    double a = decode(in[i] & 0xffff, 10, 5, true), b = decode(in[i] >> 16 & 0xffff, 10, 5, true);
    double c = decode(in[i] >> 32 & 0xffff, 10, 5, true),
           made = decode(unsigned(sums[i]), 10, 5, true);
    long double exact = (long double)a * b + c; // 64 bits: enough for what is near a half
    if (exact != exact) {
      ASSERT_NE(made, made);
      continue;
    }
    unsigned expected =
        std::isinf(exact) ? 0x7c00 : nearest(double(std::fabs(exact)), 0x7c00, halfValue);
    // Where f64 itself rounds onto the middle the search cannot tell; those are left out.
    if ((long double)double(exact) == exact)
      ASSERT_EQ(std::fabs(made), expected >= 0x7c00 ? INFINITY : halfValue(expected))
          << a << " " << b << " " << c;
  }
}

TEST(ConvertTest, floatsToIntegersAreClamped) {
  std::vector<uint64_t> in;
  for (float x : {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 127.4f, 127.6f, 300.0f, -300.0f, 2147483648.0f,
                  -2147483648.0f, 4294967296.0f, 1e20f, -1e20f, INFINITY, -INFINITY, NAN, -0.0f,
                  2147483520.0f})
    in.push_back(std::bit_cast<uint32_t>(x));
  auto check = [&](const char *op, auto expected) {
    auto out = compute(op, "f32", "%f1", "u64", "%rd5", in);
    for (size_t i = 0; i < in.size(); ++i) {
      float x = std::bit_cast<float>(uint32_t(in[i]));
      ASSERT_EQ(out[i], uint64_t(expected(x))) << op << " of " << x;
    }
  };
  auto clamp = [](double whole, double low, double high) {
    return whole < low ? low : whole > high ? high : whole;
  };
  check("cvt.rni.s32.f32 %r1, %f1;\ncvt.s64.s32 %rd5, %r1;", [&](float x) {
    return x != x ? 0 : int64_t(clamp(std::nearbyint(x), INT32_MIN, INT32_MAX));
  });
  check("cvt.rzi.u32.f32 %r1, %f1;\ncvt.u64.u32 %rd5, %r1;",
        [&](float x) { return x != x ? 0 : int64_t(clamp(std::trunc(x), 0, UINT32_MAX)); });
  check("cvt.rmi.s8.f32 %r1, %f1;\ncvt.s64.s32 %rd5, %r1;",
        [&](float x) { return x != x ? 0 : int64_t(clamp(std::floor(x), -128, 127)); });
  check("cvt.rpi.u8.f32 %h1, %f1;\ncvt.u64.u16 %rd5, %h1;",
        [&](float x) { return x != x ? 0 : int64_t(clamp(std::ceil(x), 0, 255)); });
  check("cvt.rzi.s64.f32 %rd5, %f1;", [&](float x) {
    return x != x || x < -9.2e18f        ? INT64_MIN
           : x >= 9223372036854775808.0f ? INT64_MAX
                                         : int64_t(x);
  });
}

} // namespace
