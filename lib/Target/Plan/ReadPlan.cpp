// From a plan file back to the plan dialect: the reverse of WritePlan, on a verified file.

#include "gantry/Target/Plan/ReadPlan.h"
#include "gantry/Analysis/SharedBuffers.h"

#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"
#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/Views.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gantry;

namespace fb = gantry::plan::fb;

static StringRef textOf(const flatbuffers::String *s) {
  return s ? StringRef(s->data(), s->size()) : StringRef();
}

namespace {
/// Symbols by number. Functions are named first, so that they keep their names; kernels may share
/// one in a file.
struct Symbols {
  using List = SmallVector<FlatSymbolRefAttr>;
  List functions, devices, arenas, constants, variables, code, kernels, exchanges;

  Symbols(const fb::Plan &plan, ModuleOp module) : names(module) {
    for (const fb::Function *function : plan::each(plan.functions()))
      add(functions, textOf(function->name()));
    if (plan.load()) { // the first of all functions
      add(functions, textOf(plan.load()->name()));
      std::rotate(functions.begin(), functions.end() - 1, functions.end());
    }
    for (const fb::Kernel *kernel : plan::each(plan.kernels()))
      add(kernels, textOf(kernel->symbol()));
    addNumbered(devices, "d", plan::countOf(plan.devices()));
    for (const fb::Arena *arena : plan::each(plan.arenas()))
      add(arenas, plan::ir::stringifyArenaKind(plan::ir::ArenaKind(arena->kind())) + "_d" +
                      Twine(arena->device()));
    addNumbered(constants, "c", plan::countOf(plan.constants()));
    addNumbered(variables, "v", plan::countOf(plan.variables()));
    addNumbered(code, "code", plan::countOf(plan.code()));
    addNumbered(exchanges, "x", plan::countOf(plan.exchanges()));
  }

private:
  FreshSymbols names;

  void add(List &list, const Twine &name) {
    list.push_back(FlatSymbolRefAttr::get(names.take(name)));
  }
  void addNumbered(List &list, StringRef name, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      add(list, name + Twine(i));
  }
};

struct Reader {
  const fb::Plan &plan;
  OpBuilder b;
  ModuleOp module;
  Symbols symbols;
  Type buffer;
  /// By arena, offset and size: what is empty begins where something else does.
  using Resident = std::tuple<uint32_t, uint64_t, uint64_t>;
  DenseMap<Resident, uint32_t> constants, variables;

  // Of the function being read:
  using Place = std::tuple<unsigned, uint32_t, uint64_t, uint64_t>;
  const fb::Function *function = nullptr;
  DenseMap<Place, SmallVector<const fb::Value *, 1>> values; ///< that live in a place
  Block *body = nullptr;
  llvm::MapVector<std::tuple<unsigned, uint32_t, uint64_t, uint64_t, const fb::Value *>, Value>
      buffers;
  uint32_t number = 0; ///< of the command being read, as in fb::Value

  Reader(const fb::Plan &plan, MLIRContext *context)
      : plan(plan), b(context), module(ModuleOp::create(b, b.getUnknownLoc())),
        symbols(plan, module), buffer(plan::ir::BufferType::get(context)) {}

  Location loc() { return b.getUnknownLoc(); }
  IntegerAttr i64(uint64_t v) { return b.getI64IntegerAttr(int64_t(v)); }
  FlatSymbolRefAttr device(uint32_t i) { return symbols.devices[i]; }

  Type elementType(fb::ElementType type) {
    using E = fb::ElementType;
    switch (type) {
    case E::f32:
      return b.getF32Type();
    case E::f64:
      return b.getF64Type();
    case E::f16:
      return b.getF16Type();
    case E::bf16:
      return b.getBF16Type();
    case E::i8:
      return b.getIntegerType(8);
    case E::u8:
      return b.getIntegerType(8, false);
    case E::i16:
      return b.getIntegerType(16);
    case E::u16:
      return b.getIntegerType(16, false);
    case E::i32:
      return b.getIntegerType(32);
    case E::u32:
      return b.getIntegerType(32, false);
    case E::i64:
      return b.getIntegerType(64);
    case E::u64:
      return b.getIntegerType(64, false);
    case E::i1:
      return b.getI1Type();
    }
    llvm_unreachable("a verified file has known element types only");
  }

  TypeAttr tensorType(const fb::TensorType *type) {
    if (!type)
      return TypeAttr::get(RankedTensorType::get({0}, b.getI8Type()));
    auto shape = plan::shapeOf(*type);
    return TypeAttr::get(
        RankedTensorType::get({shape.data(), shape.size()}, elementType(type->element())));
  }

