// Opcodes that compute: arithmetic, logic, comparisons, moves, conversions.
#include "Decoder.h"
#include "Formats.h"

#include "gantry/Support/Names.h"

using namespace gantry;
using namespace gantry::ptx;

namespace {

OpClass classOf(Type type) {
  switch (type) {
  case Type::f32:
  case Type::f64:
  case Type::f32x2:
    return OpClass::real;
  case Type::f16:
  case Type::bf16:
  case Type::f16x2:
  case Type::bf16x2:
    return OpClass::half;
  default:
    return OpClass::integer;
  }
}

/// As handlers that round otherwise than to the nearest read them.
uint64_t modifiersOf(const Compute &request) {
  return request.round | (request.flush ? 4 : 0) | (request.saturate ? 8 : 0);
}

struct SimpleEntry {
  std::string_view name;
  Fn fn;
  unsigned sources;
};
/// Opcodes of the form `op{.modifiers}.type d, a…` with sources of the same type.
constexpr SimpleEntry simple[] = {
    {"add", Fn::add, 2},           {"sub", Fn::sub, 2},   {"div", Fn::div, 2},
    {"rem", Fn::rem, 2},           {"min", Fn::min, 2},   {"max", Fn::max, 2},
    {"abs", Fn::abs, 1},           {"neg", Fn::neg, 1},   {"sad", Fn::sad, 3},
    {"fma", Fn::fma, 3},           {"sqrt", Fn::sqrt, 1}, {"rcp", Fn::rcp, 1},
    {"rsqrt", Fn::rsqrt, 1},       {"sin", Fn::sin, 1},   {"cos", Fn::cos, 1},
    {"ex2", Fn::ex2, 1},           {"lg2", Fn::lg2, 1},   {"tanh", Fn::tanh, 1},
    {"copysign", Fn::copysign, 2},
};

} // namespace

/// .rn, .rz, .rm, .rp; .approx and .full are computed as .rn.
bool Decoder::takeRounding(Compute &request) {
  bool rounded = true;
  if (opcode.take("rz"))
    request.round = uint8_t(Round::zero);
  else if (opcode.take("rm"))
    request.round = uint8_t(Round::down);
  else if (opcode.take("rp"))
    request.round = uint8_t(Round::up);
  else
    rounded = opcode.take("rn");
  opcode.take("approx");
  opcode.take("full");
  request.flush = opcode.take("ftz");
  request.saturate = opcode.take("sat");
  return rounded;
}

void Decoder::decodeSimple() {
  if ((opcode.name == "add" || opcode.name == "sub") &&
      current->opcode.find(".cc") != std::string_view::npos)
    return decodeCarry();
  const SimpleEntry *entry = nullptr;
  for (const SimpleEntry &each : simple)
    if (each.name == opcode.name)
      entry = &each;
  Compute request{.fn = entry->fn};
  takeRounding(request);
  request.nanWins = opcode.take("NaN");
  request.xorSign = opcode.take("xorsign");
  if (request.xorSign)
    opcode.take("abs");
  request.relu = opcode.take("relu");
  request.type = opcode.takeType();
  // add.f32.f16 and its like: the first operands are of the second type.
  Type narrow = opcode.takeType();
  if (narrow != Type::none &&
      (request.type != Type::f32 || (narrow != Type::f16 && narrow != Type::bf16) ||
       (request.fn != Fn::add && request.fn != Fn::sub && request.fn != Fn::fma)))
    return failOpcode();
  if (request.type == Type::b16 || request.type == Type::b32 || request.type == Type::b64)
    return failOpcode();
  // min and max of three f32 are two of two.
  bool three = (request.fn == Fn::min || request.fn == Fn::max) && request.type == Type::f32;
  if (!expectOperands(entry->sources + 1, entry->sources + (three ? 2 : 1)))
    return;
  uint32_t sources[3] = {noSlot, noSlot, noSlot};
  for (unsigned i = 0; i < entry->sources; ++i)
    sources[i] = use(i + 1, narrow != Type::none && i + 1 < entry->sources ? narrow : request.type);
  uint32_t third = operands() > entry->sources + 1 ? use(3, request.type) : noSlot;
  uint32_t to = define(0, request.type);
  if (third != noSlot) {
    uint32_t first = allocate(4).offset;
    emitCompute(request, classOf(request.type), first, {sources[0], sources[1]});
    sources[0] = first;
    sources[1] = third;
  }
  for (unsigned i = 0; narrow != Type::none && i + 1 < entry->sources && !failed(); ++i) {
    uint32_t widened = allocate(4).offset;
    emitCompute({.fn = Fn::convert, .type = Type::f32, .from = narrow}, OpClass::conversion,
                widened, {sources[i]});
    sources[i] = widened;
  }
  emitCompute(request, classOf(request.type), to, {sources[0], sources[1], sources[2]},
              modifiersOf(request));
}

