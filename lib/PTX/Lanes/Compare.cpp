// Comparisons, predicates, selection and moves.
#include "Lanes.h"

#include <cmath>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

struct Eq : decltype([](auto a, auto b) { return a == b; }) {};
struct Ne : decltype([](auto a, auto b) { return a < b || a > b; }) {};
struct Lt : decltype([](auto a, auto b) { return a < b; }) {};
struct Le : decltype([](auto a, auto b) { return a <= b; }) {};
struct Gt : decltype([](auto a, auto b) { return a > b; }) {};
struct Ge : decltype([](auto a, auto b) { return a >= b; }) {};
// True as well when an operand is NaN.
struct Equ : decltype([](auto a, auto b) { return !(a < b || a > b); }) {};
struct Neu : decltype([](auto a, auto b) { return !(a == b); }) {};
struct Ltu : decltype([](auto a, auto b) { return !(a >= b); }) {};
struct Leu : decltype([](auto a, auto b) { return !(a > b); }) {};
struct Gtu : decltype([](auto a, auto b) { return !(a <= b); }) {};
struct Geu : decltype([](auto a, auto b) { return !(a < b); }) {};
struct Num : decltype([](auto a, auto b) { return a == a && b == b; }) {};
struct Nan : decltype([](auto a, auto b) { return a != a || b != b; }) {};

/// F of f16 or bf16, given as bits; of the upper half of a pair.
template <class F, bool isBF16, bool upper>
struct OfHalf {
  template <class T>
  bool operator()(T a, T b) const {
    uint16_t x = uint16_t(upper ? uint32_t(a) >> 16 : a),
             y = uint16_t(upper ? uint32_t(b) >> 16 : b);
    return isBF16 ? F()(bfloatToFloat(x), bfloatToFloat(y)) : F()(halfToFloat(x), halfToFloat(y));
  }
};
template <class F>
struct Flushed {
  static float flush(float value) {
    uint32_t bits = bitsOf(value);
    return floatOfBits(bits & 0x7f800000u ? bits : bits & 0x80000000u);
  }
  bool operator()(float a, float b) const { return F()(flush(a), flush(b)); }
};

// testp
struct Finite : decltype([](auto a) { return std::isfinite(a); }) {};
struct Infinite : decltype([](auto a) { return std::isinf(a); }) {};
struct Normal : decltype([](auto a) { return std::isnormal(a); }) {};
struct Number : decltype([](auto a) { return a == a; }) {};
struct NotNumber : decltype([](auto a) { return a != a; }) {};
struct Subnormal : decltype([](auto a) { return std::fpclassify(a) == FP_SUBNORMAL; }) {};

/// What .and, .or and .xor do with the comparison and src[2]; the low bits of the constant say
/// which (0 none), 8 that src[2] is negated. dst2 gets the same of the opposite.
[[gnu::always_inline]] inline void store(char *registers, uint32_t mask, const Op &op, uint32_t is,
                                         uint32_t isNot) {
  if (op.constant) {
    uint32_t other = predicate(registers, op.src[2]);
    if (op.constant & 8)
      other = ~other;
    auto combine = [&](uint32_t bits) {
      return (op.constant & 3) == 1   ? bits & other
             : (op.constant & 3) == 2 ? bits | other
                                      : bits ^ other;
    };
    is = combine(is);
    isNot = combine(isNot);
  }
  if (op.dst != noSlot)
    writePredicate(registers, mask, op.dst, is);
  if (op.dst2 != noSlot)
    writePredicate(registers, mask, op.dst2, isNot);
}

template <class F, class T>
void setPredicate(char *registers, uint32_t mask, const Op &op) {
  uint32_t bits = Test<F, T, T>::bits(registers, op);
  store(registers, mask, op, bits, ~bits);
}
template <class F, bool isBF16>
void setPredicatePair(char *registers, uint32_t mask, const Op &op) {
  store(registers, mask, op,
        Test<OfHalf<F, isBF16, false>, uint32_t, uint32_t>::bits(registers, op),
        Test<OfHalf<F, isBF16, true>, uint32_t, uint32_t>::bits(registers, op));
}
template <class F, class T>
void testPredicate(char *registers, uint32_t mask, const Op &op) {
  writePredicate(registers, mask, op.dst, Test<F, T>::bits(registers, op));
}

