// cvt. Conversions that programs are full of have a loop each; the others go through one function,
// by way of f64, which holds every value of every smaller format.
//
// Values of 8 bits are in slots of 16.
#include "Lanes.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

template <class T>
struct CarrierOf {
  using type = T;
};
template <>
struct CarrierOf<uint8_t> {
  using type = uint16_t;
};
template <>
struct CarrierOf<int8_t> {
  using type = int16_t;
};
template <class T>
using Carrier = typename CarrierOf<T>::type;

template <class D, class S, bool saturate>
struct Resize {
  Carrier<D> operator()(Carrier<S> carrier) const {
    S value = S(carrier);
    if constexpr (saturate) {
      __int128 wide = value, low = std::numeric_limits<D>::min(),
               high = std::numeric_limits<D>::max();
      return Carrier<D>(D(wide < low ? low : wide > high ? high : wide));
    }
    return Carrier<D>(D(value));
  }
};
template <class D, class S>
struct ToReal {
  D operator()(Carrier<S> carrier) const { return D(S(carrier)); }
};

template <Round mode, class T>
T toWhole(T value) {
  if constexpr (mode == Round::zero)
    return std::trunc(value);
  else if constexpr (mode == Round::down)
    return std::floor(value);
  else if constexpr (mode == Round::up)
    return std::ceil(value);
  else
    return std::nearbyint(value);
}

template <class T, Round mode>
struct Whole {
  T operator()(T value) const { return toWhole<mode>(value); }
};

/// What does not fit becomes the nearest integer that does; NaN is 0, or 2^63 where 64 bits meet.
template <class D, class S, Round mode>
struct ToInteger {
  Carrier<D> operator()(S value) const {
    constexpr D low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max();
    constexpr S end = S(2) * S(uint64_t(1) << (std::numeric_limits<D>::digits - 1));
    S whole = toWhole<mode>(value);
    bool isNaN = value != value, under = whole < S(low), over = whole >= end;
    D made = D(isNaN || under || over ? S(0) : whole);
    made = over ? high : under ? low : made;
    constexpr D none = sizeof(S) == 8 || sizeof(D) == 8 ? D(D(1) << (sizeof(D) * 8 - 1)) : D(0);
    return Carrier<D>(isNaN ? none : made);
  }
};

struct HalfToFloat : decltype([](uint16_t a) { return halfToFloat(a); }) {};
struct BfloatToFloat : decltype([](uint16_t a) { return bfloatToFloat(a); }) {};
struct FloatToHalf : decltype([](float a) { return floatToHalf(a); }) {};
struct FloatToBfloat : decltype([](float a) { return floatToBfloat(a); }) {};
struct FloatsToHalves
    : decltype([](float a, float b) { return uint32_t(floatToHalf(a)) << 16 | floatToHalf(b); }) {};
struct FloatsToBfloats : decltype([](float a, float b) {
  return uint32_t(floatToBfloat(a)) << 16 | floatToBfloat(b);
}) {};
struct FloatToDouble : decltype([](float a) { return double(a); }) {};
struct DoubleToFloat
    : decltype([](double a) { return a != a ? floatOfBits(0x7fffffffu) : float(a); }) {};

// The general way.

/// An integer in 53 bits, with the last one set when others were lost (round to odd).
double oddDouble(uint64_t magnitude) {
  if (magnitude >> 53 == 0)
    return double(magnitude);
  unsigned shift = 11 - unsigned(__builtin_clzll(magnitude));
  uint64_t kept = magnitude >> shift;
  kept |= (kept << shift) != magnitude;
  return std::ldexp(double(kept), int(shift));
}

double readReal(Type type, uint64_t bits) {
  switch (type) {
  case Type::f16:
    return halfToFloat(uint16_t(bits));
  case Type::bf16:
    return bfloatToFloat(uint16_t(bits));
  case Type::tf32:
  case Type::f32:
    return floatOfBits(uint32_t(bits));
  case Type::e4m3:
    return decodeSmall(uint32_t(bits), formatE4M3, 4);
  case Type::e5m2:
    return decodeSmall(uint32_t(bits), formatE5M2, 5);
  default:
    return std::bit_cast<double>(bits);
  }
}

