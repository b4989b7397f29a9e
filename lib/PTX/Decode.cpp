// The driver of decoding: opcodes, slots, operands, expansion of calls.
#include "Decoder.h"
#include "Undefined.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <bit>

using namespace gantry;
using namespace gantry::ptx;

namespace {

/// More than any compiler writes for one kernel; calls that are expanded could otherwise fill
/// memory.
constexpr size_t maxOps = size_t(1) << 22;
constexpr unsigned maxCallDepth = 64;

const std::map<std::string_view, void (Decoder::*)()> &opcodeTable() {
  static const std::map<std::string_view, void (Decoder::*)()> table = [] {
    std::map<std::string_view, void (Decoder::*)()> made;
    for (auto list : {arithmeticOpcodes(), memoryOpcodes(), controlOpcodes(), matrixOpcodes()})
      for (const OpcodeEntry &entry : list)
        made[entry.name] = entry.decode;
    return made;
  }();
  return table;
}

} // namespace

Opcode::Opcode(std::string_view text) {
  size_t dot = text.find('.');
  name = text.substr(0, dot);
  while (dot != text.npos) {
    size_t next = text.find('.', dot + 1);
    parts.push_back({text.substr(dot + 1, next == text.npos ? next : next - dot - 1), false});
    dot = next;
  }
}

bool Opcode::take(std::string_view modifier) {
  for (Part &part : parts)
    if (!part.used && part.text == modifier) {
      part.used = true;
      return true;
    }
  return false;
}

void Opcode::skipPrefix(std::string_view prefix) {
  for (Part &part : parts)
    part.used |= part.text.substr(0, prefix.size()) == prefix;
}

Type Opcode::takeType() {
  for (Part &part : parts)
    if (!part.used)
      if (auto type = typeNamed(part.text)) {
        part.used = true;
        return *type;
      }
  return Type::none;
}

std::optional<unsigned> Opcode::takeOneOf(std::initializer_list<std::string_view> names) {
  for (Part &part : parts)
    if (!part.used)
      for (unsigned i = 0; i < names.size(); ++i)
        if (part.text == names.begin()[i]) {
          part.used = true;
          return i;
        }
  return std::nullopt;
}

std::string_view Opcode::left() const {
  for (const Part &part : parts)
    if (!part.used)
      return part.text;
  return {};
}

void Decoder::fail(std::string message, StatusCode code) {
  if (!failure.ok())
    return;
  failure =
      Status(code, printable(module.file) + ":" + std::to_string(current->place.line) + ":" +
                       std::to_string(current->place.column) + ": error: " + std::move(message));
}

void Decoder::failOpcode() {
  fail("instruction '" + printable(current->opcode) + "' is not supported");
}

// Slots.

Slot Decoder::allocate(unsigned bytes) {
  if (bytes == 0) { // predicates: words, sixteen to a line
    if (predicatesUsed == 16) {
      predicateBlock = program.registerBytes;
      program.registerBytes += 64;
      predicatesUsed = 0;
    }
    return {predicateBlock + 4 * predicatesUsed++, 0};
  }
  Slot slot{program.registerBytes, uint8_t(bytes)};
  program.registerBytes += bytes * warpSize;
  if (program.registerBytes > (1u << 28))
    fail("kernel needs too many registers");
  return slot;
}

Slot Decoder::registerSlot(uint32_t reg) {
  Slot &slot = frame->registers[reg];
  if (slot.offset == noSlot) {
    Type type = frame->function->registers[reg].type;
    unsigned bytes = type == Type::pred ? 0 : std::max(2u, typeBytes(type));
    if (bytes > 8) {
      fail("registers of 128 bits are not supported");
      return {0, 8};
    }
    slot = allocate(bytes);
    program.registers.push_back({slot, &frame->function->registers[reg]});
  }
  return slot;
}

/// How often registers are written. Every operand that may be a result is taken for one.
void Decoder::countDefinitions(Frame &made) {
  made.definitions.resize(made.function->registers.size());
  auto note = [&](const Operand &operand) {
    auto one = [&](const Operand &each) {
      if (each.kind == Operand::Kind::reg && made.definitions[each.index] < 2)
        ++made.definitions[each.index];
    };
    one(operand);
    for (const Operand &element : operand.elements)
      one(element);
  };
  for (const Instruction &each : made.function->instructions) {
    if (!each.operands.empty())
      note(each.operands.front());
    note(each.second);
  }
}