template <class F>
Handler typed(const Compute &request) {
  switch (request.from) {
  case Type::b16:
  case Type::u16:
    return setPredicate<F, uint16_t>;
  case Type::s16:
    return setPredicate<F, int16_t>;
  case Type::b32:
  case Type::u32:
    return setPredicate<F, uint32_t>;
  case Type::s32:
    return setPredicate<F, int32_t>;
  case Type::b64:
  case Type::u64:
    return setPredicate<F, uint64_t>;
  case Type::s64:
    return setPredicate<F, int64_t>;
  case Type::f32:
    return request.flush ? setPredicate<Flushed<F>, float> : setPredicate<F, float>;
  case Type::f64:
    return setPredicate<F, double>;
  case Type::f16:
    return setPredicate<OfHalf<F, false, false>, uint16_t>;
  case Type::bf16:
    return setPredicate<OfHalf<F, true, false>, uint16_t>;
  case Type::f16x2:
    return setPredicatePair<F, false>;
  case Type::bf16x2:
    return setPredicatePair<F, true>;
  default:
    return nullptr;
  }
}

Handler compare(const Compute &request) {
  // In the order of Compare; from equ on they are of real numbers.
  constexpr Handler (*comparisons[])(const Compute &) = {
      typed<Eq>,  typed<Ne>,  typed<Lt>,  typed<Le>,  typed<Gt>,  typed<Ge>,  typed<Equ>,
      typed<Neu>, typed<Ltu>, typed<Leu>, typed<Gtu>, typed<Geu>, typed<Num>, typed<Nan>};
  TypeKind kind = typeKind(request.from);
  bool real = kind == TypeKind::real || kind == TypeKind::packed;
  return request.compare <= (real ? Compare::nan : Compare::ge)
             ? comparisons[size_t(request.compare)](request)
             : nullptr;
}

template <class T>
Handler test(Compare compare) {
  switch (compare) {
  case Compare::finite:
    return testPredicate<Finite, T>;
  case Compare::infinite:
    return testPredicate<Infinite, T>;
  case Compare::normal:
    return testPredicate<Normal, T>;
  case Compare::subnormal:
    return testPredicate<Subnormal, T>;
  case Compare::num:
    return testPredicate<Number, T>;
  case Compare::nan:
    return testPredicate<NotNumber, T>;
  default:
    return nullptr;
  }
}

/// From predicates to values: the constant where src[0] is true, else 0; dst2 unused.
template <class T>
void chooseConstant(char *registers, uint32_t mask, const Op &op) {
  uint32_t bits = predicate(registers, op.src[0]);
  T value = T(op.constant);
  writeLanes<T>(registers, mask, op.dst,
                [&](unsigned lane) { return bits >> lane & 1 ? value : T(0); });
}
/// Halves of a pair by two predicates, src[0] and src[1].
void chooseConstantPair(char *registers, uint32_t mask, const Op &op) {
  uint32_t low = predicate(registers, op.src[0]), high = predicate(registers, op.src[1]);
  uint32_t value = uint32_t(op.constant);
  writeLanes<uint32_t>(registers, mask, op.dst, [&](unsigned lane) {
    return (low >> lane & 1 ? value & 0xffffu : 0u) | (high >> lane & 1 ? value & 0xffff0000u : 0u);
  });
}

template <class T>
void select(char *registers, uint32_t mask, const Op &op) {
  const T *a = source<T>(registers, op.src[0]), *b = source<T>(registers, op.src[1]);
  uint32_t bits = predicate(registers, op.src[2]) ^ uint32_t(op.constant);
  writeLanes<T>(registers, mask, op.dst,
                [&](unsigned lane) { return bits >> lane & 1 ? a[lane] : b[lane]; });
}
template <class C>
struct Slct {
  template <class T>
  T operator()(T a, T b, C c) const {
    return c >= 0 ? a : b;
  }
};