uint64_t writeReal(Type type, double value, Round mode, bool finite) {
  switch (type) {
  case Type::f16:
    return std::isnan(value) ? 0x7fff
                             : encodeSmall(roundTo(value, formatF16, mode, finite), formatF16, 5);
  case Type::bf16:
    return std::isnan(value) ? 0x7fff
                             : encodeSmall(roundTo(value, formatBF16, mode, finite), formatBF16, 8);
  case Type::tf32:
    return std::isnan(value) ? 0x7fffffff : bitsOf(float(roundTo(value, formatTF32, mode, finite)));
  case Type::f32:
    return std::isnan(value) ? 0x7fffffff : bitsOf(float(roundTo(value, formatF32, mode, finite)));
  case Type::e4m3:
    return encodeSmall(roundTo(value, formatE4M3, mode, finite), formatE4M3, 4);
  case Type::e5m2:
    return encodeSmall(roundTo(value, formatE5M2, mode, finite), formatE5M2, 5);
  default:
    return bitsOf(value);
  }
}

uint64_t realToInteger(Type to, Type from, double value, Round mode) {
  unsigned bits = typeBits(to);
  if (std::isnan(value))
    return bits == 64 || from == Type::f64 ? uint64_t(1) << (bits - 1) : 0;
  double whole = mode == Round::zero   ? std::trunc(value)
                 : mode == Round::down ? std::floor(value)
                 : mode == Round::up   ? std::ceil(value)
                                       : std::nearbyint(value);
  double end = std::ldexp(1.0, int(bits) - (isSigned(to) ? 1 : 0));
  if (whole >= end)
    return isSigned(to) ? (uint64_t(1) << (bits - 1)) - 1 : ~uint64_t(0) >> (64 - bits);
  if (isSigned(to))
    return whole < -end ? uint64_t(1) << (bits - 1) : uint64_t(int64_t(whole));
  return whole < 0 ? 0 : uint64_t(whole);
}

uint64_t integerToDouble(bool isSigned, uint64_t bits, Round mode) {
  constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  volatile uint64_t source = bits;
  std::fesetround(modes[size_t(mode) & 3]);
  volatile double made = isSigned ? double(int64_t(source)) : double(uint64_t(source));
  std::fesetround(FE_TONEAREST);
  return bitsOf(double(made));
}

struct Request {
  Type to, from;
  Round mode;
  bool saturate, finite, relu, flush, whole;
  explicit Request(uint64_t packed)
      : to(Type(packed & 0xff)), from(Type(packed >> 8 & 0xff)), mode(Round(packed >> 16 & 0xf)),
        saturate(packed >> 20 & 1), finite(packed >> 21 & 1), relu(packed >> 22 & 1),
        flush(packed >> 23 & 1), whole(packed >> 24 & 1) {}
};

double flushIf(bool flush, Type type, double value) {
  bool small = type == Type::f32 && std::fabs(value) < 0x1p-126;
  return flush && small ? std::copysign(0.0, value) : value;
}

uint64_t convertOne(const Request &r, uint64_t bits) {
  bool fromReal = typeKind(r.from) == TypeKind::real, toReal = typeKind(r.to) == TypeKind::real;
  if (fromReal) {
    double value = flushIf(r.flush, r.from, readReal(r.from, bits));
    if (!toReal)
      return realToInteger(r.to, r.from, value, r.mode);
    if (r.whole)
      value = r.mode == Round::zero   ? std::trunc(value)
              : r.mode == Round::down ? std::floor(value)
              : r.mode == Round::up   ? std::ceil(value)
                                      : std::nearbyint(value);
    if (r.saturate && !r.finite)
      value = value > 0 ? (value < 1 ? value : 1) : 0;
    if (r.relu && !(value > 0) && value == value)
      value = 0;
    // Round to odd first: roundTo takes 53 bits exactly, and nothing comes with more.
    uint64_t made = writeReal(r.to, value, r.whole ? Round::nearestEven : r.mode, r.finite);
    if (r.flush && r.to == Type::f32 && !(made & 0x7f800000u))
      made &= 0x80000000u;
    return made;
  }
  bool negative = isSigned(r.from) && int64_t(bits) < 0;
  if (r.to == Type::f64)
    return integerToDouble(isSigned(r.from), bits, r.mode);
  double value = oddDouble(negative ? 0 - bits : bits);
  value = negative ? -value : value;
  if (r.saturate && !r.finite)
    value = value > 0 ? (value < 1 ? value : 1) : 0;
  return writeReal(r.to, value, r.mode, r.finite);
}