  //===------------------------------------------------------------------===//
  // Declarations
  //===------------------------------------------------------------------===//

  void readDevice(unsigned number, const fb::Device &from) {
    auto op = plan::ir::DeviceOp::create(
        b, loc(), device(number).getAttr(), deviceNamed(textOf(from.name())),
        b.getStringAttr(textOf(from.driver())), i64(from.physical()), i64(from.memory_limit()),
        b.getF64FloatAttr(from.peak_flops()), b.getF64FloatAttr(from.bandwidth()),
        texts(from.also()));
    if (from.launch() > 0)
      op->setAttr(kLaunchSecondsAttr, b.getF64FloatAttr(from.launch()));
  }

  void read() {
    b.setInsertionPointToEnd(module.getBody());
    for (auto [i, d] : llvm::enumerate(*plan.devices()))
      readDevice(i, *d);
    for (const fb::Link *link : plan::each(plan.links()))
      plan::ir::LinkOp::create(b, loc(), device(link->from()), device(link->to()),
                               b.getF64FloatAttr(link->bandwidth()),
                               b.getF64FloatAttr(link->latency()));
    for (uint32_t i = 0; i < plan::countOf(plan.arenas()); ++i) {
      const fb::Arena *arena = plan.arenas()->Get(i);
      plan::ir::ArenaOp::create(
          b, loc(), symbols.arenas[i].getAttr(),
          plan::ir::ArenaKindAttr::get(b.getContext(), plan::ir::ArenaKind(arena->kind())),
          device(arena->device()), i64(arena->size()), i64(arena->lower_bound()),
          i64(arena->load_size()));
    }
    for (uint32_t i = 0; i < plan::countOf(plan.constants()); ++i) {
      const fb::Constant *constant = plan.constants()->Get(i);
      constants[{constant->arena(), constant->offset(), constant->size()}] = i;
      auto bytes = RankedTensorType::get({int64_t(constant->size())}, b.getI8Type());
      plan::ir::ConstantOp::create(
          b, loc(), symbols.constants[i].getAttr(), b.getStringAttr(textOf(constant->name())),
          device(plan.arenas()->Get(constant->arena())->device()), i64(constant->offset()),
          i64(constant->size()), TypeAttr::get(bytes), ElementsAttr(), homeOf(*constant),
          stringAt(constant->cause()), symbols.arenas[constant->arena()],
          constant->made() == plan::nothingSaid ? IntegerAttr() : i64(constant->made()));
    }
    for (uint32_t i = 0; i < plan::countOf(plan.variables()); ++i)
      readVariable(i);
    for (uint32_t i = 0; i < plan::countOf(plan.code()); ++i)
      readCode(i);
    for (uint32_t i = 0; i < plan::countOf(plan.exchanges()); ++i)
      readExchange(i);
    for (uint32_t i = 0; i < plan::countOf(plan.kernels()); ++i)
      readKernel(i);
    for (auto [i, f] : llvm::enumerate(plan::allFunctions(plan)))
      readFunction(i, f);
  }

  /// The file was checked, so it is a name.
  DeviceAttr deviceNamed(StringRef text) {
    auto wrong = [&] { return emitError(loc()); };
    return DeviceAttr::get(b.getContext(), *readDeviceName(text, wrong));
  }

  void readVariable(uint32_t i) {
    const fb::Variable *variable = plan.variables()->Get(i);
    variables[{variable->arena(), variable->offset(), variable->size()}] = i;
    plan::ir::VariableOp::create(
        b, loc(), symbols.variables[i].getAttr(), b.getStringAttr(textOf(variable->name())),
        device(plan.arenas()->Get(variable->arena())->device()),
        b.getStringAttr(textOf(variable->mirror_of())), i64(variable->offset()),
        i64(variable->size()), tensorType(variable->type()), ElementsAttr(),
        symbols.arenas[variable->arena()]);
  }

  FlatSymbolRefAttr homeOf(const fb::Constant &constant) {
    return constant.home() < plan.devices()->size() ? device(constant.home()) : FlatSymbolRefAttr();
  }

  StringAttr stringAt(uint32_t index) {
    bool known = index < plan::countOf(plan.strings());
    return b.getStringAttr(known ? textOf(plan.strings()->Get(index)) : "");
  }

