// Branches, calls, and what lanes and warps do together.
#include "Decoder.h"

#include "gantry/Support/Names.h"

using namespace gantry;
using namespace gantry::ptx;

void Decoder::decodeBranch() {
  opcode.take("uni");
  if (!expectOperands(1, 1))
    return;
  if (operand(0).kind != Operand::Kind::label)
    return fail("'" + printable(operand(0).text) + "' is no label", StatusCode::invalidArgument);
  frame->branches.push_back({uint32_t(program.ops.size()), operand(0).index});
  emit(OpKind::branch, OpClass::control);
}

/// brx.idx %r, table;
void Decoder::decodeBranchIndexed() {
  opcode.take("idx");
  opcode.take("uni");
  if (!expectOperands(2, 2))
    return;
  auto found = frame->function->branchTargets.find(operand(1).index);
  if (operand(1).kind != Operand::Kind::label || found == frame->function->branchTargets.end())
    return fail("'" + printable(operand(1).text) + "' is no list of branch targets",
                StatusCode::invalidArgument);
  uint32_t index = use(size_t(0), Type::u32);
  uint32_t table = uint32_t(program.branchTables.size());
  program.branchTables.emplace_back();
  for (uint32_t label : found->second)
    frame->tables.push_back({table, label});
  Op &op = emit(OpKind::branchIndexed, OpClass::control);
  op.src[0] = index;
  op.detail = table;
}

/// call{.uni} (results), name, (arguments): the function is expanded here, its parameters are the
/// variables that are passed.
void Decoder::decodeCall() {
  opcode.take("uni");
  const std::vector<Operand> none;
  const std::vector<Operand> *results = &none, *arguments = &none;
  size_t at = 0;
  if (at < operands() && operand(at).kind == Operand::Kind::list)
    results = &operand(at++).elements;
  if (at >= operands() || operand(at).kind != Operand::Kind::symbol ||
      operand(at).symbol.scope != SymbolRef::Scope::code)
    return fail("indirect calls are not supported");
  const Function &callee = module.functions[operand(at++).symbol.index];
  if (at < operands() && operand(at).kind == Operand::Kind::list)
    arguments = &operand(at++).elements;
  if (!callee.isDefined && callee.name == "__assertfail") {
    emit(OpKind::trap, OpClass::control).constant = 1;
    return;
  }
  if (!callee.isDefined)
    return fail("function '" + printable(callee.name) + "' is not defined in this file");
  if (callee.isKernel)
    return fail("calls of kernels are not supported");
  if (arguments->size() != callee.parameters.size() || results->size() != callee.results.size())
    return fail("function '" + printable(callee.name) + "' takes " +
                    std::to_string(callee.parameters.size()) + " arguments and gives " +
                    std::to_string(callee.results.size()) + " results",
                StatusCode::invalidArgument);
  Frame made{};
  made.function = &callee;
  made.variables.resize(callee.variables.size());
  bind(made, *arguments, callee.parameters);
  bind(made, *results, callee.results);
  if (!failed())
    expandCall(made);
}

/// Lets parameters or results of a call be the variables that the caller gives.
void Decoder::bind(Frame &callee, const std::vector<Operand> &actual,
                   const std::vector<uint32_t> &formal) {
  for (size_t i = 0; i < actual.size() && !failed(); ++i) {
    if (actual[i].kind != Operand::Kind::symbol ||
        actual[i].symbol.scope != SymbolRef::Scope::function)
      return fail("arguments of calls are .param variables");
    const Variable &given = frame->function->variables[actual[i].symbol.index];
    const Variable &wanted = callee.function->variables[formal[i]];
    if (given.size < wanted.size)
      return fail("'" + printable(given.name) + "' is smaller than parameter '" +
                      printable(wanted.name) + "'",
                  StatusCode::invalidArgument);
    callee.variables[formal[i]] = homeOf(actual[i].symbol);
  }
}

