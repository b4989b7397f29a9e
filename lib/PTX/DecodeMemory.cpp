// Opcodes that touch memory, and addresses.
#include "Decoder.h"

#include "gantry/Support/Names.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::ptx;

void Decoder::noteAccess(const Access &access) {
  unsigned bytes = unsigned(access.width) * access.count;
  unsigned granule = std::min(16u, bytes);
  if (access.space == Space::shared || access.space == Space::generic)
    program.sharedGranule = std::min(program.sharedGranule, granule);
  if (access.space == Space::global || access.space == Space::generic)
    program.globalGranule = std::min(program.globalGranule, granule);
}

/// Order, scope, caching and space: `.relaxed.gpu.global.L1::no_allocate`.
void Decoder::takeMemoryModifiers(Access &access) {
  auto order = opcode.takeOneOf(
      {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "seq_cst"});
  access.strong = order && *order != 0;
  access.acquire = order && (*order == 3 || *order == 5 || *order == 7);
  access.release = order && (*order == 4 || *order == 5 || *order == 7);
  if (opcode.take("mmio"))
    access.strong = true;
  opcode.takeOneOf({"cta", "cluster", "gpu", "sys"});
  opcode.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  opcode.take("unified");
  opcode.skipPrefix("L1::");
  opcode.skipPrefix("L2::");
  opcode.skipPrefix("level::");
  access.nonCoherent = opcode.take("nc");
  constexpr Space spaces[] = {Space::global, Space::shared,   Space::local,
                              Space::param,  Space::constant, Space::shared,
                              Space::shared, Space::param,    Space::param};
  auto space = opcode.takeOneOf({"global", "shared", "local", "param", "const", "shared::cta",
                                 "shared::cluster", "param::entry", "param::func"});
  access.space = space ? spaces[*space] : Space::generic;
}

Access Decoder::takeAccess(const Operand &address, bool spaceTaken) {
  Access access;
  if (!spaceTaken)
    takeMemoryModifiers(access);
  if (failed())
    return access;
  if (address.kind != Operand::Kind::address) {
    fail("'" + printable(current->opcode) + "' takes an address in brackets, not '" +
             printable(address.text) + "'",
         StatusCode::invalidArgument);
    return access;
  }
  access.offset = address.value;
  if (address.hasBase) {
    access.base = registerSlot(address.index);
    if (access.base.bytes != 4 && access.base.bytes != 8)
      fail("an address is in a register of 32 or 64 bits", StatusCode::invalidArgument);
  } else if (address.symbol.scope != SymbolRef::Scope::none) {
    Home home = address.symbol.scope == SymbolRef::Scope::code ? Home{} : homeOf(address.symbol);
    if (address.symbol.scope == SymbolRef::Scope::code)
      fail("a function is no memory", StatusCode::invalidArgument);
    access.offset += home.offset;
    // The parameters of a function that is expanded are variables of its caller.
    if (access.space == Space::param || access.space == Space::generic)
      access.space = home.space;
  }
  return access;
}

void Decoder::vectorValues(Access &access, const Operand &operand, Type type, bool store) {
  unsigned width = typeBytes(type);
  const Operand *first = &operand;
  size_t count = 1;
  if (operand.kind == Operand::Kind::vector) {
    first = operand.elements.data();
    count = operand.elements.size();
  }
  if (count != access.count)
    return fail("'" + printable(current->opcode) + "' takes " + std::to_string(access.count) +
                    " registers, not " + std::to_string(count),
                StatusCode::invalidArgument);
  for (size_t i = 0; i < count && !failed(); ++i) {
    const Operand &one = first[i];
    if (one.kind == Operand::Kind::reg) {
      access.values[i] = registerSlot(one.index);
      if (access.values[i].bytes < width)
        fail("'" + printable(one.text) + "' has fewer bits than '" + printable(current->opcode) +
                 "' moves",
             StatusCode::invalidArgument);
    } else if (one.kind == Operand::Kind::sink && !store) {
      access.values[i] = Slot{};
    } else if (store) {
      unsigned bytes = std::max(2u, width);
      access.values[i] = {use(one, bytes == 2 ? Type::b16 : type), uint8_t(bytes)};
    } else {
      fail("a load goes to registers", StatusCode::invalidArgument);
    }
  }
}