  /// Items and grain stand on the launches of a kernel; all of them agree.
  void readKernel(uint32_t number) {
    const fb::Kernel *kernel = plan.kernels()->Get(number);
    uint64_t items = 1, grain = 1, scratch = 0;
    for (const fb::Function *f : plan::allFunctions(plan))
      for (const fb::Block *block : plan::each(f->blocks()))
        for (const fb::Command *command : plan::each(block->commands()))
          if (command->opcode() == fb::Opcode::launch &&
              plan.kernels()->Get(command->kernel()) == kernel) {
            items = command->items();
            grain = command->grain();
            if (command->has_scratch())
              scratch = (*command->buffers())[command->buffers()->size() - 1]->size();
          }
    plan::ir::KernelOp::create(b, loc(), symbols.kernels[number].getAttr(), i64(items), i64(grain),
                               i64(scratch), variantsOf(*kernel));
  }

  ArrayAttr variantsOf(const fb::Kernel &kernel) {
    SmallVector<Attribute> variants;
    for (const plan::KernelVariant &variant : plan::variantsOf(plan, kernel))
      variants.push_back(readVariant(kernel, variant));
    return b.getArrayAttr(variants);
  }

  plan::ir::VariantAttr readVariant(const fb::Kernel &kernel, const plan::KernelVariant &variant) {
    auto extent = [&](const fb::Extent *e) {
      return e ? b.getDenseI64ArrayAttr({e->x(), e->y(), e->z()}) : DenseI64ArrayAttr();
    };
    SmallVector<StringRef> features(variant.features.begin(), variant.features.end());
    bool hasArch = variant.archMin || variant.archMax;
    return plan::ir::VariantAttr::get(
        b.getContext(), variant.driver,
        variant.source == fb::KernelSource::code ? symbols.code[variant.code] : FlatSymbolRefAttr(),
        variant.library, variant.libraryVersion, variant.source == fb::KernelSource::registered,
        variant.symbol == kernel.symbol()->string_view() ? "" : StringRef(variant.symbol),
        features.empty() ? ArrayAttr() : b.getStrArrayAttr(features),
        hasArch ? b.getDenseI64ArrayAttr({variant.archMin, variant.archMax}) : DenseI64ArrayAttr(),
        variant.items, variant.grain, variant.scratch, extent(variant.grid), extent(variant.block),
        variant.sharedMemory);
  }

  void readCode(uint32_t i) {
    const fb::Code *code = plan.code()->Get(i);
    plan::ir::CodeOp::create(
        b, loc(), symbols.code[i].getAttr(),
        plan::ir::CodeKindAttr::get(b.getContext(), plan::ir::CodeKind(code->kind())),
        b.getStringAttr(textOf(code->target())), texts(code->features()), i64(code->size()),
        ElementsAttr());
  }

  ArrayAttr texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *all) {
    SmallVector<Attribute> out;
    for (const flatbuffers::String *text : plan::each(all))
      out.push_back(b.getStringAttr(textOf(text)));
    return b.getArrayAttr(out);
  }

  ArrayAttr bindings(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *entries) {
    SmallVector<Attribute> out;
    for (const fb::Binding *entry : plan::each(entries))
      out.push_back(plan::ir::BindingAttr::get(b.getContext(), textOf(entry->name()),
                                               tensorType(entry->type()).getValue(),
                                               device(entry->device())));
    return b.getArrayAttr(out);
  }

  void readFunction(unsigned index, const fb::Function *f) {
    OpBuilder::InsertionGuard guard(b);
    auto op = plan::ir::FuncOp::create(b, loc(), symbols.functions[index].getAttr(),
                                       bindings(f->inputs()), bindings(f->outputs()),
                                       b.getArrayAttr({}), f == plan.load());
    function = f;
    values.clear();
    for (const fb::Value *value : plan::each(f->values()))
      values[placeOf(*value->buffer())].push_back(value);
    buffers.clear();
    number = 0;
    body = b.createBlock(&op.getBody());
    readBlock(0);
  }

  //===------------------------------------------------------------------===//
  // Commands
  //===------------------------------------------------------------------===//

  static Place placeOf(const fb::BufferRef &ref) {
    return {unsigned(ref.space()), ref.index(), ref.offset(), ref.size()};
  }

  /// The value that lives at `ref` while command `number` runs, if the plan says.
  const fb::Value *valueAt(const fb::BufferRef &ref) {
    auto here = values.find(placeOf(ref));
    if (here != values.end())
      for (const fb::Value *value : here->second)
        if (value->first() <= number && number <= value->last())
          return value;
    return nullptr;
  }

