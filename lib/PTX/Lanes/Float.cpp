// f32 and f64: every result rounded once, as IEEE 754 and PTX say.
//
// What PTX calls .approx is computed as well as f32 can hold it (in f64, then rounded): an
// idealisation, a machine's own result may be a few ulp away. NaN results of f32 are 0x7fffffff, as
// the hardware makes them.
#include "Lanes.h"

#include <cfenv>
#include <cmath>
#include <type_traits>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

[[gnu::always_inline]] inline float canonical(float value) {
  return value != value ? floatOfBits(0x7fffffffu) : value;
}
[[gnu::always_inline]] inline double canonical(double value) { return value; }

/// .ftz: subnormal numbers are zeros with their sign.
[[gnu::always_inline]] inline float flushed(float value) {
  uint32_t bits = bitsOf(value);
  return floatOfBits(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}
template <class T>
[[gnu::always_inline]] inline T saturated(T value) {
  T low = value > T(0) ? value : T(0); // NaN becomes 0
  return low < T(1) ? low : T(1);
}

/// F with subnormals flushed and the result kept in [0, 1], as asked for.
template <class F, bool ftz, bool sat>
struct Modified {
  template <class T, class... S>
  T operator()(T first, S... rest) const {
    if constexpr (ftz) {
      T made = flushed(F()(flushed(first), flushed(rest)...));
      return sat ? saturated(made) : made;
    } else {
      T made = F()(first, rest...);
      return sat ? saturated(made) : made;
    }
  }
};

struct Add : decltype([](auto a, auto b) { return canonical(a + b); }) {};
struct Sub : decltype([](auto a, auto b) { return canonical(a - b); }) {};
struct Mul : decltype([](auto a, auto b) { return canonical(a * b); }) {};
struct Div : decltype([](auto a, auto b) { return canonical(a / b); }) {};
struct Fma {
  float operator()(float a, float b, float c) const { return canonical(__builtin_fmaf(a, b, c)); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};
struct Sqrt {
  float operator()(float a) const { return canonical(__builtin_sqrtf(a)); }
  double operator()(double a) const { return __builtin_sqrt(a); }
};
struct Rcp : decltype([](auto a) { return canonical(decltype(a)(1) / a); }) {};
struct Abs {
  float operator()(float a) const { return floatOfBits(bitsOf(a) & 0x7fffffffu); }
  double operator()(double a) const { return __builtin_fabs(a); }
};
struct Neg {
  float operator()(float a) const { return floatOfBits(bitsOf(a) ^ 0x80000000u); }
  double operator()(double a) const { return -a; }
};
/// -0 is less than +0; a NaN loses, two NaN give NaN.
struct Min : decltype([](auto a, auto b) {
  auto least = a < b || (a == b && std::signbit(a)) ? a : b;
  return canonical(a != a ? b : b != b ? a : least);
}) {};
struct Max : decltype([](auto a, auto b) {
  auto most = a > b || (a == b && !std::signbit(a)) ? a : b;
  return canonical(a != a ? b : b != b ? a : most);
}) {};
template <class F>
struct NanWins {
  template <class T>
  T operator()(T a, T b) const {
    return a != a || b != b ? canonical(a + b) : F()(a, b);
  }
};
template <class F>
struct XorSign {
  float operator()(float a, float b) const {
    uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000u;
    return floatOfBits((bitsOf(F()(Abs()(a), Abs()(b))) & 0x7fffffffu) | sign);
  }
};
struct CopySign { // the sign of a, the rest of b
  float operator()(float a, float b) const {
    return floatOfBits((bitsOf(a) & 0x80000000u) | (bitsOf(b) & 0x7fffffffu));
  }
  double operator()(double a, double b) const { return __builtin_copysign(b, a); }
};

// The approximate functions: exact to the last bit of f32 but for the rounding of f64.
struct RSqrt {
  float operator()(float a) const { return canonical(float(1.0 / std::sqrt(double(a)))); }
  double operator()(double a) const { return 1.0 / std::sqrt(a); }
};
struct Sine : decltype([](float a) { return canonical(float(std::sin(double(a)))); }) {};
struct Cosine : decltype([](float a) { return canonical(float(std::cos(double(a)))); }) {};
struct Exp2 : decltype([](float a) { return canonical(float(std::exp2(double(a)))); }) {};
struct Log2 : decltype([](float a) { return canonical(float(std::log2(double(a)))); }) {};
struct Tanh : decltype([](float a) { return canonical(float(std::tanh(double(a)))); }) {};

/// F under another rounding of the machine. The volatile copies keep the compiler from computing
/// before the mode is set.
template <class F>
struct Directed : TakesOp, Costly {
  template <class T, class... S>
  T operator()(const Op &op, T first, S... rest) const {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    volatile T values[] = {input(op, first), input(op, rest)...};
    std::fesetround(modes[op.constant & 3]);
    volatile T kept = apply(values, std::make_index_sequence<1 + sizeof...(S)>());
    std::fesetround(FE_TONEAREST);
    T made = input(op, T(kept));
    return op.constant & 8 ? saturated(made) : made;
  }

private:
  static float input(const Op &op, float value) { return op.constant & 4 ? flushed(value) : value; }
  static double input(const Op &, double value) { return value; }
  template <class T, size_t... I>
  static T apply(volatile T *values, std::index_sequence<I...>) {
    return F()(T(values[I])...);
  }
};

template <class F, class T, class... S>
Handler modified(const Compute &request) {
  if (request.round != uint8_t(Round::nearestEven))
    return Map<Directed<F>, T, S...>::handler;
  if constexpr (std::is_same_v<T, float>) {
    if (request.flush)
      return request.saturate ? Map<Modified<F, true, true>, T, S...>::handler
                              : Map<Modified<F, true, false>, T, S...>::handler;
  }
  return request.saturate ? Map<Modified<F, false, true>, T, S...>::handler
                          : Map<Modified<F, false, false>, T, S...>::handler;
}

template <class F>
Handler one(const Compute &request) {
  return request.type == Type::f32 ? modified<F, float, float>(request)
                                   : modified<F, double, double>(request);
}
template <class F>
Handler two(const Compute &request) {
  return request.type == Type::f32 ? modified<F, float, float, float>(request)
                                   : modified<F, double, double, double>(request);
}
template <class F>
Handler three(const Compute &request) {
  return request.type == Type::f32 ? modified<F, float, float, float, float>(request)
                                   : modified<F, double, double, double, double>(request);
}
template <class F>
struct OnlyActive : F, Costly {};
template <class F>
Handler costly(const Compute &request) {
  if (request.type != Type::f32)
    return nullptr;
  return request.flush ? Map<OnlyActive<Modified<F, true, false>>, float, float>::handler
                       : Map<OnlyActive<Modified<F, false, false>>, float, float>::handler;
}

Handler reciprocalSqrt(const Compute &request) {
  return request.type == Type::f64 ? Map<OnlyActive<RSqrt>, double, double>::handler
                                   : costly<RSqrt>(request);
}

template <class F>
Handler minMax(const Compute &request) {
  if (request.xorSign) {
    if (request.type != Type::f32)
      return nullptr;
    return request.nanWins ? modified<XorSign<NanWins<F>>, float, float, float>(request)
                           : modified<XorSign<F>, float, float, float>(request);
  }
  return request.nanWins ? two<NanWins<F>>(request) : two<F>(request);
}

/// Two f32 in 64 bits.
template <class F>
struct Both {
  template <class... S>
  uint64_t operator()(S... values) const {
    float low = F()(floatOfBits(uint32_t(values))...);
    float high = F()(floatOfBits(uint32_t(values >> 32))...);
    return uint64_t(bitsOf(high)) << 32 | bitsOf(low);
  }
};

template <class F, class... S>
Handler pair(const Compute &request) {
  bool plain = request.round == uint8_t(Round::nearestEven) && !request.flush;
  return plain ? Map<Both<F>, uint64_t, S...>::handler : nullptr;
}

using Pair = uint64_t;
constexpr Entry pairs[] = {
    {Fn::add, pair<Add, Pair, Pair>},
    {Fn::sub, pair<Sub, Pair, Pair>},
    {Fn::mul, pair<Mul, Pair, Pair>},
    {Fn::fma, pair<Fma, Pair, Pair, Pair>},
};
constexpr Entry entries[] = {
    {Fn::add, two<Add>},      {Fn::sub, two<Sub>},       {Fn::mul, two<Mul>},
    {Fn::div, two<Div>},      {Fn::mad, three<Fma>},     {Fn::fma, three<Fma>},
    {Fn::sqrt, one<Sqrt>},    {Fn::rcp, one<Rcp>},       {Fn::abs, one<Abs>},
    {Fn::neg, one<Neg>},      {Fn::min, minMax<Min>},    {Fn::max, minMax<Max>},
    {Fn::sin, costly<Sine>},  {Fn::cos, costly<Cosine>}, {Fn::copysign, two<CopySign>},
    {Fn::ex2, costly<Exp2>},  {Fn::lg2, costly<Log2>},   {Fn::rsqrt, reciprocalSqrt},
    {Fn::tanh, costly<Tanh>},
};

} // namespace

Handler findFloat(const Compute &request) {
  if (request.type == Type::f32x2)
    return findIn(pairs, request);
  bool known = request.type == Type::f32 || request.type == Type::f64;
  return known ? findIn(entries, request) : nullptr;
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
