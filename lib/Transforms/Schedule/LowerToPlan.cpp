// Turns launches of values into commands over buffers.
//
// Each value gets a buffer: a place in the caller's input or output, a constant's, or a transient
// one that Memory will place. Views share the buffer of their source. Control flow has no values
// any more: results of a branch and the carried values of a loop are buffers, written by copies; or
// by what makes the value, when nothing else needs what was there before, so that a loop that fills
// an array a row a step moves only the rows.

#include "Declarations.h"
#include "Donations.h"
#include "JoinOutputs.h"
#include "Overwrite.h"
#include "gantry/Analysis/Flow.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Gantry/IR/Notes.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_LOWERTOPLANPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// One function on its way.
struct FunctionLowering {
  Declarations &state;
  const Homes &homes;
  func::FuncOp func;
  OpBuilder builder;
  DenseMap<Value, Value> buffers;                       ///< of values that are not constants
  DenseMap<std::pair<Attribute, unsigned>, Value> uses; ///< of constants, by symbol
  DenseMap<Value, unsigned> places;                     ///< devices of buffers
  DenseMap<Attribute, Value> variables;                 ///< buffers, by symbol
  DenseMap<Value, BlockArgument> argumentsOf;           ///< of the function, by buffer
  SmallVector<Attribute> placed;
  commands::FuncOp target;
  bool inPlace; ///< whether results may take the place of operands

  FunctionLowering(Declarations &state, const Homes &homes, func::FuncOp func, bool inPlace)
      : state(state), homes(homes), func(func), builder(func.getContext()), inPlace(inPlace) {}

  StringAttr text(StringRef s) { return builder.getStringAttr(s); }
  Type bufferType() { return commands::BufferType::get(func.getContext()); }

  StringAttr nameOf(Operation *op) {
    auto name = op ? op->getAttrOfType<StringAttr>(kNameAttr) : StringAttr();
    return name ? name : text("");
  }

