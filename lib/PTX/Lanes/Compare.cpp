// Comparisons, predicates, selection and moves.
#include "Lanes.h"

#include <cmath>

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b || a > b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
// True as well when an operand is NaN.
struct Equ {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a < b || a > b);
  }
};
struct Neu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a == b);
  }
};
struct Ltu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a >= b);
  }
};
struct Leu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a > b);
  }
};
struct Gtu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a <= b);
  }
};
struct Geu {
  template <class T>
  bool operator()(T a, T b) const {
    return !(a < b);
  }
};
struct Num {
  template <class T>
  bool operator()(T a, T b) const {
    return a == a && b == b;
  }
};
struct Nan {
  template <class T>
  bool operator()(T a, T b) const {
    return a != a || b != b;
  }
};

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
struct Finite {
  template <class T>
  bool operator()(T a) const {
    return std::isfinite(a);
  }
};
struct Infinite {
  template <class T>
  bool operator()(T a) const {
    return std::isinf(a);
  }
};
struct Normal {
  template <class T>
  bool operator()(T a) const {
    return std::isnormal(a);
  }
};
struct Number {
  template <class T>
  bool operator()(T a) const {
    return a == a;
  }
};
struct NotNumber {
  template <class T>
  bool operator()(T a) const {
    return a != a;
  }
};
struct Subnormal {
  template <class T>
  bool operator()(T a) const {
    return std::fpclassify(a) == FP_SUBNORMAL;
  }
};

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
  bool real =
      typeKind(request.from) == TypeKind::real || typeKind(request.from) == TypeKind::packed;
  if (!real && request.compare > Compare::ge)
    return nullptr;
  switch (request.compare) {
  case Compare::eq:
    return typed<Eq>(request);
  case Compare::ne:
    return typed<Ne>(request);
  case Compare::lt:
    return typed<Lt>(request);
  case Compare::le:
    return typed<Le>(request);
  case Compare::gt:
    return typed<Gt>(request);
  case Compare::ge:
    return typed<Ge>(request);
  case Compare::equ:
    return typed<Equ>(request);
  case Compare::neu:
    return typed<Neu>(request);
  case Compare::ltu:
    return typed<Ltu>(request);
  case Compare::leu:
    return typed<Leu>(request);
  case Compare::gtu:
    return typed<Gtu>(request);
  case Compare::geu:
    return typed<Geu>(request);
  case Compare::num:
    return typed<Num>(request);
  case Compare::nan:
    return typed<Nan>(request);
  default:
    return nullptr;
  }
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

struct Same {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};
struct Pack2x16 {
  uint32_t operator()(uint16_t a, uint16_t b) const { return uint32_t(b) << 16 | a; }
};
struct Pack2x32 {
  uint64_t operator()(uint32_t a, uint32_t b) const { return uint64_t(b) << 32 | a; }
};
struct Pack4x16 {
  uint64_t operator()(uint16_t a, uint16_t b, uint16_t c, uint16_t d) const {
    return uint64_t(Pack2x16()(c, d)) << 32 | Pack2x16()(a, b);
  }
};
/// One element of a word; the constant says how far to shift.
template <class T>
struct Extract : TakesOp {
  template <class S>
  T operator()(const Op &op, S a) const {
    return T(a >> op.constant);
  }
};

Handler move(Type type) {
  switch (typeBits(type)) {
  case 16:
    return Map<Same, uint16_t, uint16_t>::handler;
  case 32:
    return Map<Same, uint32_t, uint32_t>::handler;
  case 64:
    return Map<Same, uint64_t, uint64_t>::handler;
  default:
    return nullptr;
  }
}

} // namespace

Handler findCompare(const Compute &request) {
  switch (request.fn) {
  case Fn::setp:
    return compare(request);
  case Fn::testp:
    return request.from == Type::f32   ? test<float>(request.compare)
           : request.from == Type::f64 ? test<double>(request.compare)
                                       : nullptr;
  case Fn::set:
    if (request.from == Type::f16x2 || request.from == Type::bf16x2)
      return chooseConstantPair;
    return typeBits(request.type) == 16 ? chooseConstant<uint16_t> : chooseConstant<uint32_t>;
  case Fn::select:
    switch (typeBits(request.type)) {
    case 16:
      return select<uint16_t>;
    case 32:
      return select<uint32_t>;
    case 64:
      return select<uint64_t>;
    default:
      return nullptr;
    }
  case Fn::slct:
    if (request.from == Type::s32) {
      switch (typeBits(request.type)) {
      case 16:
        return Map<Slct<int32_t>, uint16_t, uint16_t, uint16_t, int32_t>::handler;
      case 32:
        return Map<Slct<int32_t>, uint32_t, uint32_t, uint32_t, int32_t>::handler;
      case 64:
        return Map<Slct<int32_t>, uint64_t, uint64_t, uint64_t, int32_t>::handler;
      }
    } else if (request.from == Type::f32) {
      switch (typeBits(request.type)) {
      case 16:
        return Map<Slct<float>, uint16_t, uint16_t, uint16_t, float>::handler;
      case 32:
        return Map<Slct<float>, uint32_t, uint32_t, uint32_t, float>::handler;
      case 64:
        return Map<Slct<float>, uint64_t, uint64_t, uint64_t, float>::handler;
      }
    }
    return nullptr;
  case Fn::predicate:
    return predicateLogic;
  case Fn::selectPredicate:
    return selectPredicate;
  case Fn::move:
    return move(request.type);
  case Fn::pack:
    if (typeBits(request.type) == 32 && typeBits(request.from) == 16)
      return Map<Pack2x16, uint32_t, uint16_t, uint16_t>::handler;
    if (typeBits(request.type) == 64 && typeBits(request.from) == 32)
      return Map<Pack2x32, uint64_t, uint32_t, uint32_t>::handler;
    if (typeBits(request.type) == 64 && typeBits(request.from) == 16)
      return Map<Pack4x16, uint64_t, uint16_t, uint16_t, uint16_t, uint16_t>::handler;
    return nullptr;
  case Fn::unpack:
    if (typeBits(request.from) == 32)
      return typeBits(request.type) == 16 ? Map<Extract<uint16_t>, uint16_t, uint32_t>::handler
                                          : nullptr;
    if (typeBits(request.from) == 64)
      return typeBits(request.type) == 32   ? Map<Extract<uint32_t>, uint32_t, uint64_t>::handler
             : typeBits(request.type) == 16 ? Map<Extract<uint16_t>, uint16_t, uint64_t>::handler
                                            : nullptr;
    return nullptr;
  default:
    return nullptr;
  }
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