/// mul, mad, mul24, madc: .lo, .hi or .wide for integers.
void Decoder::decodeMultiply() {
  bool carryOut = opcode.take("cc"), carryIn = opcode.name == "madc";
  bool add = opcode.name == "mad" || carryIn;
  Compute request;
  takeRounding(request);
  auto part = opcode.takeOneOf({"lo", "hi", "wide"});
  Type type = request.type = opcode.takeType();
  bool wide = part && *part == 2, high = part && *part == 1;
  if (!expectOperands(add ? 4 : 3, add ? 4 : 3))
    return;
  if (wide) {
    request.from = type;
    request.type = type == Type::u16   ? Type::u32
                   : type == Type::s16 ? Type::s32
                   : type == Type::u32 ? Type::u64
                                       : Type::s64;
  }
  uint32_t a = use(1, type), b = use(2, type);
  uint32_t c = add ? use(3, request.type) : noSlot;
  uint32_t to = define(0, request.type);
  if (opcode.name == "mul24") {
    request.fn = Fn::mul24;
    emitCompute(request, OpClass::integer, to, {a, b}, high);
    return;
  }
  if (carryIn || carryOut) { // a product, then an addition with carry
    uint32_t product = allocate(typeBytes(type)).offset;
    request.fn = high ? Fn::mulHi : Fn::mul;
    emitCompute(request, OpClass::integer, product, {a, b});
    return emitCarry(Fn::addCarry, type, to, {product, c}, carryIn, carryOut);
  }
  if (add)
    request.fn = wide ? Fn::madWide : high ? Fn::madHi : Fn::mad;
  else
    request.fn = wide ? Fn::mulWide : high ? Fn::mulHi : Fn::mul;
  emitCompute(request, classOf(request.type), to, {a, b, c}, modifiersOf(request));
}

/// add.cc, addc, sub.cc, subc
void Decoder::decodeCarry() {
  bool subtract = opcode.name.substr(0, 3) == "sub", in = opcode.name.size() == 4;
  bool out = opcode.take("cc");
  Type type = opcode.takeType();
  if (!expectOperands(3, 3))
    return;
  uint32_t a = use(1, type), b = use(2, type), to = define(0, type);
  emitCarry(subtract ? Fn::subBorrow : Fn::addCarry, type, to, {a, b}, in, out);
}

/// `in`: with the carry of the op before; `out`: the carry is kept for the next.
void Decoder::emitCarry(Fn fn, Type type, uint32_t dst, std::pair<uint32_t, uint32_t> sources,
                        bool in, bool out) {
  if (carrySlot == noSlot)
    carrySlot = allocate(0).offset;
  Op &op = emitCompute({.fn = fn, .type = type}, OpClass::integer, dst,
                       {sources.first, sources.second, in ? carrySlot : noSlot});
  op.dst2 = out ? carrySlot : noSlot;
}

/// and, or, xor, not, cnot, also of predicates.
void Decoder::decodeLogic() {
  bool unary = opcode.name == "not" || opcode.name == "cnot";
  Type type = opcode.takeType();
  if (!expectOperands(unary ? 2 : 3, unary ? 2 : 3))
    return;
  if (type == Type::pred) {
    uint32_t a = usePredicate(operand(1)), b = unary ? noSlot : usePredicate(operand(2));
    uint32_t to = usePredicate(operand(0));
    // Bit 4a + 2b + c of the table.
    uint64_t table = unary ? 0x0f : opcode.name == "and" ? 0xc0 : opcode.name == "or" ? 0xfc : 0x3c;
    emitCompute({.fn = Fn::predicate}, OpClass::integer, to, {a, b}, table);
    return;
  }
  Fn fn = opcode.name == "and"   ? Fn::land
          : opcode.name == "or"  ? Fn::lor
          : opcode.name == "xor" ? Fn::lxor
          : opcode.name == "not" ? Fn::lnot
                                 : Fn::cnot;
  uint32_t a = use(1, type), b = unary ? noSlot : use(2, type), to = define(0, type);
  emitCompute({.fn = fn, .type = type}, OpClass::integer, to, {a, b});
}