  /// Declared at the top of the function, so that every region sees it.
  Value bufferOf(const fb::BufferRef &ref) {
    const fb::Value *value = ref.space() == fb::Space::arena ? valueAt(ref) : nullptr;
    Value &known = buffers[{unsigned(ref.space()), ref.index(), ref.offset(), ref.size(), value}];
    if (known)
      return known;
    OpBuilder::InsertionGuard guard(b);
    if (buffers.size() == 1)
      b.setInsertionPointToStart(body);
    else
      b.setInsertionPointAfterValue(std::prev(buffers.end(), 2)->second);
    if (ref.space() == fb::Space::input)
      return known = plan::ir::InputOp::create(b, loc(), buffer, i64(ref.index()), i64(ref.size()));
    if (ref.space() == fb::Space::output) {
      auto output = plan::ir::OutputOp::create(b, loc(), buffer, i64(ref.index()), i64(ref.size()));
      if (uint32_t over = function->outputs()->Get(ref.index())->over(); over != plan::nothingSaid)
        output->setAttr(kOverAttr, i64(over));
      if (ref.offset() != 0)
        memory::setBegin(output, ref.offset());
      return known = output;
    }
    if (auto constant = constants.find({ref.index(), ref.offset(), ref.size()});
        constant != constants.end())
      return known = plan::ir::UseOp::create(b, loc(), buffer, symbols.constants[constant->second],
                                             i64(ref.size()));
    if (auto variable = variables.find({ref.index(), ref.offset(), ref.size()});
        variable != variables.end())
      return known = plan::ir::StateOp::create(
                 b, loc(), buffer, symbols.variables[variable->second], i64(ref.size()));
    return known = plan::ir::BufferDeclOp::create(
               b, loc(), buffer, i64(ref.size()), device(plan.arenas()->Get(ref.index())->device()),
               symbols.arenas[ref.index()], i64(ref.offset()),
               b.getStringAttr(value ? textOf(value->name()) : ""),
               tensorType(value ? value->type() : nullptr));
  }

  void readBlock(uint32_t index) {
    for (const fb::Command *command : plan::each(function->blocks()->Get(index)->commands())) {
      readCommand(command);
      if (command->opcode() != fb::Opcode::branch && command->opcode() != fb::Opcode::loop)
        ++number;
    }
  }

  void readExchange(uint32_t i) {
    const fb::Exchange &exchange = *plan.exchanges()->Get(i);
    SmallVector<Attribute> members;
    for (uint32_t member : plan::each(plan.groups()->Get(exchange.group())->devices()))
      members.push_back(device(member));
    auto list = [&](const auto *numbers) {
      SmallVector<int64_t> all;
      for (auto number : plan::each(numbers))
        all.push_back(int64_t(number));
      return b.getDenseI64ArrayAttr(all);
    };
    plan::ir::ExchangeOp::create(
        b, loc(), symbols.exchanges[i].getAttr(),
        ExchangeKindAttr::get(b.getContext(), ExchangeKind(exchange.kind())),
        b.getArrayAttr(members), list(exchange.sizes()),
        plan::countOf(exchange.rows()) ? list(exchange.rows()) : DenseI64ArrayAttr(),
        stringAt(exchange.cause()), b.getStringAttr(textOf(exchange.name())));
  }

  /// Of two buffers the first is read. One alone is of a message or a broadcast, whose first member
  /// brings what the others get.
  void readPart(const fb::Command *command, ArrayRef<Value> all, StringAttr name,
                StringAttr place) {
    const bool isBoth = all.size() > 1, isFirst = command->rank() == 0;
    plan::ir::PartOp::create(b, loc(), i64(command->rank()), symbols.exchanges[command->exchange()],
                             isBoth || isFirst ? all.front() : Value(),
                             isBoth || !isFirst ? all.back() : Value(), device(command->device()),
                             i64(command->queue()), name, place);
  }

  void readConditions(const fb::Command *command) {
    SmallVector<Value> conditions;
    for (const fb::BufferRef *ref : plan::each(command->conditions()))
      conditions.push_back(bufferOf(*ref));
    if (conditions.size() > 1)
      plan::ir::ConditionsOp::create(b, loc(), ArrayRef(conditions).drop_front());
  }