  /// Of a copy without a name, that of what it brings.
  StringAttr nameOf(Value value) {
    value = skipViews(value);
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      auto name = arg.getOwner()->getParentOp() == func
                      ? func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), kNameAttr)
                      : StringAttr();
      return name ? name : text("");
    }
    auto copy = value.getDefiningOp<CopyOp>();
    return copy && !copy->hasAttr(kNameAttr) ? nameOf(copy.getInput())
                                             : nameOf(value.getDefiningOp());
  }

  unsigned deviceOf(Operation *op) {
    return state.device(op->getAttrOfType<DeviceAttr>(kDeviceAttr));
  }

  unsigned inputDevice(unsigned i) { return makerDevice(func.getArgument(i)); }
  unsigned outputDevice(unsigned i) {
    Operation *terminator = func.getBody().front().getTerminator();
    return state.device(homes.neededBy(terminator->getOpOperand(i)));
  }

  /// Device on which a value is made.
  unsigned makerDevice(Value value) { return state.device(homes.homeOf(value)); }

  //===------------------------------------------------------------------===//
  // Function
  //===------------------------------------------------------------------===//

  LogicalResult lower() {
    Operation *terminator = func.getBody().front().getTerminator();
    builder.setInsertionPointToEnd(state.getModule().getBody());
    target = commands::FuncOp::create(builder, func.getLoc(), func.getSymName(),
                                      bindings(func.getArgumentTypes(), /*inputs=*/true),
                                      bindings(terminator->getOperandTypes(), /*inputs=*/false),
                                      builder.getArrayAttr({}), func->hasAttr(kAtLoadAttr));
    builder.setInsertionPointToStart(builder.createBlock(&target.getBody()));
    if (failed(declareInputs()))
      return failure();
    SmallVector<Value> outputs = declareOutputs(terminator);
    layOverInputs(terminator, outputs);
    updateInPlace(terminator);
    if (failed(lowerBlock(func.getBody().front())))
      return failure();
    returnValues(terminator, outputs);
    target.setPlacedAttr(builder.getArrayAttr(placed));
    return success();
  }

  /// The ops that ran at load are ops of each function that reads what they gave.
  void addPlaced(ArrayAttr atLoad) {
    if (!llvm::any_of(func.getArguments(), [&](BlockArgument arg) { return onceOf(arg); }))
      return;
    SmallVector<Attribute> all(atLoad.begin(), atLoad.end());
    all.append(placed);
    target.setPlacedAttr(builder.getArrayAttr(all));
  }

  FlatSymbolRefAttr variableOf(BlockArgument arg) {
    return func.getArgAttrOfType<FlatSymbolRefAttr>(arg.getArgNumber(), kVariableAttr);
  }
  FlatSymbolRefAttr variableOfResult(unsigned i) {
    return func.getResultAttrOfType<FlatSymbolRefAttr>(i, kVariableAttr);
  }

  IntegerAttr onceOf(BlockArgument arg) {
    return func.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), kOnceAttr);
  }

  /// The constant that an argument is which is computed at load.
  Value useMade(BlockArgument arg, int64_t output) {
    commands::ConstantOp constant =
        state.madeConstant(output, cast<RankedTensorType>(arg.getType()),
                           func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), kNameAttr),
                           inputDevice(arg.getArgNumber()), arg.getLoc());
    return commands::UseOp::create(builder, arg.getLoc(), bufferType(),
                                   FlatSymbolRefAttr::get(constant.getSymNameAttr()),
                                   constant.getSizeAttr());
  }

  /// Arguments are the caller's arrays, numbered without the others, variables, or constants that
  /// are computed at load.
  LogicalResult declareInputs() {
    unsigned next = 0;
    for (BlockArgument arg : func.getArguments()) {
      uint64_t size = byteSize(arg.getType());
      Value input;
      if (FlatSymbolRefAttr symbol = variableOf(arg)) {
        commands::VariableOp variable = state.variableFor(
            symbol, func.getArgAttrOfType<DeviceAttr>(arg.getArgNumber(), kDeviceAttr));
        if (!variable || variable.getType() != arg.getType())
          return func.emitError() << "argument " << arg.getArgNumber() << " is tied to '" << symbol
                                  << "', which is no variable of " << arg.getType();
        input = commands::StateOp::create(builder, arg.getLoc(), bufferType(),
                                          FlatSymbolRefAttr::get(variable.getSymNameAttr()),
                                          builder.getI64IntegerAttr(size));
        variables[symbol] = input;
      } else if (IntegerAttr output = onceOf(arg)) {
        input = useMade(arg, output.getInt());
      } else {
        input = commands::InputOp::create(builder, arg.getLoc(), bufferType(), next++, size);
      }
      buffers[arg] = input;
      argumentsOf[input] = arg;
      places[input] = inputDevice(arg.getArgNumber());
    }
    for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
      if (FlatSymbolRefAttr symbol = variableOfResult(i))
        if (Value input = variables.lookup(symbol);
            !input || input.getDefiningOp<commands::StateOp>().getSize() != byteSize(type))
          return func.emitError() << "result " << i << " is tied to '" << symbol
                                  << "', which is no argument of " << type;
    return success();
  }

  /// Outputs first: they may be what variables held before. Variables that get each other's values
  /// need all of these to be safe before any is overwritten.
  void returnValues(Operation *terminator, ArrayRef<Value> outputs) {
    struct Update {
      Value source, target;
      StringAttr name;
    };
    SmallVector<Update> updates;
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      Value target = outputs[i];
      Value source = bufferOf(value, places[target], "return");
      if (!variableOfResult(i))
        copyTo(source, target, terminator->getLoc(), nameOf(value), "return");
      else if (source != target)
        updates.push_back({source, target, nameOf(value)});
    }
    DenseSet<Value> overwritten;
    for (Update &update : updates)
      overwritten.insert(update.target);
    for (Update &update : updates)
      if (overwritten.contains(update.source)) {
        auto state = update.source.getDefiningOp<commands::StateOp>();
        Type bytes = RankedTensorType::get({int64_t(state.getSize())}, builder.getI8Type());
        Value safe = makeBuffer(bytes, update.name, terminator->getLoc(), places[update.source],
                                state.getSize());
        copyTo(update.source, safe, terminator->getLoc(), update.name, "return");
        update.source = safe;
      }
    for (Update &update : updates)
      copyTo(update.source, update.target, terminator->getLoc(), update.name, "return");
  }

  //===------------------------------------------------------------------===//
  // Variables
  //===------------------------------------------------------------------===//

  /// New values of variables are computed where the old ones are, when nothing reads those later
  /// and no check that comes later may end the run.
  void updateInPlace(Operation *terminator) {
    Operation *lastCheck = nullptr;
    func.walk([&](AssertIndicesOp check) {
      lastCheck = terminator->getBlock()->findAncestorOpInBlock(*check);
    });
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      Value root = skipViews(value);
      Operation *maker = root.getDefiningOp();
      if (!variableOfResult(i) || !isa_and_present<LaunchOp, CopyOp>(maker) ||
          (lastCheck && maker->isBeforeInBlock(lastCheck)) || buffers.contains(root) ||
          makerDevice(root) != outputDevice(i))
        continue;
      Value variable = variables.lookup(variableOfResult(i));
      if (!readerBehind(argumentsOf.lookup(variable), cast<OpResult>(root), state))
        buffers[root] = variable;
    }
  }

  ArrayAttr bindings(TypeRange types, bool inputs) {
    SmallVector<Attribute> entries;
    for (auto [i, type] : llvm::enumerate(types)) {
      if (inputs ? variableOf(func.getArgument(i)) || onceOf(func.getArgument(i))
                 : bool(variableOfResult(i)))
        continue;
      unsigned device = inputs ? inputDevice(i) : outputDevice(i);
      entries.push_back(commands::BindingAttr::get(
          builder.getContext(), inputs ? inputName(func, i) : outputName(func, i), type,
          state.symbolOf(device)));
    }
    return builder.getArrayAttr(entries);
  }

  /// What is given away lies in an output from the first command on, which copies nothing where the
  /// two are one array.
  void layOverInputs(Operation *terminator, ArrayRef<Value> outputs) {
    SmallVector<Output> candidates;
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (Value root = skipViews(value); !variableOfResult(i))
        candidates.push_back({unsigned(i), root, value.getType(), outputDevice(i),
                              makerDevice(root) == outputDevice(i) && isMadeInOutput(root)});
    for (auto [result, argument] :
         pairDonated(func, candidates, state, [&](unsigned i) { return inputDevice(i); })) {
      Value input = buffers[argument], output = outputs[result];
      output.getDefiningOp()->setAttr(kOverAttr, input.getDefiningOp()->getAttr("index"));
      copyTo(input, output, argument.getLoc(), nameOf(argument), "");
      buffers[argument] = output;
    }
  }

  /// Whether the value that is returned is computed (or copied from its device, or the result of a
  /// branch or loop) in the first output that it is; only when a command of the function itself
  /// makes it.
  static bool isMadeInOutput(Value root) {
    return isa_and_present<LaunchOp, CopyOp, RegionBranchOpInterface>(root.getDefiningOp());
  }

  SmallVector<Value> declareOutputs(Operation *terminator) {
    SmallVector<Value> outputs;
    unsigned next = 0;
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      if (FlatSymbolRefAttr variable = variableOfResult(i)) {
        outputs.push_back(variables.lookup(variable));
        continue;
      }
      auto output = commands::OutputOp::create(builder, func.getLoc(), bufferType(), next++,
                                               byteSize(value.getType()));
      outputs.push_back(output);
      places[output] = outputDevice(i);
      Value root = skipViews(value);
      if (isMadeInOutput(root) && !buffers.contains(root) && makerDevice(root) == outputDevice(i))
        buffers[root] = output;
    }
    return outputs;
  }

  //===------------------------------------------------------------------===//
  // Buffers
  //===------------------------------------------------------------------===//

  Value makeBuffer(Type type, StringAttr name, Location loc, unsigned device, uint64_t size) {
    Value buffer = commands::BufferDeclOp::create(
        builder, loc, bufferType(), builder.getI64IntegerAttr(size), state.symbolOf(device),
        FlatSymbolRefAttr(), IntegerAttr(), name, TypeAttr::get(type));
    places[buffer] = device;
    return buffer;
  }

  /// The buffer of a value; of a constant, the one on `device` in `layout`, which `use` made
  /// necessary.
  Value bufferOf(Value value, unsigned device, StringRef use, Attribute layout = {}) {
    value = skipViews(value);
    if (auto constant = value.getDefiningOp<ConstantOp>())
      return useConstant(constant, device, use, layout);
    if (Value known = buffers.lookup(value))
      return known;
    Value buffer;
    if (OpResult carried = onlyCarriedBy(value);
        carried && makerDevice(carried) == makerDevice(value))
      buffer = bufferOf(carried, device, use);
    else
      buffer = makeBuffer(value.getType(), nameOf(value), value.getLoc(), makerDevice(value),
                          byteSize(value.getType()));
    return buffers[value] = buffer;
  }

  /// The result of the loop that `value` is the first one of, made for that and nothing else.
  OpResult onlyCarriedBy(Value value) {
    Operation *maker = value.getDefiningOp();
    while (value.hasOneUse() && isView(*value.user_begin()))
      value = value.user_begin()->getResult(0);
    if (!isa_and_present<LaunchOp, CopyOp>(maker) || !value.hasOneUse())
      return {};
    OpOperand &use = *value.use_begin();
    OpResult carried = resultOf(use);
    bool isFirst = carried && carried.getOwner() == use.getOwner();
    return isFirst && carried.getOwner()->getBlock() == maker->getBlock() ? carried : OpResult();
  }

  /// At the top of the function, whatever region uses it first.
  Value useConstant(ConstantOp constant, unsigned device, StringRef use, Attribute layout) {
    commands::ConstantOp declared = state.constantFor(constant, device, use, layout);
    StringAttr symbol = declared.getSymNameAttr();
    Value &buffer = uses[{symbol, device}];
    if (buffer)
      return buffer;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    buffer = commands::UseOp::create(builder, constant.getLoc(), bufferType(),
                                     FlatSymbolRefAttr::get(symbol), declared.getSizeAttr());
    places[buffer] = device;
    return buffer;
  }

  /// The device whose queue a copy is on, and the number of the queue.
  std::pair<unsigned, unsigned> queueOf(unsigned from, unsigned to) {
    if (from == to)
      return {to, 0};
    bool fromGPU = *state.logical(from).name.type == DeviceType::GPU;
    bool toGPU = *state.logical(to).name.type == DeviceType::GPU;
    if (fromGPU && !toGPU)
      return {from, 2};
    // Between CPUs there is no engine that copies beside the computing.
    return {to, toGPU ? (fromGPU ? 3 : 1) : 0};
  }

  void copyTo(Value source, Value target, Location loc, StringAttr name, StringRef cause) {
    if (source == target)
      return;
    auto [device, queue] = queueOf(places.at(source), places.at(target));
    commands::CopyOp::create(builder, loc, source, target, state.symbolOf(device), name,
                             text(describeLocation(loc)), builder.getI64IntegerAttr(queue),
                             text(queue ? cause : ""), builder.getArrayAttr({}));
  }

  //===------------------------------------------------------------------===//
  // Ops
  //===------------------------------------------------------------------===//

  LogicalResult lowerBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(lowerOp(op)))
        return failure();
    return success();
  }

  LogicalResult lowerOp(Operation &op) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      return lowerLaunch(launch);
    if (auto branch = dyn_cast<IfOp>(op))
      return lowerIf(branch);
    if (auto loop = dyn_cast<WhileOp>(op))
      return lowerWhile(loop);
    if (auto copy = dyn_cast<CopyOp>(op))
      return lowerCopy(copy);
    if (auto check = dyn_cast<AssertIndicesOp>(op))
      return lowerCheck(check);
    if (auto part = dyn_cast<AllReduceOp>(op))
      return lowerAllReduce(part);
    if (isa<ConstantOp>(op) || isView(&op))
      return success();
    return op.emitOpError("has no command in a plan");
  }

  /// A constant is read on the device that it was put on, else it is there already.
  LogicalResult lowerCopy(CopyOp copy) {
    unsigned to = state.device(copy.getDevice());
    Value root = skipViews(copy.getInput());
    auto constant = root.getDefiningOp<ConstantOp>();
    unsigned from = constant && constant->hasAttr(kDeviceAttr) ? deviceOf(constant) : to;
    StringAttr cause = copy.getCauseAttr();
    Value source = bufferOf(copy.getInput(), from, "");
    copyTo(source, bufferOf(copy.getResult(), to, ""), copy.getLoc(), nameOf(copy.getResult()),
           cause ? cause.getValue() : "");
    return success();
  }

  /// A run that ends here has changed no variable: none is written before.
  LogicalResult lowerCheck(AssertIndicesOp op) {
    Value first = bufferOf(op.getFirst(), state.host(), op.getReader());
    llvm::SetVector<Value> held;
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (FlatSymbolRefAttr variable = variableOfResult(i))
        held.insert(variables.lookup(variable));
    commands::CheckOp::create(builder, op.getLoc(), first, held.getArrayRef(), op.getIndicesAttr(),
                              op.getShapeAttr(), op.getSizesAttr(), state.symbolOf(state.host()),
                              op.getReaderAttr(), op.getSourceOpAttr(),
                              text(describeLocation(op.getLoc())));
    return success();
  }

  FailureOr<SmallVector<Value>> readBuffers(LaunchOp launch, unsigned device) {
    SmallVector<Value> inputs;
    for (OpOperand &operand : launch->getOpOperands()) {
      Value buffer = bufferOf(operand.get(), device, nameOf(launch), state.layoutOf(operand));
      if (places.at(buffer) != device)
        return launch.emitOpError()
               << "runs on '" << state.logical(device).name.str() << "' and reads a value on '"
               << state.logical(places.at(buffer)).name.str() << "'; Copy was to bring it there";
      inputs.push_back(buffer);
    }
    return inputs;
  }

  LogicalResult lowerLaunch(LaunchOp launch) {
    StringAttr kernel = launch.getKernelAttr().getLeafReference();
    WorkAttr lowered = state.workOf(launch);
    if (!lowered)
      return launch.emitOpError() << "refers to '" << kernel.getValue()
                                  << "', which is not a lowered kernel";
    unsigned device = deviceOf(launch);
    FailureOr<SmallVector<Value>> inputs = readBuffers(launch, device);
    if (failed(inputs))
      return failure();
    takePlace(launch, lowered);
    SmallVector<Value> outputs;
    for (Value result : launch->getResults())
      outputs.push_back(bufferOf(result, device, ""));
    Value scratch;
    if (int64_t bytes = lowered.getScratch())
      scratch = makeBuffer(RankedTensorType::get({bytes}, builder.getI8Type()), text("scratch"),
                           launch.getLoc(), device, bytes);
    Work work = describeOps(launch, device);
    auto command = commands::LaunchOp::create(
        builder, launch.getLoc(), FlatSymbolRefAttr::get(kernel), state.symbolOf(device),
        nameOf(launch), text(describeLocation(launch.getLoc())), logNamesOf(launch),
        builder.getI64IntegerAttr(lowered.getItems()),
        builder.getI64IntegerAttr(lowered.getGrain()), *inputs, outputs, scratch,
        builder.getI64IntegerAttr(work.flops), builder.getI64IntegerAttr(work.bytes));
    for (StringRef note : {memory::kJoinsAttr, memory::kCutsAttr})
      if (Attribute what = launch->getAttr(note))
        command->setAttr(note, what);
    return success();
  }

  /// A result without a place of its own is computed in that of an operand that ends here.
  void takePlace(LaunchOp launch, WorkAttr work) {
    Value ended = inPlace ? valueToOverwrite(launch, work) : Value();
    Value place = ended ? buffers.lookup(ended) : Value();
    Value result = place ? launch->getResult(0) : Value();
    if (result && place.getDefiningOp<commands::BufferDeclOp>() && !buffers.contains(result) &&
        !onlyCarriedBy(result))
      buffers[result] = place;
  }

  /// A device's part of what a library does for several: a launch of a kernel that only the library
  /// has, without any scratch memory of the plan's.
  LogicalResult lowerAllReduce(AllReduceOp part) {
    unsigned device = deviceOf(part);
    Value input = bufferOf(part.getValues()[0], device, nameOf(part));
    Value output = bufferOf(part.getResults()[0], device, "");
    if (places.at(input) != device || places.at(output) != device)
      return part.emitOpError() << "has its value on another device; Copy was to bring it there";
    uint64_t bytes = byteSize(part.getValues()[0].getType());
    commands::LaunchOp::create(
        builder, part.getLoc(), state.kernelFor(part), state.symbolOf(device), nameOf(part),
        text(describeLocation(part.getLoc())), builder.getArrayAttr(text("AllReduce")),
        builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(1), input, output, Value(),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(2 * bytes));
    return success();
  }

  ArrayAttr logNamesOf(LaunchOp launch) {
    SmallVector<Attribute> names;
    for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>())
      names.push_back(text(op.getLogName()));
    return builder.getArrayAttr(names);
  }

  /// Lists the ops inside for the placement log; gives what the kernel does as a whole.
  Work describeOps(LaunchOp launch, unsigned device) {
    Work work;
    if (launch.getOps().empty())
      return work;
    ElementType element = ElementType::f32;
    if (launch->getNumResults())
      element = elementTypeOf(launch->getResult(0).getType());
    for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>()) {
      Work own{op.getFlops(), op.getBytes(), element};
      work.flops += own.flops;
      work.bytes += own.bytes;
      placed.push_back(describeOp(launch, op, device, own));
    }
    // What goes from op to op inside a kernel does not go through memory.
    uint64_t outside = 0;
    for (Type type : launch->getOperandTypes())
      outside += byteSize(type);
    for (Type type : launch->getResultTypes())
      outside += byteSize(type);
    work.bytes = std::min(work.bytes, outside);
    return work;
  }

  Attribute describeOp(LaunchOp launch, LaunchedOpAttr op, unsigned device, const Work &work) {
    ArrayAttr rejected;
    DecisionAttr decision = op.getDecision();
    if (decision && !decision.getRejected().empty())
      rejected = builder.getArrayAttr(
          SmallVector<Attribute>(decision.getRejected().begin(), decision.getRejected().end()));
    FloatAttr seconds;
    if (work.flops || work.bytes)
      seconds = builder.getF64FloatAttr(state.costs().seconds(device, work));
    return commands::PlacedAttr::get(
        builder.getContext(), op.getLogName(), state.symbolOf(device),
        FlatSymbolRefAttr::get(launch.getKernelAttr().getLeafReference()), op.getName(),
        op.getLocation(), op.getFlops(), op.getBytes(), decision ? decision.getRule() : "default",
        decision ? decision.getReason() : "", rejected, decision && decision.getFallBack(), seconds,
        op.getNode(), op.getSourceOp(), op.getKind(), func->hasAttr(kAtLoadAttr));
  }

  /// Lowers a region in place; `finish` comes before its end.
  LogicalResult lowerRegion(Region &source, Region &target, function_ref<void(ValueRange)> finish) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(target.empty() ? builder.createBlock(&target)
                                                    : &target.front());
    if (failed(lowerBlock(source.front())))
      return failure();
    finish(source.front().getTerminator()->getOperands());
    return success();
  }

  LogicalResult lowerIf(IfOp op) {
    Value condition = bufferOf(op.getCondition(), state.host(), nameOf(op));
    SmallVector<Value> results;
    for (Value result : op.getResults())
      results.push_back(bufferOf(result, 0, ""));
    for (Region *region : {&op.getThenBody(), &op.getElseBody()})
      makeIn(*region, results);
    auto branch = commands::IfOp::create(builder, op.getLoc(), condition);
    if (Attribute library = op->getAttr(kLibraryAttr))
      branch->setAttr(kLibraryAttr, library);
    auto finish = [&](ValueRange yielded) {
      for (auto [value, result] : llvm::zip(yielded, results))
        copyTo(bufferOf(value, places.at(result), nameOf(op)), result, op.getLoc(), nameOf(op),
               nameOf(op));
    };
    return success(succeeded(lowerRegion(op.getThenBody(), branch.getThenBody(), finish)) &&
                   succeeded(lowerRegion(op.getElseBody(), branch.getElseBody(), finish)));
  }

  LogicalResult lowerWhile(WhileOp op) {
    SmallVector<Value> carried;
    for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
      Value buffer = bufferOf(result, 0, "");
      carried.push_back(buffer);
      copyTo(bufferOf(init, places.at(buffer), nameOf(op)), buffer, op.getLoc(), nameOf(op),
             nameOf(op));
    }
    for (Region *region : {&op.getConditionBody(), &op.getBody()})
      for (auto [argument, buffer] : llvm::zip(region->getArguments(), carried))
        buffers[argument] = buffer;
    carryInPlace(op.getBody().front(), carried);
    Type flagType = RankedTensorType::get({}, builder.getI1Type());
    Value flag = makeBuffer(flagType, text("condition"), op.getLoc(), state.host(), 1);
    makeIn(op.getConditionBody(), flag);
    auto loop = commands::WhileOp::create(builder, op.getLoc(), flag,
                                          op->getAttrOfType<IntegerAttr>(kTripsAttr));
    auto test = [&](ValueRange yielded) {
      copyTo(bufferOf(yielded[0], state.host(), nameOf(op)), flag, op.getLoc(), text("condition"),
             nameOf(op));
    };
    auto next = [&](ValueRange yielded) { carry(op, yielded, carried); };
    return success(succeeded(lowerRegion(op.getConditionBody(), loop.getConditionBody(), test)) &&
                   succeeded(lowerRegion(op.getBody(), loop.getBody(), next)));
  }

  /// Whether a command of the block makes the value, and may do so in `buffer`.
  bool mayBeMadeIn(Value root, Block &block, Value buffer) {
    Operation *maker = root.getDefiningOp();
    return isa_and_present<LaunchOp, CopyOp, AllReduceOp>(maker) && maker->getBlock() == &block &&
           !buffers.contains(root) && makerDevice(root) == places.at(buffer);
  }

  /// What a region yields is made where it is wanted; nothing is there before.
  void makeIn(Region &region, ArrayRef<Value> wanted) {
    for (auto [value, buffer] : llvm::zip(region.front().getTerminator()->getOperands(), wanted))
      if (Value root = skipViews(value); mayBeMadeIn(root, region.front(), buffer))
        buffers[root] = buffer;
  }

  /// The next values are made where the ones before are, when nothing of the body reads those
  /// later.
  void carryInPlace(Block &body, ArrayRef<Value> carried) {
    for (auto [argument, buffer, value] :
         llvm::zip(body.getArguments(), carried, body.getTerminator()->getOperands())) {
      Value root = skipViews(value);
      if (mayBeMadeIn(root, body, buffer) && !readerBehind(argument, cast<OpResult>(root), state))
        buffers[root] = buffer;
    }
  }

  /// Copies the next values into the carried ones; all of them must be safe before any is
  /// overwritten.
  void carry(WhileOp op, ValueRange yielded, ArrayRef<Value> carried) {
    SmallVector<Value> next;
    DenseSet<Value> overwritten(carried.begin(), carried.end());
    for (auto [value, buffer] : llvm::zip(yielded, carried)) {
      Value source = bufferOf(value, places.at(buffer), nameOf(op));
      if (source != buffer && overwritten.contains(source)) {
        Value safe = makeBuffer(value.getType(), text("next"), op.getLoc(), places.at(buffer),
                                byteSize(value.getType()));
        copyTo(source, safe, op.getLoc(), text("next"), nameOf(op));
        source = safe;
      }
      next.push_back(source);
    }
    for (auto [source, buffer] : llvm::zip(next, carried))
      copyTo(source, buffer, op.getLoc(), nameOf(op), nameOf(op));
  }
};