void Decoder::decodeShift() {
  Type type = opcode.takeType();
  if (!expectOperands(3, 3))
    return;
  uint32_t a = use(1, type), b = use(2, Type::u32), to = define(0, type);
  Fn fn = opcode.name == "shl" ? Fn::shl : Fn::shr;
  emitCompute({.fn = fn, .type = type}, OpClass::integer, to, {a, b});
}

namespace {

std::optional<Compare> takeCompare(Opcode &opcode) {
  auto index = opcode.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu",
                                 "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs"});
  if (!index)
    return std::nullopt;
  constexpr Compare unsignedOnes[] = {Compare::lt, Compare::le, Compare::gt, Compare::ge};
  return *index >= 14 ? unsignedOnes[*index - 14] : Compare(*index);
}

} // namespace

void Decoder::decodeSetp() {
  auto compare = takeCompare(opcode);
  auto combine = opcode.takeOneOf({"and", "or", "xor"});
  bool flush = opcode.take("ftz");
  Type type = opcode.takeType();
  if (!compare)
    return failOpcode();
  if (!expectOperands(combine ? 4 : 3, combine ? 4 : 3))
    return;
  uint32_t a = use(1, type), b = use(2, type), c = combine ? usePredicate(operand(3)) : noSlot;
  uint32_t to = definePredicate(operand(0));
  uint32_t second =
      current->second.kind == Operand::Kind::none ? noSlot : definePredicate(current->second);
  Compute request{.fn = Fn::setp, .from = type, .compare = *compare, .flush = flush};
  uint64_t combination = combine ? (*combine + 1) | (operand(3).negated ? 8 : 0) : 0;
  emitCompute(request, classOf(type), to, {a, b, c}, combination).dst2 = second;
}

/// set: a comparison to predicates, then a choice of constants.
void Decoder::decodeSet() {
  auto compare = takeCompare(opcode);
  auto combine = opcode.takeOneOf({"and", "or", "xor"});
  bool flush = opcode.take("ftz");
  Type to = opcode.takeType(), from = opcode.takeType();
  if (!compare || from == Type::none)
    return failOpcode();
  if (!expectOperands(combine ? 4 : 3, combine ? 4 : 3))
    return;
  bool pair = from == Type::f16x2 || from == Type::bf16x2;
  uint32_t a = use(1, from), b = use(2, from), c = combine ? usePredicate(operand(3)) : noSlot;
  uint32_t low = allocate(0).offset, high = pair ? allocate(0).offset : noSlot, dst = define(0, to);
  Compute test{.fn = Fn::setp, .from = from, .compare = *compare, .flush = flush};
  uint64_t combination = combine ? (*combine + 1) | (operand(3).negated ? 8 : 0) : 0;
  emitCompute(test, classOf(from), low, {a, b, c}, combination).dst2 = high;
  uint64_t one = to == Type::f32      ? 0x3f800000
                 : to == Type::f16x2  ? 0x3c003c00
                 : to == Type::bf16x2 ? 0x3f803f80
                 : to == Type::f16    ? 0x3c00
                 : to == Type::bf16   ? 0x3f80
                                      : 0xffffffff;
  emitCompute({.fn = Fn::set, .type = to, .from = pair ? from : Type::none}, OpClass::move, dst,
              {low, high}, one);
}

void Decoder::decodeTestp() {
  auto which =
      opcode.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = opcode.takeType();
  if (!which)
    return failOpcode();
  if (!expectOperands(2, 2))
    return;
  constexpr Compare compares[] = {Compare::finite, Compare::infinite, Compare::num,
                                  Compare::nan,    Compare::normal,   Compare::subnormal};
  uint32_t a = use(1, type), to = usePredicate(operand(0));
  emitCompute({.fn = Fn::testp, .from = type, .compare = compares[*which]}, OpClass::real, to, {a});
}

