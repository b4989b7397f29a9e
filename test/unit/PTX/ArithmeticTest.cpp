// Opcodes that compute, against plain C++ on the same bits.
#include "PTX/RunText.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace gantry::ptx;
using namespace gantry::ptx::test;

namespace {

/// Pairs of values in one word each: low and high half are the operands. Corners, then random bits.
std::vector<uint64_t> pairs(size_t count) {
  const uint32_t corners[] = {0,          1,          2,          31,         32,
                              33,         0x7fffffff, 0x80000000, 0xffffffff, 0x80000001,
                              0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                              0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x42280000};
  std::vector<uint64_t> made;
  for (uint32_t a : corners)
    for (uint32_t b : corners)
      made.push_back(uint64_t(b) << 32 | a);
  std::mt19937_64 random(3);
  while (made.size() < count)
    made.push_back(random());
  return made;
}

using Binary = std::function<uint64_t(uint32_t, uint32_t)>;

void checkBinary(const std::string &op, const Binary &expected) {
  std::vector<uint64_t> in = pairs(1000);
  auto out = compute("mov.b64 {%r1, %r2}, %rd5;\n" + op + ";\ncvt.u64.u32 %rd6, %r3;", "u64",
                     "%rd5", "u64", "%rd6", in);
  for (size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i], expected(uint32_t(in[i]), uint32_t(in[i] >> 32)))
        << op << " of " << std::hex << uint32_t(in[i]) << " and " << uint32_t(in[i] >> 32);
}

int32_t s(uint32_t value) { return int32_t(value); }