/// A kernel's parameters are the same for all: what is loaded from them becomes a constant. False:
/// the registers do not fit, or it is not within the parameters; the usual way tells.
bool Decoder::loadConstantParameter(const Access &access) {
  uint64_t bytes = uint64_t(access.width) * access.count, size = program.info.parameterBytes;
  if (failed() || access.offset < 0 || bytes > size || uint64_t(access.offset) > size - bytes)
    return false;
  bool isVector = operand(0).kind == Operand::Kind::vector;
  std::span<const Operand> to(isVector ? operand(0).elements.data() : &operand(0),
                              isVector ? operand(0).elements.size() : 1);
  if (to.size() != access.count)
    return false;
  for (const Operand &one : to)
    if (one.kind != Operand::Kind::reg || registerType(one) == Type::pred ||
        typeBytes(registerType(one)) < access.width || typeBytes(registerType(one)) > 8)
      return false;
  bool isSigned = access.extend == Access::Extend::sign, copied = false;
  for (size_t i = 0; i < to.size(); ++i) {
    Slot constant = allocate(std::max(2u, typeBytes(registerType(to[i]))));
    program.parameters.push_back(
        {constant, uint64_t(access.offset) + i * access.width, access.width, isSigned});
    if (becomes(to[i], constant))
      continue;
    copied = true;
    Slot target = registerSlot(to[i].index);
    Type type = constant.bytes == 2 ? Type::b16 : constant.bytes == 4 ? Type::b32 : Type::b64;
    emitCompute({.fn = Fn::move, .type = type}, OpClass::memory, target.offset, {constant.offset});
  }
  if (!copied)
    emit(OpKind::nop, OpClass::memory);
  return true;
}

void Decoder::decodeLoad() {
  if (!expectOperands(2, 3)) // a cache policy may follow
    return;
  Access access = takeAccess(operand(1));
  if (opcode.name == "ldu")
    access.nonCoherent = true;
  auto vector = opcode.takeOneOf({"v2", "v4", "v8"});
  access.count = vector ? uint8_t(2u << *vector) : 1;
  Type type = opcode.takeType();
  if (typeBytes(type) == 0 || typeBytes(type) > 8 || type == Type::pred)
    return failOpcode();
  access.width = uint8_t(typeBytes(type));
  if (access.width * access.count > 32)
    return failOpcode();
  access.extend = isSigned(type) ? Access::Extend::sign : Access::Extend::zero;
  if (access.space == Space::param && access.base.offset == noSlot && loadConstantParameter(access))
    return;
  vectorValues(access, operand(0), type, false);
  if (failed())
    return;
  access.move = computeTable().findMover(access, false);
  noteAccess(access);
  emitWith(access.space == Space::param ? OpKind::loadParameter : OpKind::load, OpClass::memory,
           program.accesses, access);
}

void Decoder::decodeStore() {
  if (!expectOperands(2, 3))
    return;
  if (opcode.take("async"))
    return failOpcode();
  Access access = takeAccess(operand(0));
  auto vector = opcode.takeOneOf({"v2", "v4", "v8"});
  access.count = vector ? uint8_t(2u << *vector) : 1;
  Type type = opcode.takeType();
  if (typeBytes(type) == 0 || typeBytes(type) > 8 || type == Type::pred ||
      access.space == Space::param || access.space == Space::constant)
    return failOpcode();
  access.width = uint8_t(typeBytes(type));
  if (access.width * access.count > 32)
    return failOpcode();
  vectorValues(access, operand(1), type, true);
  if (failed())
    return;
  access.move = computeTable().findMover(access, true);
  noteAccess(access);
  emitWith(OpKind::store, OpClass::memory, program.accesses, access);
}