void Decoder::decodeSelp() {
  Type type = opcode.takeType();
  if (!expectOperands(4, 4))
    return;
  uint32_t a = use(1, type), b = use(2, type), c = usePredicate(operand(3)), to = define(0, type);
  Fn fn = type == Type::pred ? Fn::selectPredicate : Fn::select;
  emitCompute({.fn = fn, .type = type}, OpClass::move, to, {a, b, c},
              operand(3).negated ? allLanes : 0);
}

void Decoder::decodeSlct() {
  opcode.take(
      "ftz"); // a subnormal number is not negative either way, but for -0 the sign counts as +0
  Type type = opcode.takeType(), by = opcode.takeType();
  if (!expectOperands(4, 4))
    return;
  uint32_t a = use(1, type), b = use(2, type), c = use(3, by), to = define(0, type);
  emitCompute({.fn = Fn::slct, .type = type, .from = by}, OpClass::move, to, {a, b, c});
}

static Type partOf(Type type, size_t count) {
  unsigned bits = count ? typeBits(type) / unsigned(count) : 0;
  return bits == 16 ? Type::b16 : bits == 32 ? Type::b32 : bits == 64 ? Type::b64 : Type::none;
}

/// mov: a copy, an address, or the parts of a word.
void Decoder::decodeMove() {
  Type type = opcode.takeType();
  if (!expectOperands(2, 2))
    return;
  const Operand &from = operand(1);
  if (from.kind == Operand::Kind::vector)
    return pack(type);
  if (operand(0).kind == Operand::Kind::vector)
    return unpack(type);
  bool isConstant = from.kind == Operand::Kind::integer;
  if (type == Type::pred) {
    uint32_t source = isConstant ? noSlot : usePredicate(from), to = usePredicate(operand(0));
    uint64_t table = isConstant ? (from.value ? 0xff : 0) : from.negated ? 0x0f : 0xf0;
    emitCompute({.fn = Fn::predicate}, OpClass::move, to, {source}, table);
    return;
  }
  uint32_t source = use(1, type);
  isConstant |= from.kind == Operand::Kind::real || from.kind == Operand::Kind::symbol ||
                (from.kind == Operand::Kind::special && from.text.substr(0, 6) != "%clock" &&
                 from.text.substr(0, 7) != "%global");
  if (isConstant && !failed() &&
      becomes(operand(0), {source, uint8_t(std::max(2u, typeBytes(type)))})) {
    emit(OpKind::nop, OpClass::move);
    return;
  }
  uint32_t to = define(0, type);
  emitCompute({.fn = Fn::move, .type = type}, OpClass::move, to, {source});
}

/// mov: a word of parts.
void Decoder::pack(Type type) {
  const auto &elements = operand(1).elements;
  Type element = partOf(type, elements.size());
  if (element == Type::none || elements.size() > 4)
    return failOpcode();
  uint32_t sources[4] = {noSlot, noSlot, noSlot, noSlot};
  for (size_t i = 0; i < elements.size(); ++i)
    sources[i] = use(elements[i], element);
  uint32_t to = define(0, type);
  emitCompute({.fn = Fn::pack, .type = type, .from = element}, OpClass::move, to,
              {sources[0], sources[1], sources[2], sources[3]});
}

/// mov: the parts of a word.
void Decoder::unpack(Type type) {
  const auto &elements = operand(0).elements;
  Type element = partOf(type, elements.size());
  if (element == Type::none)
    return failOpcode();
  uint32_t from = use(1, type);
  for (size_t i = 0; i < elements.size() && !failed(); ++i) {
    if (elements[i].kind == Operand::Kind::sink)
      continue;
    uint32_t to = defineOperand(elements[i], element);
    emitCompute({.fn = Fn::unpack, .type = element, .from = type}, OpClass::move, to, {from},
                i * typeBits(element));
  }
}