  void readRegion(Region &region, uint32_t block) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region);
    readBlock(block);
  }

  ArrayAttr furtherValues(const fb::Command &copy) {
    SmallVector<Attribute> also;
    for (const fb::CopiedValue *value : plan::each(copy.also()))
      also.push_back(plan::ir::CopiedAttr::get(b.getContext(), textOf(value->name()),
                                               textOf(value->location()),
                                               stringAt(value->cause())));
    return b.getArrayAttr(also);
  }

  void readLaunch(const fb::Command *command, ArrayRef<Value> all, StringAttr name,
                  StringAttr place) {
    SmallVector<Attribute> logNames;
    for (const flatbuffers::String *log : plan::each(command->log_names()))
      logNames.push_back(b.getStringAttr(textOf(log)));
    ValueRange inputs = ValueRange(all).drop_back(command->num_results());
    ValueRange outputs = ValueRange(all).take_back(command->num_results());
    Value scratch;
    if (command->has_scratch()) {
      scratch = outputs.back();
      outputs = outputs.drop_back();
    }
    plan::ir::LaunchOp::create(b, loc(), symbols.kernels[command->kernel()],
                               device(command->device()), name, place, b.getArrayAttr(logNames),
                               i64(command->items()), i64(command->grain()), inputs, outputs,
                               scratch, i64(command->flops()), i64(command->bytes()));
  }

  void readCheck(const fb::Command *command, ArrayRef<Value> all, StringAttr name,
                 StringAttr place) {
    const fb::IndexCheck &about = *command->index_check();
    auto numbers = [&](const flatbuffers::Vector<int64_t> *list) {
      return b.getDenseI64ArrayAttr(list ? ArrayRef<int64_t>(list->data(), list->size())
                                         : ArrayRef<int64_t>());
    };
    plan::ir::CheckOp::create(b, loc(), all.front(), ValueRange(all).drop_front(),
                              b.getStringAttr(textOf(about.operand())), numbers(about.shape()),
                              numbers(about.sizes()), device(command->device()), name,
                              b.getStringAttr(textOf(about.source_op())), place,
                              about.says() ? b.getStringAttr(textOf(about.says())) : StringAttr());
  }

  void readCommand(const fb::Command *command) {
    StringAttr name = b.getStringAttr(textOf(command->name())),
               place = b.getStringAttr(textOf(command->location()));
    SmallVector<Value> all;
    for (const fb::BufferRef *ref : plan::each(command->buffers()))
      all.push_back(bufferOf(*ref));
    switch (command->opcode()) {
    case fb::Opcode::launch:
      return readLaunch(command, all, name, place);
    case fb::Opcode::copy: {
      SmallVector<Value> sources, targets;
      for (auto [i, buffer] : llvm::enumerate(all))
        (i % 2 == 0 ? sources : targets).push_back(buffer);
      plan::ir::CopyOp::create(b, loc(), sources, targets, device(command->device()), name, place,
                               i64(command->queue()), stringAt(command->cause()),
                               furtherValues(*command));
      return;
    }
    case fb::Opcode::branch: {
      readConditions(command);
      auto op = plan::ir::IfOp::create(b, loc(), bufferOf(*command->condition()));
      if (command->library())
        op->setAttr(kLibraryAttr, b.getStringAttr(textOf(command->library())));
      ++number;
      readRegion(op.getThenBody(), command->blocks()->Get(0));
      readRegion(op.getElseBody(), command->blocks()->Get(1));
      return;
    }
    case fb::Opcode::loop: {
      readConditions(command);
      auto op = plan::ir::WhileOp::create(b, loc(), bufferOf(*command->condition()),
                                          command->trips() ? i64(command->trips()) : IntegerAttr());
      ++number;
      readRegion(op.getConditionBody(), command->blocks()->Get(0));
      readRegion(op.getBody(), command->blocks()->Get(1));
      return;
    }
    case fb::Opcode::signal:
      plan::ir::SignalOp::create(b, loc(), i64(command->signal()), device(command->device()),
                                 i64(command->queue()));
      return;
    case fb::Opcode::wait:
      plan::ir::WaitOp::create(b, loc(), i64(command->signal()), device(command->device()),
                               i64(command->queue()));
      return;
    case fb::Opcode::check:
      return readCheck(command, all, name, place);
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      return readPart(command, all, name, place);
    case fb::Opcode::fill: // the compiler makes none
      return;
    }
  }
};
} // namespace

OwningOpRef<ModuleOp> gantry::readPlan(const plan::PlanFile &file, MLIRContext *context) {
  context->loadDialect<plan::ir::PlanDialect>();
  Reader reader(file.plan(), context);
  reader.read();
  return reader.module;
}