/// atom.{sem.scope.space.}op{.vec}.type d, [a], b{, c}; red has no d.
void Decoder::decodeAtomic() {
  AtomicDetail detail;
  detail.returns = opcode.name == "atom";
  size_t at = detail.returns ? 1 : 0;
  if (!expectOperands(at + 2, at + 4))
    return;
  opcode.take("async");
  detail.access = takeAccess(operand(at));
  detail.access.strong = true;
  using Fn = AtomicDetail::Fn;
  auto which =
      opcode.takeOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  if (!which)
    return failOpcode();
  detail.fn = Fn(*which);
  opcode.take("noftz");
  auto vector = opcode.takeOneOf({"v2", "v4", "v8"});
  detail.access.count = vector ? uint8_t(2u << *vector) : 1;
  detail.type = opcode.takeType();
  unsigned bytes = typeBytes(detail.type);
  bool bitwise = detail.fn == Fn::land || detail.fn == Fn::lor || detail.fn == Fn::lxor ||
                 detail.fn == Fn::exchange || detail.fn == Fn::compareAndSwap;
  bool real = typeKind(detail.type) == TypeKind::real || typeKind(detail.type) == TypeKind::packed;
  bool known =
      bytes >= 2 && bytes <= 8 && (bytes > 2 || real || detail.fn == Fn::compareAndSwap) &&
      (bitwise || typeKind(detail.type) != TypeKind::bits) && (!bitwise || !real) &&
      (!real || detail.fn == Fn::add ||
       ((detail.fn == Fn::min || detail.fn == Fn::max) && bytes <= 4 && detail.type != Type::f32));
  if (!known)
    return failOpcode();
  detail.access.width = uint8_t(bytes);
  noteAccess(detail.access);
  auto slotsOf = [&](const Operand &given, Slot *to, bool isResult) {
    const Operand *first = given.kind == Operand::Kind::vector ? given.elements.data() : &given;
    size_t count = given.kind == Operand::Kind::vector ? given.elements.size() : 1;
    if (count != detail.access.count)
      return fail("'" + printable(current->opcode) + "' takes " +
                      std::to_string(detail.access.count) + " values",
                  StatusCode::invalidArgument);
    for (size_t i = 0; i < count && !failed(); ++i) {
      if (isResult && first[i].kind == Operand::Kind::sink)
        continue;
      to[i] = {isResult ? defineOperand(first[i], detail.type) : use(first[i], detail.type),
               uint8_t(bytes)};
    }
  };
  if (detail.returns)
    slotsOf(operand(0), detail.access.values, true);
  slotsOf(operand(at + 1), detail.operands, false);
  if (detail.fn == Fn::compareAndSwap)
    detail.swap = {use(at + 2, detail.type), uint8_t(bytes)};
  if (failed())
    return;
  emitWith(OpKind::atomic, OpClass::memory, program.atomics, detail);
}

/// What addresses of the space have above the place in it, where they are generic.
static uint64_t windowOf(Space space) {
  return space == Space::shared  ? sharedWindow
         : space == Space::local ? localWindow
         : space == Space::param ? paramWindow
                                 : 0;
}

/// cvta{.to}.space: adds the window of the space, or takes it away. Global memory and constants
/// have none.
void Decoder::decodeCvta() {
  bool to = opcode.take("to");
  Access access;
  takeMemoryModifiers(access);
  Type type = opcode.takeType();
  if (!expectOperands(2, 2))
    return;
  uint64_t window = windowOf(access.space);
  if (operand(1).kind == Operand::Kind::symbol && access.space == Space::param)
    window = homeOf(operand(1).symbol).space == Space::local ? localWindow : paramWindow;
  if (typeBytes(type) != 8)
    return failOpcode();
  uint32_t from = use(1, type), dst = define(0, type);
  uint32_t bits = window ? constantSlot(8, to ? ~windowMask : window).offset : noSlot;
  emitCompute({.fn = window ? (to ? Fn::land : Fn::lor) : Fn::move, .type = type}, OpClass::move,
              dst, {from, bits});
}

