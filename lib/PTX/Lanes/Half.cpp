// f16 and bf16, alone and in pairs. Sums and products of two numbers are exact enough in f32 that
// rounding again changes nothing (24 bits >= 2 * 11 + 2); fma goes through f64 and round to odd.
#include "Lanes.h"

#include <cmath>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

struct F16 {
  static float widen(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t narrow(float value) { return floatToHalf(value); }
  static constexpr uint16_t one = 0x3c00;
};
struct BF16 {
  static float widen(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t narrow(float value) { return floatToBfloat(value); }
  static constexpr uint16_t one = 0x3f80;
};

struct Plus : decltype([](float a, float b) { return a + b; }) {};
struct Minus : decltype([](float a, float b) { return a - b; }) {};
struct Times : decltype([](float a, float b) { return a * b; }) {};

/// F in f32, rounded.
template <class H, class F>
struct InFloat {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return H::narrow(F()(H::widen(a), H::widen(b)));
  }
};
template <class H>
struct Fma {
  uint16_t operator()(uint16_t a, uint16_t b, uint16_t c) const {
    double product = double(H::widen(a)) * double(H::widen(b)); // exact
    return H::narrow(oddFloat(oddSum(product, double(H::widen(c)))));
  }
};
template <class H>
struct Abs {
  uint16_t operator()(uint16_t a) const { return a & 0x7fff; }
};
template <class H>
struct Neg {
  uint16_t operator()(uint16_t a) const { return a ^ 0x8000; }
};
template <class H>
struct Min {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    float x = H::widen(a), y = H::widen(b);
    uint16_t least = x < y || (x == y && (a & 0x8000)) ? a : b;
    return x != x ? (y != y ? 0x7fff : b) : y != y ? a : least;
  }
};
template <class H>
struct Max {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    float x = H::widen(a), y = H::widen(b);
    uint16_t most = x > y || (x == y && !(a & 0x8000)) ? a : b;
    return x != x ? (y != y ? 0x7fff : b) : y != y ? a : most;
  }
};
template <class H, class F>
struct NanWins {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    float x = H::widen(a), y = H::widen(b);
    return x != x || y != y ? uint16_t(0x7fff) : F()(a, b);
  }
};
template <class H, class F>
struct XorSign {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return uint16_t((F()(a & 0x7fff, b & 0x7fff) & 0x7fff) | ((a ^ b) & 0x8000));
  }
};
template <class H>
struct Exp2 {
  uint16_t operator()(uint16_t a) const {
    return H::narrow(oddFloat(std::exp2(double(H::widen(a)))));
  }
};
template <class H>
struct Tanh {
  uint16_t operator()(uint16_t a) const {
    return H::narrow(oddFloat(std::tanh(double(H::widen(a)))));
  }
};

/// Negative results and NaN become 0.
template <class H, class F>
struct Relu {
  template <class... S>
  uint16_t operator()(S... values) const {
    uint16_t made = F()(values...);
    float value = H::widen(made);
    return value != value ? uint16_t(0x7fff) : value > 0 ? made : uint16_t(0);
  }
};
template <class H, class F>
struct Saturated {
  template <class... S>
  uint16_t operator()(S... values) const {
    uint16_t made = F()(values...);
    float value = H::widen(made);
    return value > 0 ? (value < 1 ? made : H::one) : uint16_t(0);
  }
};

/// Two halves in a word.
template <class F>
struct Both {
  template <class... S>
  uint32_t operator()(S... values) const {
    uint16_t low = F()(uint16_t(values)...), high = F()(uint16_t(values >> 16)...);
    return uint32_t(high) << 16 | low;
  }
};

template <class F, class... S>
Handler shaped(const Compute &request) {
  return typeKind(request.type) == TypeKind::packed
             ? Map<Both<F>, uint32_t, decltype(uint32_t(S()))...>::handler
             : Map<F, uint16_t, S...>::handler;
}

template <class H, class F, class... S>
Handler modified(const Compute &request) {
  if (request.relu)
    return shaped<Relu<H, F>, S...>(request);
  if (request.saturate)
    return shaped<Saturated<H, F>, S...>(request);
  return shaped<F, S...>(request);
}

using U = uint16_t;

template <class H, template <class> class F>
Handler minMax(const Compute &request) {
  if (request.xorSign)
    return request.nanWins ? shaped<XorSign<H, NanWins<H, F<H>>>, U, U>(request)
                           : shaped<XorSign<H, F<H>>, U, U>(request);
  return request.nanWins ? shaped<NanWins<H, F<H>>, U, U>(request) : shaped<F<H>, U, U>(request);
}

template <class H>
constexpr Entry entries[] = {
    {Fn::add, modified<H, InFloat<H, Plus>, U, U>},
    {Fn::sub, modified<H, InFloat<H, Minus>, U, U>},
    {Fn::mul, modified<H, InFloat<H, Times>, U, U>},
    {Fn::fma, modified<H, Fma<H>, U, U, U>},
    {Fn::abs, shaped<Abs<H>, U>},
    {Fn::neg, shaped<Neg<H>, U>},
    {Fn::min, minMax<H, Min>},
    {Fn::max, minMax<H, Max>},
    {Fn::ex2, shaped<Exp2<H>, U>},
    {Fn::tanh, shaped<Tanh<H>, U>},
};

} // namespace

Handler findHalf(const Compute &request) {
  if (request.flush || request.round != uint8_t(Round::nearestEven))
    return nullptr;
  switch (request.type) {
  case Type::f16:
  case Type::f16x2:
    return findIn(entries<F16>, request);
  case Type::bf16:
  case Type::bf16x2:
    return findIn(entries<BF16>, request);
  default:
    return nullptr;
  }
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