Type halfOf(Type pair) {
  switch (pair) {
  case Type::f16x2:
    return Type::f16;
  case Type::bf16x2:
    return Type::bf16;
  case Type::e4m3x2:
    return Type::e4m3;
  case Type::e5m2x2:
    return Type::e5m2;
  default:
    return pair;
  }
}

uint64_t readSlot(char *registers, uint32_t slot, Type type, unsigned lane) {
  switch (typeBytes(type)) {
  case 1: {
    uint16_t carrier = source<uint16_t>(registers, slot)[lane];
    return isSigned(type) ? uint64_t(int64_t(int8_t(carrier))) : uint8_t(carrier);
  }
  case 2: {
    uint16_t value = source<uint16_t>(registers, slot)[lane];
    return isSigned(type) ? uint64_t(int64_t(int16_t(value))) : value;
  }
  case 4: {
    uint32_t value = source<uint32_t>(registers, slot)[lane];
    return isSigned(type) ? uint64_t(int64_t(int32_t(value))) : value;
  }
  default:
    return source<uint64_t>(registers, slot)[lane];
  }
}

void writeSlot(char *registers, uint32_t slot, Type type, unsigned lane, uint64_t bits) {
  switch (typeBytes(type)) {
  case 1:
    reinterpret_cast<uint16_t *>(registers + slot)[lane] =
        isSigned(type) ? uint16_t(int16_t(int8_t(bits))) : uint8_t(bits);
    break;
  case 2:
    reinterpret_cast<uint16_t *>(registers + slot)[lane] = uint16_t(bits);
    break;
  case 4:
    reinterpret_cast<uint32_t *>(registers + slot)[lane] = uint32_t(bits);
    break;
  default:
    reinterpret_cast<uint64_t *>(registers + slot)[lane] = bits;
  }
}

void convertGeneral(char *registers, uint32_t mask, const Op &op) {
  Request request(op.constant);
  bool toPair = typeKind(request.to) == TypeKind::packed;
  bool fromPair = typeKind(request.from) == TypeKind::packed;
  Request one = request;
  one.to = halfOf(request.to);
  one.from = halfOf(request.from);
  unsigned toBits = typeBits(one.to), fromBits = typeBits(one.from);
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    uint64_t a = readSlot(registers, op.src[0], request.from, lane), made;
    if (!toPair) {
      made = convertOne(one, a);
    } else {
      uint64_t keep = (uint64_t(1) << fromBits) - 1;
      uint64_t high = fromPair ? a >> fromBits & keep : a;
      uint64_t low = fromPair ? a & keep : readSlot(registers, op.src[1], request.from, lane);
      made = convertOne(one, high) << toBits | convertOne(one, low);
    }
    writeSlot(registers, op.dst, request.to, lane, made);
  }
}

/// What `make` gives for a value of an integer type.
template <class Make>
Handler byInteger(Type type, Make make) {
  switch (type) {
  case Type::u8:
    return make(uint8_t());
  case Type::s8:
    return make(int8_t());
  case Type::u16:
    return make(uint16_t());
  case Type::s16:
    return make(int16_t());
  case Type::u32:
    return make(uint32_t());
  case Type::s32:
    return make(int32_t());
  case Type::u64:
    return make(uint64_t());
  case Type::s64:
    return make(int64_t());
  default:
    return nullptr;
  }
}