/// A guarded call is jumped over where the guard does not hold.
void Decoder::expandCall(Frame &callee) {
  uint32_t around = noSlot;
  if (current->guard >= 0) {
    around = uint32_t(program.ops.size());
    Op &op = emit(OpKind::branch, OpClass::control);
    op.guardNegated = !op.guardNegated;
  }
  Opcode kept = opcode;
  expand(callee);
  opcode = kept;
  if (around != noSlot)
    program.ops[around].target = uint32_t(program.ops.size());
  program.origins.push_back({frame->function, current});
}

void Decoder::decodeReturn() {
  opcode.take("uni");
  if (!frame->caller) {
    emit(OpKind::exit, OpClass::control);
    return;
  }
  frame->returns.push_back(uint32_t(program.ops.size()));
  emit(OpKind::branch, OpClass::control);
}

void Decoder::decodeExit() { emit(OpKind::exit, OpClass::control); }

void Decoder::decodeTrap() { emit(OpKind::trap, OpClass::control); }

/// bar{.cta}.sync a{, b}, bar.arrive a, b, bar.red.op d, a{, b}, p, bar.warp.sync m, and barrier.
void Decoder::decodeBarrier() {
  SyncDetail detail;
  detail.aligned = opcode.name == "bar";
  if (opcode.take("warp")) {
    opcode.take("sync");
    if (!expectOperands(1, 1))
      return;
    detail.members = memberMask(0);
    return emitSync(OpKind::warpBarrier, detail);
  }
  bool cluster = opcode.take("cluster");
  opcode.take("cta");
  auto which = opcode.takeOneOf({"sync", "arrive", "red", "wait"});
  detail.aligned |= opcode.take("aligned");
  if (!which)
    return failOpcode();
  if (cluster) { // a cluster of one block: arriving is nothing, waiting is for the block
    opcode.takeOneOf({"acquire", "release", "relaxed"});
    if (*which == 1) {
      emit(OpKind::nop, OpClass::sync);
      return;
    }
    detail.barrier = {constantSlot(4, 15).offset, 4};
    detail.aligned = false;
    program.usesBarriers = true;
    return emitSync(OpKind::barrier, detail);
  }
  program.usesBarriers = true;
  size_t at = 0;
  if (*which == 2) {
    auto reduce = opcode.takeOneOf({"popc", "and", "or"});
    Type type = opcode.takeType();
    if (!reduce || !expectOperands(3, 4))
      return failOpcode();
    detail.fn = *reduce == 0   ? SyncDetail::Fn::popc
                : *reduce == 1 ? SyncDetail::Fn::all
                               : SyncDetail::Fn::any;
    detail.dst =
        type == Type::pred ? Slot{usePredicate(operand(0)), 0} : Slot{define(0, Type::u32), 4};
    detail.a = {usePredicate(operand(operands() - 1)), 0};
    detail.negated = operand(operands() - 1).negated;
    at = 1;
    detail.barrier = {use(at, Type::u32), 4};
    if (operands() == 4)
      detail.threads = {use(at + 1, Type::u32), 4};
  } else {
    if (!expectOperands(1, 2))
      return;
    detail.fn = *which == 1 ? SyncDetail::Fn::arrive : SyncDetail::Fn::sync;
    detail.barrier = {use(size_t(0), Type::u32), 4};
    if (operands() == 2)
      detail.threads = {use(1, Type::u32), 4};
  }
  emitSync(OpKind::barrier, detail);
}

Slot Decoder::memberMask(size_t index) { return {use(index, Type::b32), 4}; }

void Decoder::decodeShuffle() {
  opcode.take("sync");
  auto mode = opcode.takeOneOf({"up", "down", "bfly", "idx"});
  opcode.take("b32");
  if (!mode)
    return failOpcode();
  if (!expectOperands(5, 5))
    return;
  SyncDetail detail;
  detail.fn = SyncDetail::Fn(*mode);
  detail.a = {use(1, Type::b32), 4};
  detail.b = {use(2, Type::b32), 4};
  detail.c = {use(3, Type::b32), 4};
  detail.members = memberMask(4);
  detail.dst = {define(0, Type::b32), 4};
  if (current->second.kind != Operand::Kind::none)
    detail.predicate = {definePredicate(current->second), 0};
  emitSync(OpKind::shuffle, detail);
}

