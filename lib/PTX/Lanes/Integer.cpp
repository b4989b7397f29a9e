// Integers and bits. Arithmetic wraps (-fwrapv); what PTX leaves open, as division by zero, gives
// what NVIDIA's machines give where that is known, else all ones.
#include "Lanes.h"

#include <limits>
#include <type_traits>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

template <class T>
using Wider = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

int32_t saturated(int64_t value) {
  return int32_t(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

struct Add : decltype([]<class T>(T a, T b) { return T(a + b); }) {};
struct Sub : decltype([]<class T>(T a, T b) { return T(a - b); }) {};
struct Mul : decltype([]<class T>(T a, T b) { return T(Wider<T>(a) * b); }) {};
struct MulHi : decltype([]<class T>(T a, T b) { return T((Wider<T>(a) * b) >> (sizeof(T) * 8)); }) {
};
struct MulWide : decltype([]<class T>(T a, T b) { return Wider<T>(a) * b; }) {};
struct Mad : decltype([]<class T>(T a, T b, T c) { return T(Mul()(a, b) + c); }) {};
struct MadHi : decltype([]<class T>(T a, T b, T c) { return T(MulHi()(a, b) + c); }) {};
struct MadWide : decltype([]<class T>(T a, T b, Wider<T> c) { return Wider<T>(a) * b + c; }) {};
struct AddSaturate : decltype([](int32_t a, int32_t b) { return saturated(int64_t(a) + b); }) {};
struct SubSaturate : decltype([](int32_t a, int32_t b) { return saturated(int64_t(a) - b); }) {};
struct MadHiSaturate : decltype([](int32_t a, int32_t b, int32_t c) {
  return saturated(int64_t(MulHi()(a, b)) + c);
}) {};
struct Div : Costly {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return T(0 - a);
    return T(a / b);
  }
};
struct Rem : Costly {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Min : decltype([]<class T>(T a, T b) { return a < b ? a : b; }) {};
struct Max : decltype([]<class T>(T a, T b) { return a < b ? b : a; }) {};
struct MinRelu : decltype([]<class T>(T a, T b) { return Max()(Min()(a, b), T(0)); }) {};
struct MaxRelu : decltype([]<class T>(T a, T b) { return Max()(Max()(a, b), T(0)); }) {};
struct Abs : decltype([]<class T>(T a) { return a < 0 ? T(0 - a) : a; }) {};
struct Neg : decltype([]<class T>(T a) { return T(0 - a); }) {};
struct Sad : decltype([]<class T>(T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  return T(U(c) + (a < b ? U(b) - U(a) : U(a) - U(b)));
}) {};
struct And : decltype([]<class T>(T a, T b) { return T(a & b); }) {};
struct Or : decltype([]<class T>(T a, T b) { return T(a | b); }) {};
struct Xor : decltype([]<class T>(T a, T b) { return T(a ^ b); }) {};
struct Not : decltype([]<class T>(T a) { return T(~a); }) {};
struct CNot : decltype([]<class T>(T a) { return T(a == 0); }) {};
struct Shl : decltype([]<class T>(T a, uint32_t b) {
  return b >= sizeof(T) * 8 ? T(0) : T(a << (b & (sizeof(T) * 8 - 1)));
}) {};
struct Shr : decltype([]<class T>(T a, uint32_t b) {
  constexpr uint32_t most = sizeof(T) * 8 - 1;
  if (std::is_signed_v<T>)
    return T(a >> (b > most ? most : b));
  return b > most ? T(0) : T(a >> (b & most));
}) {};
/// The table is the constant: bit 4a + 2b + c.
struct Lop3 : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    auto spread = [&](unsigned bit) { return op.constant >> bit & 1 ? ~0u : 0u; };
    uint32_t low =
        (~b & ((~c & spread(0)) | (c & spread(1)))) | (b & ((~c & spread(2)) | (c & spread(3))));
    uint32_t high =
        (~b & ((~c & spread(4)) | (c & spread(5)))) | (b & ((~c & spread(6)) | (c & spread(7))));
    return (~a & low) | (a & high);
  }
};
struct BitFieldExtract {
  template <class T>
  T operator()(T a, uint32_t b, uint32_t c) const {
    constexpr unsigned bits = sizeof(T) * 8;
    using U = std::make_unsigned_t<T>;
    unsigned position = b & 0xff, length = c & 0xff;
    bool isSigned = std::is_signed_v<T>;
    if (length == 0)
      return 0;
    U top =
        position + length - 1 < bits ? U(U(a) >> (position + length - 1)) : U(U(a) >> (bits - 1));
    bool sign = isSigned && (top & 1);
    U field = position < bits ? U(U(a) >> position) : 0;
    U keep = length >= bits ? U(-1) : U((U(1) << length) - 1);
    // Beyond the top bit of the value a signed field continues with it.
    unsigned there = position >= bits ? 0 : bits - position;
    if (there < length)
      keep = there >= bits ? U(-1) : U((U(1) << there) - 1);
    field &= keep;
    return T(sign ? U(field | U(~keep)) : field);
  }
};
struct BitFieldInsert {
  template <class T>
  T operator()(T a, T b, uint32_t c, uint32_t d) const {
    constexpr unsigned bits = sizeof(T) * 8;
    unsigned position = c & 0xff, length = d & 0xff;
    if (position >= bits || length == 0)
      return b;
    T keep = length >= bits ? T(-1) : T((T(1) << length) - 1);
    keep = T(keep << position);
    return T((b & ~keep) | ((a << position) & keep));
  }
};
template <class T>
unsigned leadingZeros(T value) {
  return value ? unsigned(sizeof(T) == 8 ? __builtin_clzll(value) : __builtin_clz(uint32_t(value)))
               : unsigned(sizeof(T) * 8);
}
/// The bits below the highest that differs from the sign.
template <class T>
std::make_unsigned_t<T> withoutSign(T value) {
  return std::make_unsigned_t<T>(value < 0 ? ~value : value);
}
struct BitFind : decltype([]<class T>(T a) {
  auto value = withoutSign(a);
  return value ? uint32_t(sizeof(T) * 8 - 1) - leadingZeros(value) : ~0u;
}) {};
struct BitFindShift : decltype([]<class T>(T a) {
  auto value = withoutSign(a);
  return value ? leadingZeros(value) : ~0u;
}) {};
struct Reverse : decltype([]<class T>(T a) {
  T made = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i)
    made |= T((a >> i) & 1) << (sizeof(T) * 8 - 1 - i);
  return made;
}) {};
struct LeadingZeros : decltype([](auto a) { return leadingZeros(a); }) {};
struct PopulationCount : decltype([](uint64_t value) {
  value -= (value >> 1) & 0x5555555555555555u;
  value = (value & 0x3333333333333333u) + ((value >> 2) & 0x3333333333333333u);
  value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return uint32_t((value * 0x0101010101010101u) >> 56);
}) {};
/// The constant is the mode: 0 default, f4e, b4e, rc8, ecl, ecr, rc16.
struct Permute : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t n = c & 3, selector = c;
    switch (op.constant) {
    case 1:
      selector = n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12;
      break;
    case 2:
      selector = n | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12;
      break;
    case 3:
      selector = n * 0x1111;
      break;
    case 4:
      selector = Max()(n, 0u) | Max()(n, 1u) << 4 | Max()(n, 2u) << 8 | 3u << 12;
      break;
    case 5:
      selector = 0 | Min()(n, 1u) << 4 | Min()(n, 2u) << 8 | Min()(n, 3u) << 12;
      break;
    case 6:
      selector = (n & 1) ? 0x3232 : 0x1010;
      break;
    default:
      break;
    }
    uint32_t made = 0;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t pick = selector >> (4 * i);
      uint32_t byte = uint32_t(bytes >> (8 * (pick & 7))) & 0xff;
      if (op.constant == 0 && (pick & 8))
        byte = byte & 0x80 ? 0xff : 0;
      made |= byte << (8 * i);
    }
    return made;
  }
};
/// The constant is 1 for .clamp.
struct FunnelLeft : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t n = op.constant ? (c > 32 ? 32 : c) : c & 31;
    return uint32_t((uint64_t(b) << 32 | a) << n >> 32);
  }
};
struct FunnelRight : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t n = op.constant ? (c > 32 ? 32 : c) : c & 31;
    return uint32_t((uint64_t(b) << 32 | a) >> n);
  }
};
/// Bit 0 of the constant: a is signed; bit 1: b is; bit 2: the high half (dp2a).
struct DotProduct4 : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned i = 0; i < 4; ++i) {
      int32_t x = op.constant & 1 ? int8_t(a >> 8 * i) : int32_t(uint8_t(a >> 8 * i));
      int32_t y = op.constant & 2 ? int8_t(b >> 8 * i) : int32_t(uint8_t(b >> 8 * i));
      c += uint32_t(x * y);
    }
    return c;
  }
};
struct DotProduct2 : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b, uint32_t c) const {
    for (unsigned i = 0; i < 2; ++i) {
      int32_t x = op.constant & 1 ? int16_t(a >> 16 * i) : int32_t(uint16_t(a >> 16 * i));
      uint32_t byte = b >> (8 * i + (op.constant & 4 ? 16 : 0));
      int32_t y = op.constant & 2 ? int8_t(byte) : int32_t(uint8_t(byte));
      c += uint32_t(x * y);
    }
    return c;
  }
};
/// szext and bmsk; the constant is 1 for .clamp.
template <bool isSigned>
struct ExtendFrom : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b) const {
    uint32_t n = op.constant ? (b > 32 ? 32 : b) : b & 31;
    if (n == 0)
      return 0;
    if (n >= 32)
      return a;
    return isSigned ? uint32_t(int32_t(a << (32 - n)) >> (32 - n)) : a & ((1u << n) - 1);
  }
};
struct BitMask : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b) const {
    uint32_t first = op.constant ? (a > 32 ? 32 : a) : a & 31;
    uint32_t width = op.constant ? (b > 32 ? 32 : b) : b & 31;
    uint64_t mask = ((uint64_t(1) << width) - 1) << first;
    return uint32_t(mask);
  }
};
template <bool isSigned>
struct Mul24 : TakesOp {
  uint32_t operator()(const Op &op, uint32_t a, uint32_t b) const {
    int64_t x = isSigned ? int32_t(a << 8) >> 8 : int64_t(a & 0xffffff);
    int64_t y = isSigned ? int32_t(b << 8) >> 8 : int64_t(b & 0xffffff);
    return uint32_t((x * y) >> (op.constant ? 16 : 0));
  }
};