void Decoder::decodeConvert() {
  if (opcode.take("pack"))
    return failOpcode();
  Compute request{.fn = Fn::convert};
  constexpr Round modes[] = {Round::nearestEven, Round::zero, Round::down, Round::up};
  auto whole = opcode.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  auto round = opcode.takeOneOf({"rn", "rz", "rm", "rp"});
  Round mode = whole ? modes[*whole] : round ? modes[*round] : Round::nearestEven;
  if (opcode.take("rna"))
    mode = Round::nearestAway;
  request.flush = opcode.take("ftz");
  bool finite = opcode.take("satfinite");
  request.saturate = opcode.take("sat") || finite;
  request.relu = opcode.take("relu");
  Type to = opcode.takeType(), from = opcode.takeType();
  if (to == Type::none || from == Type::none)
    return failOpcode();
  bool fromReal = typeKind(from) == TypeKind::real, toReal = typeKind(to) == TypeKind::real;
  request.type = to;
  request.from = from;
  request.round = uint8_t(mode);
  request.toInteger = whole && fromReal && toReal;
  bool pair = typeKind(to) == TypeKind::packed && typeKind(from) != TypeKind::packed;
  if (!expectOperands(pair ? 3 : 2, pair ? 3 : 2))
    return;
  uint32_t a = truncated(operand(1), from), b = pair ? truncated(operand(2), from) : noSlot;
  if (failed())
    return;
  // The register of the result may be wider than the type: extended by the type's sign.
  unsigned bytes = std::max(2u, typeBytes(to));
  Slot target{noSlot, uint8_t(bytes)};
  if (operand(0).kind == Operand::Kind::reg)
    target = registerSlot(operand(0).index);
  bool widen = target.bytes > bytes;
  uint32_t dst = widen ? allocate(bytes).offset : define(0, to);
  emitCompute(request, OpClass::conversion, dst, {a, b},
              uint64_t(to) | uint64_t(from) << 8 | uint64_t(mode) << 16 |
                  uint64_t(request.saturate) << 20 | uint64_t(finite) << 21 |
                  uint64_t(request.relu) << 22 | uint64_t(request.flush) << 23 |
                  uint64_t(request.toInteger) << 24);
  if (!widen || failed())
    return;
  Type narrow = isSigned(to) ? (bytes == 2 ? Type::s16 : Type::s32)
                : bytes == 2 ? Type::u16
                             : Type::u32;
  Type extended = target.bytes == 4 ? Type::s32 : Type::s64;
  emitCompute({.fn = Fn::convert, .type = extended, .from = narrow}, OpClass::conversion,
              target.offset, {dst});
}

/// bfe, bfi, bfind, brev, clz, popc, szext, bmsk
void Decoder::decodeBits() {
  bool shift = opcode.take("shiftamt");
  bool clamp = opcode.take("clamp");
  opcode.take("wrap");
  Type type = opcode.takeType();
  std::string_view name = opcode.name;
  auto emitFrom = [&](Fn fn, Type result, std::initializer_list<Type> types) {
    if (!expectOperands(types.size() + 1, types.size() + 1))
      return;
    uint32_t sources[4] = {noSlot, noSlot, noSlot, noSlot};
    for (size_t i = 0; i < types.size(); ++i)
      sources[i] = use(i + 1, types.begin()[i]);
    uint32_t to = define(0, result);
    emitCompute({.fn = fn, .type = type}, OpClass::integer, to,
                {sources[0], sources[1], sources[2], sources[3]}, clamp);
  };
  if (name == "bfe")
    emitFrom(Fn::bfe, type, {type, Type::u32, Type::u32});
  else if (name == "bfi")
    emitFrom(Fn::bfi, type, {type, type, Type::u32, Type::u32});
  else if (name == "bfind")
    emitFrom(shift ? Fn::bfindShift : Fn::bfind, Type::u32, {type});
  else if (name == "brev")
    emitFrom(Fn::brev, type, {type});
  else if (name == "clz")
    emitFrom(Fn::clz, Type::u32, {type});
  else if (name == "popc")
    emitFrom(Fn::popc, Type::u32, {type});
  else if (name == "szext")
    emitFrom(Fn::szext, type, {type, Type::u32});
  else
    emitFrom(Fn::bmsk, Type::b32, {Type::u32, Type::u32});
}

void Decoder::decodePermute() {
  opcode.take("b32");
  auto mode = opcode.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (!expectOperands(4, 4))
    return;
  uint32_t a = use(1, Type::b32), b = use(2, Type::b32), c = use(3, Type::b32),
           to = define(0, Type::b32);
  emitCompute({.fn = Fn::prmt, .type = Type::b32}, OpClass::integer, to, {a, b, c},
              mode ? *mode + 1 : 0);
}

