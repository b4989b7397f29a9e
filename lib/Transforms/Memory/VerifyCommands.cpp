// Last in Memory: an independent judge over what Schedule and Memory made (Judge/QueueProgram.h).
// This only writes the plan's functions down for it, and says what it found; it asks nothing of the
// passes that ordered the queues and placed the buffers.

#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"
#include "gantry/Judge/QueueProgram.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYCOMMANDSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// Where bytes can be: an arena, by device and kind, or an array of the caller's, by its number.
enum class Room : unsigned { constants, variables, transient, input, output };
using Space = std::pair<Attribute, unsigned>;

/// What the judge is told of a function (or, without one, of the module), and what its numbers
/// stand for.
class Writer {
public:
  explicit Writer(ModuleOp module) {
    for (auto constant : module.getOps<plan::ir::ConstantOp>())
      residents[constant.getSymNameAttr()] = constant;
    for (auto variable : module.getOps<plan::ir::VariableOp>())
      residents[variable.getSymNameAttr()] = variable;
  }

  /// All constants and variables, without any commands.
  LogicalResult writeResidents(ModuleOp module) {
    for (Operation &op : module.getOps())
      if (isa<plan::ir::ConstantOp, plan::ir::VariableOp>(op) && failed(addResident(&op)))
        return failure();
    return success();
  }

  LogicalResult write(plan::ir::FuncOp func) { return addSteps(func.getBody()); }

  /// What the judge says of it; the error is at the op that it found.
  LogicalResult judge(Operation *whole) {
    std::optional<judge::Fault> fault = judge::findFault(program);
    return fault ? report(*fault, whole) : success();
  }

private:
  DenseMap<StringAttr, Operation *> residents; ///< by symbol
  judge::QueueProgram program;
  SmallVector<Operation *> ops;          ///< by step
  SmallVector<Operation *> buffers;      ///< by buffer: what declares it
  DenseMap<Operation *, uint32_t> known; ///< buffers by what declares them
  DenseMap<int64_t, uint32_t> wholes;    ///< buffers that others are parts of, by their number
  DenseMap<int64_t, uint32_t> outputs;   ///< the same, of outputs
  DenseMap<Operation *, std::pair<uint64_t, uint64_t>> parts; ///< bytes, by what declares them
  DenseMap<Space, uint32_t> spaces;
  DenseMap<std::pair<Attribute, int64_t>, uint32_t> queues; ///< by device and number

  //===------------------------------------------------------------------===//
  // Buffers
  //===------------------------------------------------------------------===//

  uint32_t addBuffer(Operation *op, Attribute owner, Room room, uint64_t begin, uint64_t size) {
    bool isResident = room == Room::constants || room == Room::variables;
    uint32_t space = spaces.try_emplace({owner, unsigned(room)}, spaces.size()).first->second;
    program.buffers.push_back({space, begin, begin + size, isResident || room == Room::input,
                               isResident || room == Room::output});
    buffers.push_back(op);
    return known[op] = buffers.size() - 1;
  }

  FailureOr<uint32_t> addResident(Operation *op) {
    if (auto it = known.find(op); it != known.end())
      return it->second;
    if (auto constant = dyn_cast<plan::ir::ConstantOp>(op))
      return addBuffer(op, constant.getDeviceAttr(), Room::constants, constant.getOffset(),
                       constant.getSize());
    auto variable = cast<plan::ir::VariableOp>(op);
    if (!variable.getOffset())
      return variable.emitOpError("has no place in an arena after Memory");
    return addBuffer(op, variable.getDeviceAttr(), Room::variables, *variable.getOffset(),
                     variable.getSize());
  }

  FailureOr<uint32_t> addResident(Operation *user, FlatSymbolRefAttr symbol) {
    if (Operation *op = residents.lookup(symbol.getAttr()))
      return addResident(op);
    return user->emitOpError() << "refers to '" << symbol << "', which the module does not declare";
  }

