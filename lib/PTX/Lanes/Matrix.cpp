// mma.m16n8 of real numbers, in the order and with the roundings of RunnerMatrix.cpp.
//
// Sums stay in the fragment's own order, lane 4g + t with rows g, g + 8 and columns 2t, 2t + 1. For
// each k a column of A is a register with one lane of each four copied to the others, and a row of
// B is four numbers copied to all fours; so A needs no turning, and B is turned once.
#include "Lanes.h"
#include "Squares.h"

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

using Sixteen = float __attribute__((vector_size(64)));

struct F16 {
  static constexpr unsigned each = 2; ///< elements in a register
  static float decode(uint32_t word, unsigned j) { return halfToFloat(uint16_t(word >> 16 * j)); }
};
struct BF16 {
  static constexpr unsigned each = 2;
  static float decode(uint32_t word, unsigned j) { return bfloatToFloat(uint16_t(word >> 16 * j)); }
};
struct TF32 {
  static constexpr unsigned each = 1;
  static float decode(uint32_t word, unsigned) { return floatOfBits(word & 0xffffe000u); }
};

/// Sums in f32, each step a fused multiply-add.
struct InF32 {
  static constexpr unsigned each = 1;
  static float load(uint32_t word, unsigned) { return floatOfBits(word); }
  static uint32_t bits(float value) { return value != value ? 0x7fffffffu : bitsOf(value); }
  [[gnu::always_inline]] static void step(const Sixteen &a, const Sixteen &b, Sixteen &sum) {
    for (unsigned i = 0; i < 16; ++i)
      sum[i] = __builtin_fmaf(a[i], b[i], sum[i]);
  }
};

/// Sums in f16, rounded once a step.
struct InF16 {
  static constexpr unsigned each = 2;
  static float load(uint32_t word, unsigned j) { return halfToFloat(uint16_t(word >> 16 * j)); }
  static uint32_t bits(float value) { return floatToHalf(value); }
  static void step(const Sixteen &a, const Sixteen &b, Sixteen &sum) {
    alignas(64) float x[16], y[16], z[16];
    std::memcpy(x, &a, sizeof x);
    std::memcpy(y, &b, sizeof y);
    std::memcpy(z, &sum, sizeof z);
    for (unsigned i = 0; i < 16; ++i)
      z[i] = halfToFloat(floatToHalf(oddFloat(double(x[i]) * double(y[i]) + double(z[i]))));
    std::memcpy(&sum, z, sizeof z);
  }
};

/// Lane `t` of each four, in all of them.
template <unsigned t>
[[gnu::always_inline]] inline void ofFours(Sixteen &v) {
  v = __builtin_shufflevector(v, v, t, t, t, t, t + 4, t + 4, t + 4, t + 4, t + 8, t + 8, t + 8,
                              t + 8, t + 12, t + 12, t + 12, t + 12);
}