/// Two values of 16 bits in a word.
template <class T, class F>
struct Both {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    uint16_t low = uint16_t(F()(T(a), T(b))), high = uint16_t(F()(T(a >> 16), T(b >> 16)));
    return uint32_t(high) << 16 | low;
  }
};

/// add.cc, addc and their like: src[2] is the carry in, dst2 the carry out, either may be missing.
template <class T, bool subtract>
void carryHandler(char *registers, uint32_t mask, const Op &op) {
  const T *a = source<T>(registers, op.src[0]), *b = source<T>(registers, op.src[1]);
  T *to = reinterpret_cast<T *>(registers + op.dst);
  uint32_t in = op.src[2] == noSlot ? 0 : predicate(registers, op.src[2]), out = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    T carry = T(in >> lane & 1), x = a[lane], y = b[lane];
    unsigned __int128 wide =
        subtract ? (unsigned __int128)x - y - carry : (unsigned __int128)x + y + carry;
    to[lane] = T(wide);
    out |= uint32_t(wide >> (sizeof(T) * 8) & 1) << lane;
  }
  if (op.dst2 != noSlot)
    writePredicate(registers, mask, op.dst2, out);
}

using W = uint32_t;

/// By size and sign.
template <class F, class... Operands>
Handler words(const Compute &request) {
  switch (request.type) {
  case Type::u32:
    return Map<F, Actual<uint32_t, Operands>...>::handler;
  case Type::s32:
    return Map<F, Actual<int32_t, Operands>...>::handler;
  case Type::u64:
    return Map<F, Actual<uint64_t, Operands>...>::handler;
  case Type::s64:
    return Map<F, Actual<int64_t, Operands>...>::handler;
  default:
    return nullptr;
  }
}
/// The same with numbers of 16 bits.
template <class F, class... Operands>
Handler integers(const Compute &request) {
  return request.type == Type::u16   ? Map<F, Actual<uint16_t, Operands>...>::handler
         : request.type == Type::s16 ? Map<F, Actual<int16_t, Operands>...>::handler
                                     : words<F, Operands...>(request);
}
template <class F>
Handler one(const Compute &request) {
  return integers<F, Own, Own>(request);
}
template <class F>
Handler two(const Compute &request) {
  return integers<F, Own, Own, Own>(request);
}
template <class F>
Handler three(const Compute &request) {
  return integers<F, Own, Own, Own, Own>(request);
}