/// Lets a register that is written once, here, share the slot of a constant: nothing has to be
/// copied. The op stays, as one that does nothing, for the counts.
bool Decoder::becomes(const Operand &operand, Slot constant) {
  if (operand.kind != Operand::Kind::reg || frame->definitions[operand.index] != 1 ||
      frame->registers[operand.index].offset != noSlot || current->guard >= 0)
    return false;
  Type type = frame->function->registers[operand.index].type;
  if (type == Type::pred || std::max(2u, typeBytes(type)) != constant.bytes)
    return false;
  frame->registers[operand.index] = constant;
  return true;
}

Slot Decoder::constantSlot(unsigned bytes, uint64_t value) {
  bytes = std::max(2u, bytes);
  if (bytes < 8)
    value &= (uint64_t(1) << (8 * bytes)) - 1;
  auto [entry, isNew] = constants.try_emplace({bytes, value});
  if (isNew) {
    entry->second = allocate(bytes);
    program.constants.push_back({entry->second, value});
  }
  return entry->second;
}

static std::optional<Special> specialOf(std::string_view name) {
  static const std::map<std::string_view, Special> names = {
      {"%tid.x", Special::tidX},
      {"%tid.y", Special::tidY},
      {"%tid.z", Special::tidZ},
      {"%ntid.x", Special::ntidX},
      {"%ntid.y", Special::ntidY},
      {"%ntid.z", Special::ntidZ},
      {"%ctaid.x", Special::ctaidX},
      {"%ctaid.y", Special::ctaidY},
      {"%ctaid.z", Special::ctaidZ},
      {"%nctaid.x", Special::nctaidX},
      {"%nctaid.y", Special::nctaidY},
      {"%nctaid.z", Special::nctaidZ},
      {"%laneid", Special::laneId},
      {"%warpid", Special::warpId},
      {"%nwarpid", Special::nwarpId},
      {"%smid", Special::smId},
      {"%nsmid", Special::nsmId},
      {"%gridid", Special::gridId},
      {"%lanemask_eq", Special::lanemaskEq},
      {"%lanemask_le", Special::lanemaskLe},
      {"%lanemask_lt", Special::lanemaskLt},
      {"%lanemask_ge", Special::lanemaskGe},
      {"%lanemask_gt", Special::lanemaskGt},
      {"%dynamic_smem_size", Special::dynamicSharedSize},
      {"%total_smem_size", Special::totalSharedSize},
      {"%cluster_ctarank", Special::zero},
      {"%cluster_ctaid.x", Special::zero},
      {"%cluster_ctaid.y", Special::zero},
      {"%cluster_ctaid.z", Special::zero},
      {"%cluster_nctarank", Special::one},
      {"%cluster_nctaid.x", Special::one},
      {"%cluster_nctaid.y", Special::one},
      {"%cluster_nctaid.z", Special::one},
      {"%is_explicit_cluster", Special::zero},
      {"%clusterid.x", Special::ctaidX},
      {"%clusterid.y", Special::ctaidY},
      {"%clusterid.z", Special::ctaidZ},
      {"%nclusterid.x", Special::nctaidX},
      {"%nclusterid.y", Special::nctaidY},
      {"%nclusterid.z", Special::nctaidZ},
      {"%clock", Special::clock},
      {"%clock_hi", Special::zero},
      {"%clock64", Special::clock64},
      {"%globaltimer", Special::globalTimer},
      {"%globaltimer_lo", Special::globalTimer},
      {"%globaltimer_hi", Special::zero},
  };
  auto found = names.find(name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

Slot Decoder::specialSlot(std::string_view name, unsigned bytes) {
  const std::optional<Special> found = specialOf(name);
  if (!found) {
    fail("special register '" + printable(name) + "' is not supported");
    return {0, uint8_t(bytes)};
  }
  const Special special = *found;
  bytes = std::max(2u, bytes);
  if (special >= Special::clock) {
    Slot slot = allocate(bytes);
    Op &op = emit(OpKind::clock, OpClass::move);
    op.dst = slot.offset;
    op.constant = bytes;
    return slot;
  }
  auto [entry, isNew] = specials.try_emplace({special, bytes});
  if (isNew) {
    entry->second = allocate(bytes);
    program.specials.push_back({special, entry->second});
  }
  return entry->second;
}

Type Decoder::registerType(const Operand &operand) const {
  return operand.kind == Operand::Kind::reg ? frame->function->registers[operand.index].type
                                            : Type::none;
}

// Operands.

bool Decoder::expectOperands(size_t least, size_t most) {
  if (failed())
    return false;
  if (operands() >= least && operands() <= most)
    return true;
  fail("'" + printable(current->opcode) + "' takes " + std::to_string(least) +
           (most != least ? " to " + std::to_string(most) : "") + " operands, not " +
           std::to_string(operands()),
       StatusCode::invalidArgument);
  return false;
}

uint64_t Decoder::immediateBits(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::integer)
    return uint64_t(operand.value);
  bool wantsSingle = typeBits(type) == 32, wantsDouble = typeBits(type) == 64;
  if (wantsSingle && !operand.single)
    return std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.value)));
  if (wantsDouble && operand.single)
    return std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(operand.value))));
  if (!wantsSingle && !wantsDouble)
    fail("a floating-point number of 16 bits is written as an integer, 0x3C00");
  return uint64_t(operand.value);
}