[[gnu::always_inline]] inline void fourTimes(const float *four, Sixteen &to) {
  using FourFloats = float __attribute__((vector_size(16)));
  FourFloats v;
  std::memcpy(&v, four, sizeof v);
  to = __builtin_shufflevector(v, v, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}

template <class Element, class Sum, unsigned k>
struct Multiply {
  static constexpr unsigned each = Element::each, blocks = k / (4 * each);
  struct Operands {
    alignas(64) float a[2][blocks][each][warpSize]; ///< rows g and g + 8
    alignas(64) float b[k][8];                      ///< even columns, then odd ones
    Sixteen sums[4][2];
  };

  static void read(char *registers, const MatrixSlots &slots, Operands &to) {
    for (unsigned reg = 0; reg < 2 * blocks; ++reg) {
      const uint32_t *words = source<uint32_t>(registers, slots.a[reg]);
      for (unsigned j = 0; j < each; ++j)
        for (unsigned lane = 0; lane < warpSize; ++lane)
          to.a[reg & 1][reg >> 1][j][lane] = Element::decode(words[lane], j);
    }
    for (unsigned block = 0; block < blocks; ++block) {
      const uint32_t *words = source<uint32_t>(registers, slots.b[block]);
      for (unsigned j = 0; j < each; ++j) {
        alignas(64) float values[warpSize];
        for (unsigned lane = 0; lane < warpSize; ++lane)
          values[lane] = Element::decode(words[lane], j);
        for (unsigned odd = 0; odd < 2; ++odd) {
          Four square[4];
          for (unsigned i = 0; i < 4; ++i)
            std::memcpy(&square[i], values + 8 * i + 4 * odd, sizeof square[i]);
          turn(square);
          for (unsigned t = 0; t < 4; ++t)
            std::memcpy(to.b[(block * 4 + t) * each + j] + 4 * odd, &square[t], sizeof square[t]);
        }
      }
    }
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t *words = source<uint32_t>(registers, slots.c[i / Sum::each]);
      alignas(64) float values[warpSize];
      for (unsigned lane = 0; lane < warpSize; ++lane)
        values[lane] = Sum::load(words[lane], i % Sum::each);
      std::memcpy(to.sums[i], values, sizeof values);
    }
  }

  /// The products of k's that lane t of each four holds.
  template <unsigned t>
  [[gnu::always_inline]] static void add(Operands &with, unsigned block) {
    for (unsigned j = 0; j < each; ++j) {
      const float *row = with.b[(block * 4 + t) * each + j];
      Sixteen even, odd;
      fourTimes(row, even);
      fourTimes(row + 4, odd);
      for (unsigned half = 0; half < 2; ++half)
        for (unsigned part = 0; part < 2; ++part) {
          Sixteen a;
          std::memcpy(&a, with.a[half][block][j] + 16 * part, sizeof a);
          ofFours<t>(a);
          Sum::step(a, even, with.sums[2 * half][part]);
          Sum::step(a, odd, with.sums[2 * half + 1][part]);
        }
    }
  }

  static void run(char *registers, const MatrixSlots &slots) {
    Operands with;
    read(registers, slots, with);
    for (unsigned block = 0; block < blocks; ++block) {
      add<0>(with, block);
      add<1>(with, block);
      add<2>(with, block);
      add<3>(with, block);
    }
    for (unsigned reg = 0; reg < 4 / Sum::each; ++reg) {
      uint32_t *to = reinterpret_cast<uint32_t *>(registers + slots.d[reg]);
      alignas(64) uint32_t made[warpSize] = {};
      for (unsigned j = 0; j < Sum::each; ++j) {
        alignas(64) float values[warpSize];
        std::memcpy(values, with.sums[reg * Sum::each + j], sizeof values);
        for (unsigned lane = 0; lane < warpSize; ++lane)
          made[lane] |= Sum::bits(values[lane]) << (16 * j);
      }
      std::memcpy(to, made, sizeof made);
    }
  }
};

} // namespace

Multiplier findMultiplier(const MatrixDetail &detail) {
  if (detail.wmma || detail.m != 16 || detail.n != 8 || detail.a != detail.b ||
      detail.c != detail.d)
    return nullptr;
  bool half = detail.d == Type::f16;
  if (!half && detail.d != Type::f32)
    return nullptr;
  switch (detail.a) {
  case Type::f16:
    if (detail.k == 8)
      return half ? Multiply<F16, InF16, 8>::run : Multiply<F16, InF32, 8>::run;
    if (detail.k == 16)
      return half ? Multiply<F16, InF16, 16>::run : Multiply<F16, InF32, 16>::run;
    return nullptr;
  case Type::bf16:
    return half             ? nullptr
           : detail.k == 8  ? Multiply<BF16, InF32, 8>::run
           : detail.k == 16 ? Multiply<BF16, InF32, 16>::run
                            : nullptr;
  case Type::tf32:
    return half            ? nullptr
           : detail.k == 4 ? Multiply<TF32, InF32, 4>::run
           : detail.k == 8 ? Multiply<TF32, InF32, 8>::run
                           : nullptr;
  default:
    return nullptr;
  }
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