/// F, or where the modifier is given what only s32 has.
template <bool Compute::*modifier, class F, class OfS32, class... Operands>
Handler modified(const Compute &request) {
  if (!(request.*modifier))
    return integers<F, Operands...>(request);
  return request.type == Type::s32 ? Map<OfS32, Actual<int32_t, Operands>...>::handler : nullptr;
}

/// Of two pairs.
template <class F>
Handler pairs(const Compute &request) {
  return request.type == Type::u16x2   ? Map<Both<uint16_t, F>, W, W, W>::handler
         : request.type == Type::s16x2 ? Map<Both<int16_t, F>, W, W, W>::handler
                                       : nullptr;
}

Handler add(const Compute &request) {
  Handler pair = pairs<Add>(request);
  return pair ? pair : modified<&Compute::saturate, Add, AddSaturate, Own, Own, Own>(request);
}

template <class F, class Relu>
Handler minMax(const Compute &request) {
  Handler pair = request.relu ? pairs<Relu>(request) : pairs<F>(request);
  return pair ? pair : modified<&Compute::relu, F, Relu, Own, Own, Own>(request);
}

/// Among the types of a handler whose factors are of `from`: one twice as wide.
struct Twice {};
template <class T, class S>
using Widened = std::conditional_t<std::is_same_v<S, Twice>, Wider<T>, T>;