uint32_t Decoder::use(const Operand &operand, Type type) {
  if (failed())
    return 0;
  if (type == Type::pred)
    return usePredicate(operand);
  unsigned bytes = std::max(2u, typeBytes(type));
  switch (operand.kind) {
  case Operand::Kind::reg: {
    Slot slot = registerSlot(operand.index);
    if (slot.bytes != bytes && !failed())
      fail("'" + printable(operand.text) + "' has " +
               (slot.bytes ? std::to_string(slot.bytes * 8) + " bits" : std::string("one bit")) +
               " where '" + printable(current->opcode) + "' takes " + std::to_string(bytes * 8),
           StatusCode::invalidArgument);
    return slot.offset;
  }
  case Operand::Kind::integer:
  case Operand::Kind::real:
    return constantSlot(bytes, immediateBits(operand, type)).offset;
  case Operand::Kind::symbol:
    return constantSlot(bytes, uint64_t(symbolAddress(operand))).offset;
  case Operand::Kind::special:
    return specialSlot(operand.text, bytes).offset;
  default:
    fail("operand '" + printable(operand.text) + "' of '" + printable(current->opcode) +
             "' is no value",
         StatusCode::invalidArgument);
    return 0;
  }
}

uint32_t Decoder::use(size_t index, Type type) {
  if (failed() || !expectOperands(index + 1, 16))
    return 0;
  return use(operand(index), type);
}

uint32_t Decoder::usePredicate(const Operand &operand) {
  if (failed())
    return 0;
  if (operand.kind != Operand::Kind::reg || registerType(operand) != Type::pred) {
    fail("operand '" + printable(operand.text) + "' of '" + printable(current->opcode) +
             "' is no predicate",
         StatusCode::invalidArgument);
    return 0;
  }
  return registerSlot(operand.index).offset;
}

uint32_t Decoder::definePredicate(const Operand &operand) {
  if (operand.kind == Operand::Kind::sink)
    return noSlot;
  return usePredicate(operand);
}

uint32_t Decoder::defineOperand(const Operand &operand, Type type) {
  if (failed())
    return 0;
  if (operand.kind == Operand::Kind::sink)
    return allocate(std::max(2u, typeBytes(type))).offset;
  if (operand.kind != Operand::Kind::reg) {
    fail("the result of '" + printable(current->opcode) + "' goes to a register",
         StatusCode::invalidArgument);
    return 0;
  }
  return use(operand, type);
}

uint32_t Decoder::define(size_t index, Type type) {
  if (failed() || !expectOperands(index + 1, 16))
    return 0;
  return defineOperand(operand(index), type);
}

std::optional<int64_t> Decoder::integerOperand(size_t index) {
  if (index >= operands() || operand(index).kind != Operand::Kind::integer) {
    fail("'" + printable(current->opcode) + "' takes a number as operand " +
             std::to_string(index + 1),
         StatusCode::invalidArgument);
    return std::nullopt;
  }
  return operand(index).value;
}

/// The register's value in a slot as wide as `type`, where the register may be wider.
uint32_t Decoder::truncated(const Operand &operand, Type type) {
  unsigned bytes = std::max(2u, typeBytes(type));
  if (operand.kind != Operand::Kind::reg || failed())
    return use(operand, type);
  Slot slot = registerSlot(operand.index);
  if (slot.bytes == bytes)
    return slot.offset;
  if (slot.bytes < bytes)
    return use(operand, type); // says why not
  Slot narrow = allocate(bytes);
  Compute request{.fn = Fn::convert,
                  .type = bytes == 2 ? Type::u16 : Type::u32,
                  .from = slot.bytes == 4 ? Type::u32 : Type::u64};
  emitCompute(request, OpClass::conversion, narrow.offset, {slot.offset});
  return narrow.offset;
}