/// The constant is a table: bit 4a + 2b + c is the value.
void predicateLogic(char *registers, uint32_t mask, const Op &op) {
  auto read = [&](unsigned i) { return op.src[i] == noSlot ? 0 : predicate(registers, op.src[i]); };
  uint32_t a = read(0), b = read(1), c = read(2), made = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (op.constant >> i & 1)
      made |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  writePredicate(registers, mask, op.dst, made);
}
void selectPredicate(char *registers, uint32_t mask, const Op &op) {
  uint32_t a = predicate(registers, op.src[0]), b = predicate(registers, op.src[1]);
  uint32_t c = predicate(registers, op.src[2]);
  writePredicate(registers, mask, op.dst, (a & c) | (b & ~c));
}

struct Same : decltype([](auto a) { return a; }) {};
struct Pack2x16 : decltype([](uint16_t a, uint16_t b) { return uint32_t(b) << 16 | a; }) {};
struct Pack2x32 : decltype([](uint32_t a, uint32_t b) { return uint64_t(b) << 32 | a; }) {};
struct Pack4x16 : decltype([](uint16_t a, uint16_t b, uint16_t c, uint16_t d) {
  return uint64_t(Pack2x16()(c, d)) << 32 | Pack2x16()(a, b);
}) {};
/// One element of a word; the constant says how far to shift.
struct Extract : TakesOp {
  template <class S>
  S operator()(const Op &op, S a) const {
    return S(a >> op.constant);
  }
};

Handler testNumber(const Compute &request) {
  return request.from == Type::f32   ? test<float>(request.compare)
         : request.from == Type::f64 ? test<double>(request.compare)
                                     : nullptr;
}

Handler set(const Compute &request) {
  if (request.from == Type::f16x2 || request.from == Type::bf16x2)
    return chooseConstantPair;
  return typeBits(request.type) == 16 ? chooseConstant<uint16_t> : chooseConstant<uint32_t>;
}

Handler chooseByPredicate(const Compute &request) {
  return bySize(request.type, []<class T>(T) -> Handler { return select<T>; });
}

Handler chooseBySign(const Compute &request) {
  return request.from == Type::s32   ? bits<Slct<int32_t>, Own, Own, Own, int32_t>(request)
         : request.from == Type::f32 ? bits<Slct<float>, Own, Own, Own, float>(request)
                                     : nullptr;
}

Handler pack(const Compute &request) {
  unsigned whole = typeBits(request.type), part = typeBits(request.from);
  return whole == 32 && part == 16   ? Map<Pack2x16, uint32_t, uint16_t, uint16_t>::handler
         : whole == 64 && part == 32 ? Map<Pack2x32, uint64_t, uint32_t, uint32_t>::handler
         : whole == 64 && part == 16
             ? Map<Pack4x16, uint64_t, uint16_t, uint16_t, uint16_t, uint16_t>::handler
             : nullptr;
}

Handler unpack(const Compute &request) {
  unsigned whole = typeBits(request.from), part = typeBits(request.type);
  return whole == 32 && part == 16   ? Map<Extract, uint16_t, uint32_t>::handler
         : whole == 64 && part == 32 ? Map<Extract, uint32_t, uint64_t>::handler
         : whole == 64 && part == 16 ? Map<Extract, uint16_t, uint64_t>::handler
                                     : nullptr;
}

constexpr Entry entries[] = {
    {Fn::setp, compare},
    {Fn::testp, testNumber},
    {Fn::set, set},
    {Fn::select, chooseByPredicate},
    {Fn::slct, chooseBySign},
    {Fn::predicate, always<predicateLogic>},
    {Fn::selectPredicate, always<selectPredicate>},
    {Fn::move, bits<Same, Own, Own>},
    {Fn::pack, pack},
    {Fn::unpack, unpack},
};

} // namespace

Handler findCompare(const Compute &request) { return findIn(entries, request); }

} // namespace gantry::ptx::GANTRY_PTX_LANES
