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

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return T(a - b);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return T(Wider<T>(a) * b);
  }
};
struct MulHi {
  template <class T>
  T operator()(T a, T b) const {
    return T((Wider<T>(a) * b) >> (sizeof(T) * 8));
  }
};
struct MulWide {
  template <class T>
  auto operator()(T a, T b) const {
    return Wider<T>(a) * b;
  }
};
struct Mad {
  template <class T>
  T operator()(T a, T b, T c) const {
    return T(Mul()(a, b) + c);
  }
};
struct MadHi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return T(MulHi()(a, b) + c);
  }
};
struct MadHiSaturate {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    int64_t sum = int64_t(MulHi()(a, b)) + c;
    return int32_t(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
};
struct MadWide {
  template <class T>
  auto operator()(T a, T b, Wider<T> c) const {
    return Wider<T>(a) * b + c;
  }
};
struct AddSaturate {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = int64_t(a) + b;
    return int32_t(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
};
struct SubSaturate {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = int64_t(a) - b;
    return int32_t(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return T(0 - a);
    return T(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct MinRelu {
  template <class T>
  T operator()(T a, T b) const {
    return Max()(Min()(a, b), T(0));
  }
};
struct MaxRelu {
  template <class T>
  T operator()(T a, T b) const {
    return Max()(Max()(a, b), T(0));
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? T(0 - a) : a;
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return T(0 - a);
  }
};
struct Sad {
  template <class T>
  T operator()(T a, T b, T c) const {
    using U = std::make_unsigned_t<T>;
    return T(U(c) + (a < b ? U(b) - U(a) : U(a) - U(b)));
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return T(~a);
  }
};
struct CNot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct Shl {
  template <class T>
  T operator()(T a, uint32_t b) const {
    return b >= sizeof(T) * 8 ? T(0) : T(a << (b & (sizeof(T) * 8 - 1)));
  }
};
struct Shr {
  template <class T>
  T operator()(T a, uint32_t b) const {
    constexpr uint32_t most = sizeof(T) * 8 - 1;
    if (std::is_signed_v<T>)
      return T(a >> (b > most ? most : b));
    return b > most ? T(0) : T(a >> (b & most));
  }
};
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
struct BitFind {
  template <class T>
  uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U value = a < 0 ? U(~a) : U(a);
    return value ? uint32_t(sizeof(T) * 8 - 1) - leadingZeros(value) : ~0u;
  }
};
struct BitFindShift {
  template <class T>
  uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U value = a < 0 ? U(~a) : U(a);
    return value ? leadingZeros(value) : ~0u;
  }
};
struct Reverse {
  template <class T>
  T operator()(T a) const {
    T made = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; ++i)
      made |= T((a >> i) & 1) << (sizeof(T) * 8 - 1 - i);
    return made;
  }
};
struct LeadingZeros {
  template <class T>
  uint32_t operator()(T a) const {
    return leadingZeros(a);
  }
};
struct PopulationCount {
  template <class T>
  uint32_t operator()(T a) const {
    uint64_t value = a;
    value -= (value >> 1) & 0x5555555555555555u;
    value = (value & 0x3333333333333333u) + ((value >> 2) & 0x3333333333333333u);
    value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return uint32_t((value * 0x0101010101010101u) >> 56);
  }
};
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

template <class F, class T>
Handler one() {
  return Map<F, T, T>::handler;
}
template <class F, class T>
Handler two() {
  return Map<F, T, T, T>::handler;
}
template <class F, class T>
Handler three() {
  return Map<F, T, T, T, T>::handler;
}

#define BY_INTEGER(T, EXPRESSION)                                                                  \
  switch (type) {                                                                                  \
    CASE_OF(Type::u16, uint16_t, T, EXPRESSION)                                                    \
    CASE_OF(Type::s16, int16_t, T, EXPRESSION)                                                     \
    CASE_OF(Type::u32, uint32_t, T, EXPRESSION)                                                    \
    CASE_OF(Type::s32, int32_t, T, EXPRESSION)                                                     \
    CASE_OF(Type::u64, uint64_t, T, EXPRESSION)                                                    \
    CASE_OF(Type::s64, int64_t, T, EXPRESSION)                                                     \
  default:                                                                                         \
    return nullptr;                                                                                \
  }
#define BY_WIDE(T, EXPRESSION)                                                                     \
  switch (type) {                                                                                  \
    CASE_OF(Type::u32, uint32_t, T, EXPRESSION)                                                    \
    CASE_OF(Type::s32, int32_t, T, EXPRESSION)                                                     \
    CASE_OF(Type::u64, uint64_t, T, EXPRESSION)                                                    \
    CASE_OF(Type::s64, int64_t, T, EXPRESSION)                                                     \
  default:                                                                                         \
    return nullptr;                                                                                \
  }
#define BY_SIZE(T, EXPRESSION)                                                                     \
  switch (typeBits(type)) {                                                                        \
    CASE_OF(16, uint16_t, T, EXPRESSION)                                                           \
    CASE_OF(32, uint32_t, T, EXPRESSION)                                                           \
    CASE_OF(64, uint64_t, T, EXPRESSION)                                                           \
  default:                                                                                         \
    return nullptr;                                                                                \
  }

template <class F>
Handler packed(Type type) {
  if (type == Type::u16x2)
    return two<Both<uint16_t, F>, uint32_t>();
  return two<Both<int16_t, F>, uint32_t>();
}

} // namespace

namespace {

template <class Function>
Handler findWide(Type from) {
  switch (from) {
  case Type::u16:
    return Map<Function, uint32_t, uint16_t, uint16_t>::handler;
  case Type::s16:
    return Map<Function, int32_t, int16_t, int16_t>::handler;
  case Type::u32:
    return Map<Function, uint64_t, uint32_t, uint32_t>::handler;
  case Type::s32:
    return Map<Function, int64_t, int32_t, int32_t>::handler;
  default:
    return nullptr;
  }
}

Handler findWideSum(Type from) {
  switch (from) {
  case Type::u16:
    return Map<MadWide, uint32_t, uint16_t, uint16_t, uint32_t>::handler;
  case Type::s16:
    return Map<MadWide, int32_t, int16_t, int16_t, int32_t>::handler;
  case Type::u32:
    return Map<MadWide, uint64_t, uint32_t, uint32_t, uint64_t>::handler;
  case Type::s32:
    return Map<MadWide, int64_t, int32_t, int32_t, int64_t>::handler;
  default:
    return nullptr;
  }
}

/// Of whole words of 32 bits.
Handler findWords(const Compute &request) {
  const Type type = request.type;
  switch (request.fn) {
  case Fn::prmt:
    return three<Permute, uint32_t>();
  case Fn::funnelLeft:
    return three<FunnelLeft, uint32_t>();
  case Fn::funnelRight:
    return three<FunnelRight, uint32_t>();
  case Fn::dp4a:
    return three<DotProduct4, uint32_t>();
  case Fn::dp2a:
    return three<DotProduct2, uint32_t>();
  case Fn::szext:
    return type == Type::s32 ? two<ExtendFrom<true>, uint32_t>()
                             : two<ExtendFrom<false>, uint32_t>();
  case Fn::bmsk:
    return two<BitMask, uint32_t>();
  case Fn::mul24:
    return type == Type::s32 ? two<Mul24<true>, uint32_t>() : two<Mul24<false>, uint32_t>();
  default:
    return nullptr;
  }
}

/// Where the sign of a number does not count, or what a number is made of.
Handler findBits(const Compute &request) {
  const Type type = request.type;
  switch (request.fn) {
  case Fn::land:
    BY_SIZE(T, (two<And, T>()))
  case Fn::lor:
    BY_SIZE(T, (two<Or, T>()))
  case Fn::lxor:
    BY_SIZE(T, (two<Xor, T>()))
  case Fn::lnot:
    BY_SIZE(T, (one<Not, T>()))
  case Fn::cnot:
    BY_SIZE(T, (one<CNot, T>()))
  case Fn::shl:
    BY_SIZE(T, (Map<Shl, T, T, uint32_t>::handler))
  case Fn::shr:
    if (isSigned(type))
      BY_INTEGER(T, (Map<Shr, T, T, uint32_t>::handler))
    BY_SIZE(T, (Map<Shr, T, T, uint32_t>::handler))
  case Fn::lop3:
    return three<Lop3, uint32_t>();
  case Fn::bfe:
    BY_WIDE(T, (Map<BitFieldExtract, T, T, uint32_t, uint32_t>::handler))
  case Fn::bfi:
    BY_SIZE(T, (Map<BitFieldInsert, T, T, T, uint32_t, uint32_t>::handler))
  case Fn::bfind:
    BY_WIDE(T, (Map<BitFind, uint32_t, T>::handler))
  case Fn::bfindShift:
    BY_WIDE(T, (Map<BitFindShift, uint32_t, T>::handler))
  case Fn::brev:
    BY_SIZE(T, (one<Reverse, T>()))
  case Fn::clz:
    BY_SIZE(T, (Map<LeadingZeros, uint32_t, T>::handler))
  case Fn::popc:
    BY_SIZE(T, (Map<PopulationCount, uint32_t, T>::handler))
  case Fn::addCarry:
    BY_SIZE(T, (carryHandler<T, false>))
  case Fn::subBorrow:
    BY_SIZE(T, (carryHandler<T, true>))
  default:
    return findWords(request);
  }
}

} // namespace

Handler findInteger(const Compute &request) {
  Type type = request.type;
  bool isPacked = type == Type::u16x2 || type == Type::s16x2;
  switch (request.fn) {
  case Fn::add:
    if (isPacked)
      return packed<Add>(type);
    if (request.saturate)
      return type == Type::s32 ? two<AddSaturate, int32_t>() : nullptr;
    BY_INTEGER(T, (two<Add, T>()))
  case Fn::sub:
    if (request.saturate)
      return type == Type::s32 ? two<SubSaturate, int32_t>() : nullptr;
    BY_INTEGER(T, (two<Sub, T>()))
  case Fn::mul:
    BY_INTEGER(T, (two<Mul, T>()))
  case Fn::mulHi:
    BY_INTEGER(T, (two<MulHi, T>()))
  case Fn::mulWide:
    return findWide<MulWide>(request.from);
  case Fn::mad:
    BY_INTEGER(T, (three<Mad, T>()))
  case Fn::madHi:
    if (request.saturate)
      return type == Type::s32 ? three<MadHiSaturate, int32_t>() : nullptr;
    BY_INTEGER(T, (three<MadHi, T>()))
  case Fn::madWide:
    return findWideSum(request.from);
  case Fn::div:
    BY_INTEGER(T, (MapActive<Div, T, T, T>::handler))
  case Fn::rem:
    BY_INTEGER(T, (MapActive<Rem, T, T, T>::handler))
  case Fn::min:
    if (isPacked)
      return request.relu ? packed<MinRelu>(type) : packed<Min>(type);
    if (request.relu)
      return type == Type::s32 ? two<MinRelu, int32_t>() : nullptr;
    BY_INTEGER(T, (two<Min, T>()))
  case Fn::max:
    if (isPacked)
      return request.relu ? packed<MaxRelu>(type) : packed<Max>(type);
    if (request.relu)
      return type == Type::s32 ? two<MaxRelu, int32_t>() : nullptr;
    BY_INTEGER(T, (two<Max, T>()))
  case Fn::abs:
    BY_INTEGER(T, (one<Abs, T>()))
  case Fn::neg:
    BY_INTEGER(T, (one<Neg, T>()))
  case Fn::sad:
    BY_INTEGER(T, (three<Sad, T>()))
  default:
    return findBits(request);
  }
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