template <class F, class... Operands>
Handler wide(const Compute &request) {
  switch (request.from) {
  case Type::u16:
    return Map<F, Widened<uint16_t, Operands>...>::handler;
  case Type::s16:
    return Map<F, Widened<int16_t, Operands>...>::handler;
  case Type::u32:
    return Map<F, Widened<uint32_t, Operands>...>::handler;
  case Type::s32:
    return Map<F, Widened<int32_t, Operands>...>::handler;
  default:
    return nullptr;
  }
}

/// The sign counts where the type has one.
Handler shiftRight(const Compute &request) {
  return isSigned(request.type) ? integers<Shr, Own, Own, uint32_t>(request)
                                : bits<Shr, Own, Own, uint32_t>(request);
}

template <template <bool isSigned> class F>
Handler signedOrNot(const Compute &request) {
  return request.type == Type::s32 ? Map<F<true>, W, W, W>::handler
                                   : Map<F<false>, W, W, W>::handler;
}

template <bool subtract>
Handler carry(const Compute &request) {
  return bySize(request.type, []<class T>(T) -> Handler { return carryHandler<T, subtract>; });
}

constexpr Entry entries[] = {
    {Fn::add, add},
    {Fn::sub, modified<&Compute::saturate, Sub, SubSaturate, Own, Own, Own>},
    {Fn::mul, two<Mul>},
    {Fn::mulHi, two<MulHi>},
    {Fn::mulWide, wide<MulWide, Twice, Own, Own>},
    {Fn::mad, three<Mad>},
    {Fn::madHi, modified<&Compute::saturate, MadHi, MadHiSaturate, Own, Own, Own, Own>},
    {Fn::madWide, wide<MadWide, Twice, Own, Own, Twice>},
    {Fn::div, two<Div>},
    {Fn::rem, two<Rem>},
    {Fn::min, minMax<Min, MinRelu>},
    {Fn::max, minMax<Max, MaxRelu>},
    {Fn::abs, one<Abs>},
    {Fn::neg, one<Neg>},
    {Fn::sad, three<Sad>},
    // Bits.
    {Fn::land, bits<And, Own, Own, Own>},
    {Fn::lor, bits<Or, Own, Own, Own>},
    {Fn::lxor, bits<Xor, Own, Own, Own>},
    {Fn::lnot, bits<Not, Own, Own>},
    {Fn::cnot, bits<CNot, Own, Own>},
    {Fn::shl, bits<Shl, Own, Own, W>},
    {Fn::shr, shiftRight},
    {Fn::bfe, words<BitFieldExtract, Own, Own, W, W>},
    {Fn::bfi, bits<BitFieldInsert, Own, Own, Own, W, W>},
    {Fn::bfind, words<BitFind, W, Own>},
    {Fn::bfindShift, words<BitFindShift, W, Own>},
    {Fn::brev, bits<Reverse, Own, Own>},
    {Fn::clz, bits<LeadingZeros, W, Own>},
    {Fn::popc, bits<PopulationCount, W, Own>},
    {Fn::addCarry, carry<false>},
    {Fn::subBorrow, carry<true>},
    // Whole words.
    {Fn::lop3, always<Map<Lop3, W, W, W, W>::handler>},
    {Fn::prmt, always<Map<Permute, W, W, W, W>::handler>},
    {Fn::funnelLeft, always<Map<FunnelLeft, W, W, W, W>::handler>},
    {Fn::funnelRight, always<Map<FunnelRight, W, W, W, W>::handler>},
    {Fn::dp4a, always<Map<DotProduct4, W, W, W, W>::handler>},
    {Fn::dp2a, always<Map<DotProduct2, W, W, W, W>::handler>},
    {Fn::szext, signedOrNot<ExtendFrom>},
    {Fn::bmsk, always<Map<BitMask, W, W, W>::handler>},
    {Fn::mul24, signedOrNot<Mul24>},
};

} // namespace

Handler findInteger(const Compute &request) { return findIn(entries, request); }

} // namespace gantry::ptx::GANTRY_PTX_LANES