// Variables.

int64_t Decoder::sharedAddress(bool ofModule, uint32_t index, const Variable &variable) {
  if (ofModule && variable.isExtern) // dynamic: behind everything else, set by run()
    return sharedHomes[{true, index}];
  int64_t &home = ofModule ? sharedHomes.try_emplace({true, index}, -1).first->second
                           : functionShared.try_emplace({frame->function, index}, -1).first->second;
  if (home < 0) {
    sharedBytes = alignTo(sharedBytes, variable.align);
    home = int64_t(sharedBytes);
    sharedBytes += variable.size;
    if (sharedBytes > maxSharedBytes)
      fail("kernel '" + printable(program.info.name) + "' has more than " +
               formatBytes(maxSharedBytes) + " of shared memory",
           StatusCode::invalidArgument);
  }
  return home;
}

Decoder::Home Decoder::homeOf(const SymbolRef &symbol) {
  if (symbol.scope == SymbolRef::Scope::module) {
    const Variable &variable = module.variables[symbol.index];
    if (variable.space == Space::shared)
      return {Space::shared, sharedAddress(true, symbol.index, variable)};
    program.hasAddresses = true;
    return {variable.space, int64_t(image.address(symbol.index))};
  }
  const Variable &variable = frame->function->variables[symbol.index];
  Home &home = frame->variables[symbol.index];
  if (variable.space == Space::shared)
    return {Space::shared, sharedAddress(false, symbol.index, variable)};
  if (variable.space != Space::local && variable.space != Space::param) {
    fail("variable '" + printable(variable.name) + "' of a function is in space " +
         std::string(spaceName(variable.space)));
    return {};
  }
  if (home.offset < 0) {
    localBytes = alignTo(localBytes, std::max(4u, variable.align));
    home = {Space::local, int64_t(localBytes)};
    localBytes += variable.size;
    if (localBytes > (1u << 19))
      fail("kernel '" + printable(program.info.name) + "' has more than 512 KiB of local memory",
           StatusCode::invalidArgument);
  }
  return home;
}

int64_t Decoder::symbolAddress(const Operand &operand) {
  if (operand.symbol.scope == SymbolRef::Scope::code) {
    fail("addresses of functions are not supported");
    return 0;
  }
  if (operand.symbol.scope == SymbolRef::Scope::none) {
    fail("'" + printable(operand.text) + "' is no variable", StatusCode::invalidArgument);
    return 0;
  }
  return homeOf(operand.symbol).offset + operand.value;
}

// Ops.

Op &Decoder::emit(OpKind kind, OpClass opClass) {
  Op op;
  op.kind = kind;
  op.opClass = opClass;
  op.instruction = uint32_t(program.origins.size() - 1);
  if (current->guard >= 0) {
    op.guard = registerSlot(uint32_t(current->guard)).offset;
    op.guardNegated = current->guardNegated;
  }
  program.ops.push_back(op);
  return program.ops.back();
}

Op &Decoder::emitCompute(const Compute &request, OpClass opClass, uint32_t dst,
                         std::initializer_list<uint32_t> sources, uint64_t constant) {
  Op &op = emit(OpKind::compute, opClass);
  op.compute = computeTable().find(request);
  if (!op.compute)
    failOpcode();
  op.dst = dst;
  std::copy(sources.begin(), sources.end(), op.src);
  op.constant = constant;
  return op;
}

void Decoder::instruction() {
  opcode = Opcode(current->opcode);
  program.origins.push_back({frame->function, current});
  auto found = opcodeTable().find(opcode.name);
  if (found == opcodeTable().end())
    return failOpcode();
  (this->*found->second)();
  if (failed())
    return;
  if (std::string_view left = opcode.left(); !left.empty())
    return fail("modifier '." + printable(left) + "' of '" + printable(current->opcode) +
                "' is not supported");
  if (program.ops.size() > maxOps)
    fail("kernel '" + printable(program.info.name) + "' has more than " + std::to_string(maxOps) +
         " instructions when its calls are expanded");
}