void Decoder::decodeVote() {
  opcode.take("sync");
  auto mode = opcode.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = opcode.takeType();
  if (!mode)
    return failOpcode();
  if (!expectOperands(3, 3))
    return;
  SyncDetail detail;
  constexpr SyncDetail::Fn fns[] = {SyncDetail::Fn::all, SyncDetail::Fn::any, SyncDetail::Fn::uni,
                                    SyncDetail::Fn::ballot};
  detail.fn = fns[*mode];
  detail.a = {usePredicate(operand(1)), 0};
  detail.negated = operand(1).negated;
  detail.members = memberMask(2);
  detail.dst =
      type == Type::pred ? Slot{usePredicate(operand(0)), 0} : Slot{define(0, Type::b32), 4};
  emitSync(OpKind::vote, detail);
}

void Decoder::decodeMatch() {
  auto mode = opcode.takeOneOf({"all", "any"});
  opcode.take("sync");
  Type type = opcode.takeType();
  if (!mode)
    return failOpcode();
  if (!expectOperands(3, 3))
    return;
  SyncDetail detail;
  detail.fn = *mode == 0 ? SyncDetail::Fn::all : SyncDetail::Fn::any;
  detail.a = {use(1, type), uint8_t(typeBytes(type))};
  detail.members = memberMask(2);
  detail.dst = {define(0, Type::b32), 4};
  if (current->second.kind != Operand::Kind::none)
    detail.predicate = {definePredicate(current->second), 0};
  emitSync(OpKind::match, detail);
}

void Decoder::decodeRedux() {
  opcode.take("sync");
  auto mode = opcode.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = opcode.takeType();
  if (!mode || typeKind(type) == TypeKind::real)
    return failOpcode();
  if (!expectOperands(3, 3))
    return;
  constexpr SyncDetail::Fn fns[] = {SyncDetail::Fn::add, SyncDetail::Fn::min,
                                    SyncDetail::Fn::max, SyncDetail::Fn::land,
                                    SyncDetail::Fn::lor, SyncDetail::Fn::lxor};
  SyncDetail detail;
  detail.fn = fns[*mode];
  detail.type = type;
  detail.a = {use(1, Type::b32), 4};
  detail.members = memberMask(2);
  detail.dst = {define(0, Type::b32), 4};
  emitSync(OpKind::redux, detail);
}

void Decoder::decodeActiveMask() {
  opcode.take("b32");
  uint32_t to = define(0, Type::b32);
  emit(OpKind::activeMask, OpClass::sync).dst = to;
}

/// elect.sync d|p, members: the first member.
void Decoder::decodeElect() {
  opcode.take("sync");
  if (!expectOperands(2, 2))
    return;
  SyncDetail detail;
  detail.members = memberMask(1);
  if (operand(0).kind != Operand::Kind::sink)
    detail.dst = {define(0, Type::b32), 4};
  detail.predicate = {definePredicate(current->second), 0};
  emitSync(OpKind::elect, detail);
}

std::span<const OpcodeEntry> gantry::ptx::controlOpcodes() {
  using D = Decoder;
  static constexpr OpcodeEntry entries[] = {
      {"bra", &D::decodeBranch},      {"brx", &D::decodeBranchIndexed},
      {"call", &D::decodeCall},       {"ret", &D::decodeReturn},
      {"exit", &D::decodeExit},       {"trap", &D::decodeTrap},
      {"brkpt", &D::decodeIgnored},   {"bar", &D::decodeBarrier},
      {"barrier", &D::decodeBarrier}, {"shfl", &D::decodeShuffle},
      {"vote", &D::decodeVote},       {"match", &D::decodeMatch},
      {"redux", &D::decodeRedux},     {"activemask", &D::decodeActiveMask},
      {"elect", &D::decodeElect},
  };
  return entries;
}
