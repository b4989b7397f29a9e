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

template <class H>
struct Add {
  uint16_t operator()(uint16_t a, uint16_t b) const { return H::narrow(H::widen(a) + H::widen(b)); }
};
template <class H>
struct Sub {
  uint16_t operator()(uint16_t a, uint16_t b) const { return H::narrow(H::widen(a) - H::widen(b)); }
};
template <class H>
struct Mul {
  uint16_t operator()(uint16_t a, uint16_t b) const { return H::narrow(H::widen(a) * H::widen(b)); }
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
Handler shaped(bool pair) {
  return pair ? Map<Both<F>, uint32_t, decltype(uint32_t(S()))...>::handler
              : Map<F, uint16_t, S...>::handler;
}

template <class H, class F, class... S>
Handler modified(const Compute &request, bool pair) {
  if (request.relu)
    return shaped<Relu<H, F>, S...>(pair);
  if (request.saturate)
    return shaped<Saturated<H, F>, S...>(pair);
  return shaped<F, S...>(pair);
}

template <class H, template <class> class F>
Handler minMax(const Compute &request, bool pair) {
  using U = uint16_t;
  if (request.xorSign)
    return request.nanWins ? shaped<XorSign<H, NanWins<H, F<H>>>, U, U>(pair)
                           : shaped<XorSign<H, F<H>>, U, U>(pair);
  return request.nanWins ? shaped<NanWins<H, F<H>>, U, U>(pair) : shaped<F<H>, U, U>(pair);
}

template <class H>
Handler find(const Compute &request, bool pair) {
  using U = uint16_t;
  switch (request.fn) {
  case Fn::add:
    return modified<H, Add<H>, U, U>(request, pair);
  case Fn::sub:
    return modified<H, Sub<H>, U, U>(request, pair);
  case Fn::mul:
    return modified<H, Mul<H>, U, U>(request, pair);
  case Fn::fma:
    return modified<H, Fma<H>, U, U, U>(request, pair);
  case Fn::abs:
    return shaped<Abs<H>, U>(pair);
  case Fn::neg:
    return shaped<Neg<H>, U>(pair);
  case Fn::min:
    return minMax<H, Min>(request, pair);
  case Fn::max:
    return minMax<H, Max>(request, pair);
  case Fn::ex2:
    return shaped<Exp2<H>, U>(pair);
  case Fn::tanh:
    return shaped<Tanh<H>, U>(pair);
  default:
    return nullptr;
  }
}

} // namespace

Handler findHalf(const Compute &request) {
  if (request.flush || request.round != uint8_t(Round::nearestEven))
    return nullptr;
  switch (request.type) {
  case Type::f16:
    return find<F16>(request, false);
  case Type::f16x2:
    return find<F16>(request, true);
  case Type::bf16:
    return find<BF16>(request, false);
  case Type::bf16x2:
    return find<BF16>(request, true);
  default:
    return nullptr;
  }
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