void Decoder::decodeIsspacep() {
  Access access;
  takeMemoryModifiers(access);
  if (!expectOperands(2, 2))
    return;
  uint32_t from = use(1, Type::b64), to = usePredicate(operand(0));
  uint32_t masked = allocate(8).offset, keep = constantSlot(8, windowMask).offset;
  uint32_t wanted = constantSlot(8, windowOf(access.space)).offset;
  emitCompute({.fn = Fn::land, .type = Type::b64}, OpClass::integer, masked, {from, keep});
  emitCompute({.fn = Fn::setp, .from = Type::u64, .compare = Compare::eq}, OpClass::integer, to,
              {masked, wanted});
}

/// cp.async.{ca,cg}.shared.global [to], [from], bytes{, size}
void Decoder::decodeCopyAsync() {
  if (!opcode.take("async"))
    return failOpcode();
  if (opcode.take("commit_group")) {
    emit(OpKind::copyCommit, OpClass::memory);
    return;
  }
  if (opcode.take("wait_all")) {
    emit(OpKind::copyWait, OpClass::memory).constant = allGroups;
    return;
  }
  if (opcode.take("wait_group")) {
    if (!expectOperands(1, 1))
      return;
    auto groups = integerOperand(0);
    if (!failed())
      emit(OpKind::copyWait, OpClass::memory).constant = uint64_t(*groups);
    return;
  }
  if (opcode.take("mbarrier"))
    return failOpcode();
  if (!opcode.takeOneOf({"ca", "cg"}) || !opcode.takeOneOf({"shared", "shared::cta"}) ||
      !opcode.take("global"))
    return failOpcode();
  opcode.skipPrefix("L2::");
  if (!expectOperands(3, 5))
    return;
  CopyDetail copy;
  copy.to = takeAccess(operand(0), true);
  copy.from = takeAccess(operand(1), true);
  copy.to.space = Space::shared;
  copy.from.space = Space::global;
  auto bytes = integerOperand(2);
  if (failed())
    return;
  if (*bytes != 4 && *bytes != 8 && *bytes != 16)
    return fail("cp.async copies 4, 8 or 16 bytes", StatusCode::invalidArgument);
  copy.bytes = uint8_t(*bytes);
  copy.from.width = copy.to.width = copy.bytes;
  if (operands() > 3 && registerType(operand(3)) != Type::pred &&
      !(operand(3).kind == Operand::Kind::reg && typeBytes(registerType(operand(3))) == 8))
    copy.size = {use(3, Type::u32), 4};
  else if (operands() > 3)
    return failOpcode();
  noteAccess(copy.to);
  // A shorter size reads fewer bytes.
  Access least = copy.from;
  least.width = copy.size.offset != noSlot ? 1 : copy.bytes;
  noteAccess(least);
  emitWith(OpKind::copyAsync, OpClass::memory, program.copies, copy);
}

/// What changes nothing here: prefetches, hints, launches of dependents.
void Decoder::decodeIgnored() {
  opcode.skipPrefix("");
  if (opcode.name == "createpolicy" && operands() > 0) {
    uint32_t to = define(0, Type::b64), zero = constantSlot(8, 0).offset;
    emitCompute({.fn = Fn::move, .type = Type::b64}, OpClass::move, to, {zero});
    return;
  }
  emit(OpKind::nop, OpClass::control);
}