struct LowerToPlan : gantry::impl::LowerToPlanPassBase<LowerToPlan> {
  using LowerToPlanPassBase::LowerToPlanPassBase;

  void runOnOperation() override {
    if (!getOperation()->hasAttr(kTopologyAttr)) {
      getOperation().emitError("the module has no topology");
      return signalPassFailure();
    }
    Declarations declarations(getOperation());
    declarations.declareDevices(also);
    declarations.declareKernels();
    Homes homes(getOperation());
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    // First what runs at load: the others tell of its ops, too.
    llvm::stable_sort(funcs, [](func::FuncOp a, func::FuncOp b) {
      return a->hasAttr(kAtLoadAttr) > b->hasAttr(kAtLoadAttr);
    });
    ArrayAttr atLoad = ArrayAttr::get(&getContext(), {});
    for (func::FuncOp func : funcs) {
      if (!func.isPublic() || func.isExternal())
        continue;
      FunctionLowering lowering(declarations, homes, func, inPlace);
      if (failed(lowering.lower()))
        return signalPassFailure();
      if (func->hasAttr(kAtLoadAttr)) {
        atLoad = lowering.target.getPlaced();
        continue;
      }
      lowering.addPlaced(atLoad);
      if (inPlace)
        joinOutputs(lowering.target);
    }
    declarations.declareOtherVariables();
    // Only now: declarations are inserted in front of the first one.
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