/// What `make` gives for a mode as a constant.
template <class Make>
Handler byRound(Round mode, Make make) {
  switch (mode) {
  case Round::zero:
    return make(std::integral_constant<Round, Round::zero>());
  case Round::down:
    return make(std::integral_constant<Round, Round::down>());
  case Round::up:
    return make(std::integral_constant<Round, Round::up>());
  default:
    return make(std::integral_constant<Round, Round::nearestEven>());
  }
}

Handler resize(Type to, Type from, bool saturate) {
  return byInteger(from, [&]<class S>(S) {
    return byInteger(to, [&]<class D>(D) -> Handler {
      return saturate ? Map<Resize<D, S, true>, Carrier<D>, Carrier<S>>::handler
                      : Map<Resize<D, S, false>, Carrier<D>, Carrier<S>>::handler;
    });
  });
}
template <class D>
Handler toReal(Type from) {
  return byInteger(from,
                   []<class S>(S) -> Handler { return Map<ToReal<D, S>, D, Carrier<S>>::handler; });
}
template <class S>
Handler toInteger(Type to, Round mode) {
  return byRound(mode, [&](auto by) {
    return byInteger(to, []<class D>(D) -> Handler {
      return Map<ToInteger<D, S, decltype(by)::value>, Carrier<D>, S>::handler;
    });
  });
}
template <class T>
Handler whole(Round mode) {
  return byRound(
      mode, [](auto by) -> Handler { return Map<Whole<T, decltype(by)::value>, T, T>::handler; });
}

/// Conversions with a loop of their own, or null.
Handler fast(const Compute &request) {
  Type to = request.type, from = request.from;
  Round mode = Round(request.round);
  bool plain = !request.saturate && !request.flush && !request.relu;
  bool nearest = mode == Round::nearestEven && plain && !request.toInteger;
  if (isInteger(to) && isInteger(from))
    return resize(to, from, request.saturate);
  if (isInteger(from))
    return nearest && to == Type::f32   ? toReal<float>(from)
           : nearest && to == Type::f64 ? toReal<double>(from)
                                        : nullptr;
  if (isInteger(to) && !request.flush) // .sat adds nothing: it clamps anyway
    return from == Type::f32   ? toInteger<float>(to, mode)
           : from == Type::f64 ? toInteger<double>(to, mode)
                               : nullptr;
  if (request.toInteger)
    return plain && to == from && to == Type::f32   ? whole<float>(mode)
           : plain && to == from && to == Type::f64 ? whole<double>(mode)
                                                    : nullptr;
  if (from == Type::f16 && to == Type::f32 && plain)
    return Map<HalfToFloat, float, uint16_t>::handler;
  if (from == Type::bf16 && to == Type::f32 && plain)
    return Map<BfloatToFloat, float, uint16_t>::handler;
  if (from == Type::f32 && to == Type::f64 && plain)
    return Map<FloatToDouble, double, float>::handler;
  if (!nearest)
    return nullptr;
  if (from == Type::f64 && to == Type::f32)
    return Map<DoubleToFloat, float, double>::handler;
  if (from == Type::f32) {
    switch (to) {
    case Type::f16:
      return Map<FloatToHalf, uint16_t, float>::handler;
    case Type::bf16:
      return Map<FloatToBfloat, uint16_t, float>::handler;
    case Type::f16x2:
      return Map<FloatsToHalves, uint32_t, float, float>::handler;
    case Type::bf16x2:
      return Map<FloatsToBfloats, uint32_t, float, float>::handler;
    default:
      break;
    }
  }
  return nullptr;
}

} // namespace

Handler findConvert(const Compute &request) {
  if (request.fn != Fn::convert)
    return nullptr;
  if (Handler handler = fast(request))
    return handler;
  bool known = request.type != Type::none && request.from != Type::none &&
               typeKind(request.type) != TypeKind::pred && request.type != Type::f32x2;
  return known ? convertGeneral : nullptr;
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