void Decoder::decodeFence() {
  // The order of one host thread is stronger than any; what counts is that there was a fence.
  opcode.take("proxy");
  opcode.takeOneOf({"alias", "async", "async::generic", "async.global", "tensormap::generic"});
  opcode.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  bool block = opcode.take("cta");
  opcode.takeOneOf({"gl", "gpu", "sys", "cluster"});
  opcode.takeOneOf({"global", "shared::cta", "shared::cluster"});
  opcode.skipPrefix("sync_restrict");
  emit(OpKind::fence, OpClass::sync).constant = block ? 0 : 1;
}

/// mapa of the only block of a cluster is a copy.
void Decoder::decodeMapa() {
  opcode.take("shared::cluster");
  Type type = opcode.takeType();
  if (!expectOperands(3, 3))
    return;
  uint32_t from = use(1, type), to = define(0, type);
  emitCompute({.fn = Fn::move, .type = type}, OpClass::move, to, {from});
}

void Decoder::decodeMbarrier() {
  BarrierDetail detail;
  using Fn = BarrierDetail::Fn;
  auto which =
      opcode.takeOneOf({"init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait"});
  if (!which)
    return failOpcode();
  bool parity = opcode.take("parity");
  if (opcode.take("expect_tx") || opcode.take("noComplete"))
    return failOpcode();
  opcode.takeOneOf({"release", "acquire", "relaxed"});
  opcode.takeOneOf({"cta", "cluster"});
  opcode.takeOneOf({"shared", "shared::cta"});
  opcode.take("b64");
  size_t address = *which >= 2 ? 1 : 0;
  if (!expectOperands(address + 1, 4))
    return;
  detail.access = takeAccess(operand(address), true);
  detail.access.space = Space::shared;
  detail.access.width = 8;
  switch (*which) {
  case 0:
    detail.fn = Fn::init;
    detail.operand = {use(1, Type::u32), 4};
    break;
  case 1:
    detail.fn = Fn::invalidate;
    break;
  case 2:
  case 3:
    detail.fn = *which == 2 ? Fn::arrive : Fn::arriveDrop;
    if (operand(0).kind != Operand::Kind::sink)
      detail.dst = {define(0, Type::b64), 8};
    if (operands() > 2)
      detail.operand = {use(2, Type::u32), 4};
    break;
  default:
    detail.fn = parity ? Fn::testParity : Fn::testWait;
    detail.dst = {usePredicate(operand(0)), 0};
    detail.operand = parity ? Slot{use(2, Type::u32), 4} : Slot{use(2, Type::b64), 8};
  }
  if (failed())
    return;
  program.sharedGranule = std::min(program.sharedGranule, 8u);
  program.usesBarriers = true;
  emitWith(OpKind::memoryBarrier, OpClass::sync, program.barriers, detail);
}

std::span<const OpcodeEntry> gantry::ptx::memoryOpcodes() {
  using D = Decoder;
  static constexpr OpcodeEntry entries[] = {
      {"ld", &D::decodeLoad},
      {"ldu", &D::decodeLoad},
      {"st", &D::decodeStore},
      {"atom", &D::decodeAtomic},
      {"red", &D::decodeAtomic},
      {"cvta", &D::decodeCvta},
      {"isspacep", &D::decodeIsspacep},
      {"cp", &D::decodeCopyAsync},
      {"prefetch", &D::decodeIgnored},
      {"prefetchu", &D::decodeIgnored},
      {"griddepcontrol", &D::decodeIgnored},
      {"createpolicy", &D::decodeIgnored},
      {"nanosleep", &D::decodeIgnored},
      {"pmevent", &D::decodeIgnored},
      {"discard", &D::decodeIgnored},
      {"applypriority", &D::decodeIgnored},
      {"setmaxnreg", &D::decodeIgnored},
      {"membar", &D::decodeFence},
      {"fence", &D::decodeFence},
      {"mapa", &D::decodeMapa},
      {"mbarrier", &D::decodeMbarrier},
  };
  return entries;
}