void Decoder::decodeLop3() {
  opcode.take("b32");
  if (!expectOperands(5, 5))
    return;
  uint32_t a = use(1, Type::b32), b = use(2, Type::b32), c = use(3, Type::b32),
           to = define(0, Type::b32);
  auto table = integerOperand(4);
  if (failed())
    return;
  emitCompute({.fn = Fn::lop3, .type = Type::b32}, OpClass::integer, to, {a, b, c},
              uint64_t(*table) & 0xff);
}

void Decoder::decodeFunnel() {
  bool left = opcode.take("l");
  if (!left)
    opcode.take("r");
  bool clamp = opcode.take("clamp");
  opcode.take("wrap");
  opcode.take("b32");
  if (!expectOperands(4, 4))
    return;
  uint32_t a = use(1, Type::b32), b = use(2, Type::b32), c = use(3, Type::u32),
           to = define(0, Type::b32);
  Fn fn = left ? Fn::funnelLeft : Fn::funnelRight;
  emitCompute({.fn = fn, .type = Type::b32}, OpClass::integer, to, {a, b, c}, clamp);
}

void Decoder::decodeDot() {
  bool high = opcode.take("hi");
  opcode.take("lo");
  Type a = opcode.takeType(), b = opcode.takeType();
  if (!expectOperands(4, 4))
    return;
  uint32_t x = use(1, Type::b32), y = use(2, Type::b32), z = use(3, Type::b32),
           to = define(0, Type::b32);
  Fn fn = opcode.name == "dp4a" ? Fn::dp4a : Fn::dp2a;
  emitCompute({.fn = fn, .type = Type::u32}, OpClass::integer, to, {x, y, z},
              (isSigned(a) ? 1 : 0) | (isSigned(b) ? 2 : 0) | (high ? 4 : 0));
}

std::span<const OpcodeEntry> gantry::ptx::arithmeticOpcodes() {
  using D = Decoder;
  static constexpr OpcodeEntry entries[] = {
      {"add", &D::decodeSimple},      {"sub", &D::decodeSimple},     {"div", &D::decodeSimple},
      {"rem", &D::decodeSimple},      {"min", &D::decodeSimple},     {"max", &D::decodeSimple},
      {"abs", &D::decodeSimple},      {"neg", &D::decodeSimple},     {"sad", &D::decodeSimple},
      {"fma", &D::decodeSimple},      {"sqrt", &D::decodeSimple},    {"rcp", &D::decodeSimple},
      {"rsqrt", &D::decodeSimple},    {"sin", &D::decodeSimple},     {"cos", &D::decodeSimple},
      {"ex2", &D::decodeSimple},      {"lg2", &D::decodeSimple},     {"tanh", &D::decodeSimple},
      {"copysign", &D::decodeSimple}, {"mul", &D::decodeMultiply},   {"mad", &D::decodeMultiply},
      {"madc", &D::decodeMultiply},   {"mul24", &D::decodeMultiply}, {"addc", &D::decodeCarry},
      {"subc", &D::decodeCarry},      {"and", &D::decodeLogic},      {"or", &D::decodeLogic},
      {"xor", &D::decodeLogic},       {"not", &D::decodeLogic},      {"cnot", &D::decodeLogic},
      {"shl", &D::decodeShift},       {"shr", &D::decodeShift},      {"setp", &D::decodeSetp},
      {"set", &D::decodeSet},         {"testp", &D::decodeTestp},    {"selp", &D::decodeSelp},
      {"slct", &D::decodeSlct},       {"mov", &D::decodeMove},       {"cvt", &D::decodeConvert},
      {"bfe", &D::decodeBits},        {"bfi", &D::decodeBits},       {"bfind", &D::decodeBits},
      {"brev", &D::decodeBits},       {"clz", &D::decodeBits},       {"popc", &D::decodeBits},
      {"szext", &D::decodeBits},      {"bmsk", &D::decodeBits},      {"prmt", &D::decodePermute},
      {"lop3", &D::decodeLop3},       {"shf", &D::decodeFunnel},     {"dp4a", &D::decodeDot},
      {"dp2a", &D::decodeDot},
  };
  return entries;
}