TEST(ArithmeticTest, integersOf32Bits) {
  checkBinary("add.s32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return a + b; });
  checkBinary("sub.u32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return a - b; });
  checkBinary("mul.lo.s32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return a * b; });
  checkBinary("mul.hi.s32 %r3, %r1, %r2",
              [](uint32_t a, uint32_t b) { return uint32_t(int64_t(s(a)) * s(b) >> 32); });
  checkBinary("mul.hi.u32 %r3, %r1, %r2",
              [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); });
  checkBinary("add.sat.s32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) {
    int64_t sum = int64_t(s(a)) + s(b);
    return uint32_t(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  });
  checkBinary("div.u32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return b ? a / b : ~0u; });
  checkBinary("rem.u32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return b ? a % b : a; });
  checkBinary("div.s32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) {
    return b ? b == ~0u ? 0 - a : uint32_t(s(a) / s(b)) : ~0u;
  });
  checkBinary("min.s32 %r3, %r1, %r2",
              [](uint32_t a, uint32_t b) { return uint32_t(std::min(s(a), s(b))); });
  checkBinary("max.u32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  checkBinary("shl.b32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a << b; });
  checkBinary("shr.u32 %r3, %r1, %r2", [](uint32_t a, uint32_t b) { return b > 31 ? 0 : a >> b; });
  checkBinary("shr.s32 %r3, %r1, %r2",
              [](uint32_t a, uint32_t b) { return uint32_t(s(a) >> std::min(b, 31u)); });
  checkBinary("shf.l.wrap.b32 %r3, %r1, %r2, 5",
              [](uint32_t a, uint32_t b) { return b << 5 | a >> 27; });
  checkBinary("lop3.b32 %r3, %r1, %r2, 0x0f0f0f0f, 0x96",
              [](uint32_t a, uint32_t b) { return a ^ b ^ 0x0f0f0f0fu; });
  checkBinary("prmt.b32 %r3, %r1, %r2, 0x7362", [](uint32_t a, uint32_t b) {
    return (a >> 16 & 0xff) | (b >> 16 & 0xff) << 8 | (a >> 24) << 16 | (b >> 24) << 24;
  });
  checkBinary("popc.b32 %r3, %r1", [](uint32_t a, uint32_t) { return uint32_t(std::popcount(a)); });
  checkBinary("clz.b32 %r3, %r1",
              [](uint32_t a, uint32_t) { return uint32_t(std::countl_zero(a)); });
  checkBinary("bfind.u32 %r3, %r1",
              [](uint32_t a, uint32_t) { return a ? 31u - uint32_t(std::countl_zero(a)) : ~0u; });
  checkBinary("bfe.u32 %r3, %r1, 4, 9", [](uint32_t a, uint32_t) { return a >> 4 & 0x1ff; });
  checkBinary("bfe.s32 %r3, %r1, 4, 9",
              [](uint32_t a, uint32_t) { return uint32_t(s(a << 19) >> 23); });
  checkBinary("bfi.b32 %r3, %r1, %r2, 8, 12",
              [](uint32_t a, uint32_t b) { return (b & ~0xfff00u) | (a << 8 & 0xfff00u); });
  checkBinary("dp4a.s32.s32 %r3, %r1, %r2, 7", [](uint32_t a, uint32_t b) {
    uint32_t sum = 7;
    for (int i = 0; i < 4; ++i)
      sum += uint32_t(int8_t(a >> 8 * i) * int8_t(b >> 8 * i));
    return sum;
  });
  checkBinary("sad.u32 %r3, %r1, %r2, 5",
              [](uint32_t a, uint32_t b) { return 5 + (a < b ? b - a : a - b); });
}

TEST(ArithmeticTest, carriesGoFromOneToTheNext) {
  std::vector<uint64_t> in = pairs(900);
  auto out = compute("mov.b64 {%r1, %r2}, %rd5;\nadd.cc.u32 %r3, %r1, %r2;\naddc.cc.u32 %r4, %r2, "
                     "%r2;\naddc.u32 %r5, 0, 0;\n"
                     "shl.b32 %r5, %r5, 31;\nxor.b32 %r4, %r4, %r5;\nmov.b64 %rd6, {%r3, %r4};",
                     "u64", "%rd5", "u64", "%rd6", in);
  for (size_t i = 0; i < in.size(); ++i) {
    uint64_t a = uint32_t(in[i]), b = in[i] >> 32, low = a + b, high = b + b + (low >> 32);
    ASSERT_EQ(out[i], uint64_t(uint32_t(low)) |
                          uint64_t(uint32_t(high) ^ uint32_t(high >> 32) << 31) << 32);
  }
}

float f(uint32_t bits) { return std::bit_cast<float>(bits); }
uint64_t bitsOf(float value) {
  return value != value ? 0x7fffffffu : std::bit_cast<uint32_t>(value);
}

void checkFloat(const std::string &op, const Binary &expected) {
  checkBinary("mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n" + op + ";\nmov.b32 %r3, %f3", expected);
}

TEST(ArithmeticTest, floatsAreRoundedOnce) {
  checkFloat("add.f32 %f3, %f1, %f2", [](uint32_t a, uint32_t b) { return bitsOf(f(a) + f(b)); });
  checkFloat("mul.rn.f32 %f3, %f1, %f2",
             [](uint32_t a, uint32_t b) { return bitsOf(f(a) * f(b)); });
  checkFloat("div.rn.f32 %f3, %f1, %f2",
             [](uint32_t a, uint32_t b) { return bitsOf(f(a) / f(b)); });
  checkFloat("fma.rn.f32 %f3, %f1, %f2, %f1",
             [](uint32_t a, uint32_t b) { return bitsOf(std::fma(f(a), f(b), f(a))); });
  checkFloat("sqrt.rn.f32 %f3, %f1", [](uint32_t a, uint32_t) { return bitsOf(std::sqrt(f(a))); });
  checkFloat("add.sat.f32 %f3, %f1, %f2", [](uint32_t a, uint32_t b) {
    float sum = f(a) + f(b);
    return bitsOf(sum > 0 ? std::min(sum, 1.0f) : 0.0f);
  });
  checkFloat("mul.ftz.f32 %f3, %f1, %f2", [](uint32_t a, uint32_t b) {
    auto flush = [](float v) {
      return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
    };
    return bitsOf(flush(flush(f(a)) * flush(f(b))));
  });
}

TEST(ArithmeticTest, otherRoundingsAreTheMachines) {
  struct Mode {
    const char *name;
    int mode;
  };
  for (const Mode &mode :
       {Mode{"rz", FE_TOWARDZERO}, Mode{"rm", FE_DOWNWARD}, Mode{"rp", FE_UPWARD}}) {
    auto rounded = [&](auto compute) {
      return [=](uint32_t a, uint32_t b) {
        volatile float x = f(a), y = f(b);
        std::fesetround(mode.mode);
        volatile float made = compute(x, y);
        std::fesetround(FE_TONEAREST);
        return bitsOf(made);
      };
    };
    std::string name = mode.name;
    checkFloat("add." + name + ".f32 %f3, %f1, %f2",
               rounded([](volatile float &x, volatile float &y) { return x + y; }));
    checkFloat("mul." + name + ".f32 %f3, %f1, %f2",
               rounded([](volatile float &x, volatile float &y) { return x * y; }));
    checkFloat("fma." + name + ".f32 %f3, %f1, %f2, %f2",
               rounded([](volatile float &x, volatile float &y) {
                 return std::fma(float(x), float(y), float(y));
               }));
  }
}

TEST(ArithmeticTest, minAndMaxKnowNaNAndTheSignOfZero) {
  auto least = [](uint32_t a, uint32_t b) {
    if (f(a) != f(a) || f(b) != f(b))
      return f(a) != f(a) ? bitsOf(f(b)) : bitsOf(f(a));
    if (f(a) == 0 && f(b) == 0)
      return uint64_t(a | b);
    return bitsOf(std::min(f(a), f(b)));
  };
  checkFloat("min.f32 %f3, %f1, %f2", least);
  checkFloat("max.NaN.f32 %f3, %f1, %f2", [](uint32_t a, uint32_t b) {
    if (f(a) != f(a) || f(b) != f(b))
      return uint64_t(0x7fffffff);
    if (f(a) == 0 && f(b) == 0)
      return uint64_t(a & b);
    return bitsOf(std::max(f(a), f(b)));
  });
}

TEST(ArithmeticTest, minAndMaxOfThree) {
  auto of = [](const char *op, std::vector<uint64_t> in) {
    return compute("mov.b64 {%f1, %f2}, %rd5;\n" + std::string(op) +
                       " %f3, %f1, %f2, 0f40000000;\nmov.b32 %r3, %f3;\ncvt.u64.u32 %rd6, %r3;",
                   "u64", "%rd5", "u64", "%rd6", in);
  };
  std::vector<uint64_t> in = {0x3f800000'40400000, 0x40400000'3f800000, 0x3f800000'bf800000,
                              0x3f800000'7fc00000};
  EXPECT_EQ(of("max.f32", in),
            (std::vector<uint64_t>{0x40400000, 0x40400000, 0x40000000, 0x40000000}));
  EXPECT_EQ(of("min.f32", in),
            (std::vector<uint64_t>{0x3f800000, 0x3f800000, 0xbf800000, 0x3f800000}));
  EXPECT_EQ(of("max.NaN.f32", in).back(), 0x7fffffffu);
}

TEST(ArithmeticTest, productsOfHalvesAreRoundedOnceWhateverIsAdded) {
  // 1.5 * (1 + 2^-7) and 1.5 * (1 + 3 * 2^-7) lie halfway; 2^-100 decides.
  struct Case {
    uint64_t b, c, expected;
  };
  constexpr Case cases[] = {{0x3f81, 0, 0x3fc2},      {0x3f81, 0x8d80, 0x3fc1},
                            {0x3f81, 0x0d80, 0x3fc2}, {0x3f83, 0, 0x3fc4},
                            {0x3f83, 0x0d80, 0x3fc5}, {0x3f83, 0x8d80, 0x3fc4}};
  std::vector<uint64_t> in, expected;
  for (const Case &one : cases) {
    in.push_back(one.c << 32 | one.b << 16 | 0x3fc0);
    expected.push_back(one.expected);
  }
  EXPECT_EQ(compute("mov.b64 {%h1, %h2, %h3, %h4}, %rd5;\nfma.rn.bf16 %h5, %h1, %h2, "
                    "%h3;\ncvt.u64.u16 %rd6, %h5;",
                    "u64", "%rd5", "u64", "%rd6", in),
            expected);
}

TEST(ArithmeticTest, comparisonsOfFloats) {
  struct One {
    const char *name;
    bool (*holds)(float, float);
  };
  const One all[] = {{"eq", [](float a, float b) { return a == b; }},
                     {"ne", [](float a, float b) { return a < b || a > b; }},
                     {"lt", [](float a, float b) { return a < b; }},
                     {"ge", [](float a, float b) { return a >= b; }},
                     {"ltu", [](float a, float b) { return !(a >= b); }},
                     {"neu", [](float a, float b) { return a != b; }},
                     {"equ", [](float a, float b) { return !(a < b || a > b); }},
                     {"num", [](float a, float b) { return a == a && b == b; }},
                     {"nan", [](float a, float b) { return a != a || b != b; }}};
  for (const One &one : all)
    checkFloat(std::string("setp.") + one.name +
                   ".f32 %p1|%p2, %f1, %f2;\nselp.b32 %r4, 1, 0, %p1;\nselp.b32 %r5, 2, 0, %p2;\n"
                   "or.b32 %r4, %r4, %r5;\nmov.b32 %f3, %r4",
               [&](uint32_t a, uint32_t b) { return one.holds(f(a), f(b)) ? 1 : 2; });
}

TEST(ArithmeticTest, unknownVariantsAreRefused) {
  Ran ran = run(kernel("add.rn.b32 %r1, %r2, %r3;"), {0});
  EXPECT_EQ(ran.error, "test.ptx:15:1: error: instruction 'add.rn.b32' is not supported");
}

} // namespace