  FailureOr<uint32_t> bufferOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto use = dyn_cast<plan::ir::UseOp>(op))
      return addResident(op, use.getConstantAttr());
    if (auto state = dyn_cast<plan::ir::StateOp>(op))
      return addResident(op, state.getVariableAttr());
    return known.lookup(op);
  }

  /// Where they are declared, so that an output that no command writes is there too.
  void addDeclaration(Operation &op) {
    if (auto input = dyn_cast<plan::ir::InputOp>(op))
      addBuffer(&op, input.getIndexAttr(), Room::input, 0, input.getSize());
    else if (auto output = dyn_cast<plan::ir::OutputOp>(op))
      addOutput(output);
    else if (auto buffer = dyn_cast<plan::ir::BufferDeclOp>(op))
      addTransient(buffer);
  }

  /// The whole, declared first, is one buffer, of which others may be parts.
  void addOutput(plan::ir::OutputOp op) {
    auto whole = outputs.find(op.getIndex());
    if (!op->hasAttr(kBeginsAttr) || whole == outputs.end()) {
      outputs[op.getIndex()] =
          addBuffer(op, op.getIndexAttr(), Room::output, memory::beginOf(op), op.getSize());
      return;
    }
    known[op] = whole->second;
    parts[op] = {memory::beginOf(op), memory::beginOf(op) + op.getSize()};
  }

  /// What shares bytes is one buffer, whose first declaration is the whole.
  void addTransient(plan::ir::BufferDeclOp op) {
    uint64_t begin = op.getOffset().value_or(0), end = begin + op.getSize();
    std::optional<memory::Share> share = memory::shareOf(op);
    if (auto whole = share ? wholes.find(share->whole) : wholes.end(); whole != wholes.end()) {
      known[op] = whole->second;
      parts[op] = {begin, end};
      return;
    }
    uint32_t added = addBuffer(op, op.getDeviceAttr(), Room::transient, begin, op.getSize());
    if (share)
      wholes[share->whole] = added;
  }

  //===------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------===//

  judge::Step &addStep(judge::Step::Kind kind, Operation *op) {
    ops.push_back(op);
    return program.steps.emplace_back(judge::Step{kind, 0, 0, {}});
  }

  uint32_t queueOf(Attribute device, int64_t number) {
    return queues.try_emplace({device, number}, queues.size()).first->second;
  }

  LogicalResult addUses(judge::Step &step, ValueRange values, bool writes) {
    for (Value value : values) {
      FailureOr<uint32_t> buffer = bufferOf(value);
      if (failed(buffer))
        return failure();
      judge::Use use{*buffer, writes};
      if (auto part = parts.find(value.getDefiningOp()); part != parts.end())
        std::tie(use.begin, use.end) = part->second;
      step.uses.push_back(use);
    }
    return success();
  }

  LogicalResult addSteps(Region &region) {
    for (Operation &op : region.front())
      if (failed(addSteps(op)))
        return failure();
    return success();
  }

  LogicalResult addSteps(Operation &op) {
    using Kind = judge::Step::Kind;
    addDeclaration(op);
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op)) {
      judge::Step &step = addStep(Kind::command, &op);
      step.queue = queueOf(launch.getDeviceAttr(), 0);
      return success(succeeded(addUses(step, launch.getInputs(), false)) &&
                     succeeded(addUses(step, launch.getOutputs(), true)) &&
                     (!launch.getScratch() || succeeded(addUses(step, launch.getScratch(), true))));
    }
    if (auto copy = dyn_cast<plan::ir::CopyOp>(op)) {
      judge::Step &step = addStep(Kind::command, &op);
      step.queue = queueOf(copy.getDeviceAttr(), copy.getQueue());
      return success(succeeded(addUses(step, copy.getSources(), false)) &&
                     succeeded(addUses(step, copy.getTargets(), true)));
    }
    if (auto check = dyn_cast<plan::ir::CheckOp>(op)) {
      judge::Step &step = addStep(Kind::command, &op);
      step.queue = queueOf(check.getDeviceAttr(), 0);
      return addUses(step, check->getOperands(), false);
    }
    if (auto part = dyn_cast<plan::ir::PartOp>(op)) {
      judge::Step &step = addStep(Kind::command, &op);
      step.queue = queueOf(part.getDeviceAttr(), part.getQueue());
      return success((!part.getSource() || succeeded(addUses(step, part.getSource(), false))) &&
                     (!part.getTarget() || succeeded(addUses(step, part.getTarget(), true))));
    }
    if (auto signal = dyn_cast<plan::ir::SignalOp>(op))
      addSemaphore(signal, Kind::signal);
    if (auto wait = dyn_cast<plan::ir::WaitOp>(op))
      addSemaphore(wait, Kind::wait);
    if (auto branch = dyn_cast<plan::ir::IfOp>(op))
      return addLists(branch, Kind::branch, branch.getThenBody(), Kind::otherwise,
                      branch.getElseBody());
    if (auto loop = dyn_cast<plan::ir::WhileOp>(op))
      return addLists(loop, Kind::loop, loop.getConditionBody(), Kind::body, loop.getBody());
    return success();
  }

  template <typename Op>
  void addSemaphore(Op op, judge::Step::Kind kind) {
    judge::Step &step = addStep(kind, op);
    step.queue = queueOf(op.getDeviceAttr(), op.getQueue());
    step.semaphore = op.getSemaphore();
  }

  template <typename Op>
  LogicalResult addLists(Op op, judge::Step::Kind kind, Region &first, judge::Step::Kind between,
                         Region &second) {
    if (failed(addUses(addStep(kind, op), plan::ir::conditionsOf(op), false)) ||
        failed(addSteps(first)))
      return failure();
    addStep(between, op);
    LogicalResult added = addSteps(second);
    addStep(judge::Step::Kind::end, op);
    return added;
  }

  //===------------------------------------------------------------------===//
  // What was found
  //===------------------------------------------------------------------===//

  /// `"fc1" on queue 2 of @d1`
  std::string describeStep(uint32_t step) const {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (step == judge::Fault::caller) {
      out << "the caller";
      return text;
    }
    Operation *op = ops[step];
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op))
      out << '"' << launch.getName() << "\" on queue 0 of " << launch.getDeviceAttr();
    else if (auto copy = dyn_cast<plan::ir::CopyOp>(op))
      out << "the copy of \"" << copy.getName() << "\" on queue " << copy.getQueue() << " of "
          << copy.getDeviceAttr();
    else if (auto part = dyn_cast<plan::ir::PartOp>(op))
      out << "part " << part.getRank() << " of \"" << part.getName() << "\" on queue "
          << part.getQueue() << " of " << part.getDeviceAttr();
    else if (auto check = dyn_cast<plan::ir::CheckOp>(op))
      out << "the check of \"" << check.getName() << "\" on queue 0 of " << check.getDeviceAttr();
    else
      out << (isa<plan::ir::IfOp>(op) ? "the branch" : "the loop");
    return text;
  }

  /// `"relu" (bytes 64 to 128 of the transient memory of @d1)`
  std::string describeBuffer(uint32_t index) const {
    std::string text;
    llvm::raw_string_ostream out(text);
    auto describe = [&](StringRef name, StringRef room, FlatSymbolRefAttr device) {
      const judge::Buffer &buffer = program.buffers[index];
      out << '"' << name << "\" (bytes " << buffer.begin << " to " << buffer.end << " of the "
          << room << " of " << device << ")";
    };
    llvm::TypeSwitch<Operation *>(buffers[index])
        .Case([&](plan::ir::InputOp op) { out << "input " << op.getIndex(); })
        .Case([&](plan::ir::OutputOp op) { out << "output " << op.getIndex(); })
        .Case([&](plan::ir::ConstantOp op) {
          describe(op.getName(), "constants", op.getDeviceAttr());
        })
        .Case([&](plan::ir::VariableOp op) {
          describe(op.getName(), "variables", op.getDeviceAttr());
        })
        .Case([&](plan::ir::BufferDeclOp op) {
          describe(op.getValue(), "transient memory", op.getDeviceAttr());
        });
    return text;
  }

  LogicalResult report(const judge::Fault &fault, Operation *whole) const {
    using Kind = judge::Fault::Kind;
    bool isStep = fault.step != judge::Fault::caller;
    InFlightDiagnostic error = (isStep ? ops[fault.step] : whole)->emitError();
    if (fault.kind == Kind::unsignalled || fault.kind == Kind::signalledTwice)
      return reportSemaphore(fault, error);
    std::string step = describeStep(fault.step), other;
    if (fault.kind != Kind::unwritten)
      other = describeStep(fault.other);
    error << step << (fault.writes ? " writes " : " reads ") << describeBuffer(fault.buffer);
    switch (fault.kind) {
    case Kind::unordered:
      error << ", " << other << (fault.otherWrites ? " writes " : " reads ")
            << describeBuffer(fault.otherBuffer) << ", and nothing orders them; expected a signal "
            << "after " << other << " and a wait before " << step;
      break;
    case Kind::overwritten:
      error << ", where " << other << (fault.other == judge::Fault::caller ? " gave " : " wrote ")
            << describeBuffer(fault.otherBuffer) << "; expected no byte of both while each holds "
            << "a value";
      break;
    case Kind::unwritten:
      error << ", of which nothing wrote bytes " << fault.begin << " to " << fault.end
            << " on some way there; expected a command that does";
      break;
    default:
      error << " and " << (fault.otherWrites ? "writes " : "reads ")
            << describeBuffer(fault.otherBuffer) << " with it; expected no byte of both";
    }
    return error;
  }

  LogicalResult reportSemaphore(const judge::Fault &fault, InFlightDiagnostic &error) const {
    error << "semaphore " << program.steps[fault.step].semaphore;
    if (fault.kind == judge::Fault::Kind::signalledTwice)
      return error << " is signalled twice; expected one signal each";
    return error << " is not signalled on every way to this wait; expected its signal before it, "
                    "in the same list of commands or one around it";
  }
};

struct VerifyCommands : gantry::impl::VerifyCommandsPassBase<VerifyCommands> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation();
    Writer residents(module);
    if (failed(residents.writeResidents(module)) || failed(residents.judge(module)))
      return signalPassFailure();
    for (auto func : module.getOps<plan::ir::FuncOp>()) {
      Writer writer(module);
      if (failed(writer.write(func)) || failed(writer.judge(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