void Decoder::expand(Frame &made) {
  Frame *outer = frame;
  const Instruction *call = current;
  unsigned depth = 0;
  for (Frame *above = outer; above; above = above->caller, ++depth)
    if (above->function == made.function)
      return fail("function '" + printable(made.function->name) +
                  "' calls itself: recursion is not supported");
  if (depth > maxCallDepth)
    return fail("calls are nested too deeply");
  frame = &made;
  const Function &function = *made.function;
  made.caller = outer;
  made.registers.resize(function.registers.size());
  made.variables.resize(function.variables.size());
  countDefinitions(made);
  for (const Instruction &each : function.instructions) {
    current = &each;
    made.firstOp.push_back(uint32_t(program.ops.size()));
    instruction();
    if (failed())
      return;
  }
  made.firstOp.push_back(uint32_t(program.ops.size()));
  for (auto [op, label] : made.branches)
    program.ops[op].target = made.firstOp[function.labelTargets[label]];
  for (auto [table, label] : made.tables)
    program.branchTables[table].push_back(made.firstOp[function.labelTargets[label]]);
  for (uint32_t op : made.returns)
    program.ops[op].target = uint32_t(program.ops.size());
  frame = outer;
  current = call;
}

/// Parameters lie one after the other, as a launch gives them.
void Decoder::placeParameters(Frame &kernel) {
  KernelInfo &info = program.info;
  for (uint32_t index : kernel.function->parameters) {
    const Variable &variable = kernel.function->variables[index];
    uint64_t offset = alignTo(info.parameterBytes, variable.align);
    info.parameters.push_back({std::string(variable.name), variable.type, offset, variable.size});
    info.parameterBytes = offset + variable.size;
    kernel.variables[index] = {Space::param, int64_t(offset)};
  }
  if (info.parameterBytes > 32764)
    fail("kernel '" + printable(info.name) + "' has more than 32764 bytes of parameters");
}

/// Dynamic shared memory begins behind the static variables; so these must all be known before an
/// address of it is made: those of the kernel and of the module in the order they are declared.
void Decoder::placeShared(const Function &kernel) {
  for (uint32_t i = 0; i < module.variables.size() && !failed(); ++i)
    if (module.variables[i].space == Space::shared && !module.variables[i].isExtern)
      sharedAddress(true, i, module.variables[i]);
  Frame each{};
  frame = &each;
  for (const Function &function : module.functions) {
    if (function.isKernel && &function != &kernel)
      continue;
    each.function = &function;
    for (uint32_t i = 0; i < function.variables.size() && !failed(); ++i)
      if (function.variables[i].space == Space::shared)
        sharedAddress(false, i, function.variables[i]);
  }
  frame = nullptr;
  sharedBytes = alignTo(sharedBytes, 16);
  for (uint32_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].space == Space::shared && module.variables[i].isExtern) {
      sharedBytes = alignTo(sharedBytes, module.variables[i].align);
      sharedHomes[{true, i}] = 0;
    }
  for (auto &[key, home] : sharedHomes)
    if (module.variables[key.second].isExtern)
      home = int64_t(sharedBytes);
  program.info.staticShared = sharedBytes;
}

Status Decoder::run(const Function &kernel) {
  KernelInfo &info = program.info;
  info.name = std::string(kernel.name);
  for (int i = 0; i < 3; ++i) {
    info.requiredThreads[size_t(i)] = kernel.requiredThreads[i];
    info.maxThreads[size_t(i)] = kernel.maxThreads[i];
  }
  Instruction place;
  place.place = kernel.place;
  current = &place;
  Frame outermost{};
  outermost.function = &kernel;
  outermost.variables.resize(kernel.variables.size());
  placeParameters(outermost);
  placeShared(kernel);
  if (!failed())
    expand(outermost);
  if (!failed()) {
    // Running off the end is the end.
    current = &place;
    program.origins.push_back(
        {&kernel, kernel.instructions.empty() ? nullptr : &kernel.instructions.back()});
    program.ops.emplace_back();
    program.ops.back().kind = OpKind::exit;
    program.ops.back().instruction = uint32_t(program.origins.size() - 1);
  }
  info.localBytes = alignTo(localBytes, 16);
  info.ops = program.ops.size();
  return failure;
}

static void findStraightRuns(KernelProgram &program) {
  program.straight.resize(program.ops.size());
  uint32_t run = 0;
  for (size_t i = program.ops.size(); i-- > 0;) {
    const Op &op = program.ops[i];
    bool plain = op.kind == OpKind::compute && op.guard == noSlot && op.watched == noSlot;
    program.straight[i] = run = plain ? run + 1 : 0;
  }
}

Expected<std::unique_ptr<KernelProgram>> gantry::ptx::decode(const Image &image,
                                                             const Function &kernel) {
  auto program = std::make_unique<KernelProgram>();
  Decoder decoder(image, *program);
  GANTRY_RETURN_IF_ERROR(decoder.run(kernel));
  findUndefined(*program);
  findStraightRuns(*program);
  return program;
}
