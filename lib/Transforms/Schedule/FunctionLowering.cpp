// What goes into a function and out of it, and the buffers of its values; see FunctionLowering.h.

#include "FunctionLowering.h"

#include "Donations.h"
#include "Overwrite.h"
#include "gantry/Analysis/Flow.h"
#include "gantry/Dialect/Gantry/IR/OpForm.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

StringAttr FunctionLowering::nameOf(Operation *op) {
  auto name = op ? op->getAttrOfType<StringAttr>(kNameAttr) : StringAttr();
  return name ? name : text("");
}

StringAttr FunctionLowering::nameOf(Value value) {
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

unsigned FunctionLowering::outputDevice(unsigned i) {
  Operation *terminator = func.getBody().front().getTerminator();
  return state.device(homes.neededBy(terminator->getOpOperand(i)));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult FunctionLowering::lower() {
  Operation *terminator = func.getBody().front().getTerminator();
  builder.setInsertionPointToEnd(state.getModule().getBody());
  target = plan::ir::FuncOp::create(builder, func.getLoc(), func.getSymName(),
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
  target->setAttr(kFormsAttr, builder.getArrayAttr(forms));
  return success();
}

void FunctionLowering::addPlaced(plan::ir::FuncOp atLoad) {
  if (!llvm::any_of(func.getArguments(), [&](BlockArgument arg) { return onceOf(arg); }))
    return;
  auto before = [&](ArrayAttr first, ArrayRef<Attribute> second) {
    SmallVector<Attribute> all(first.begin(), first.end());
    all.append(second.begin(), second.end());
    return builder.getArrayAttr(all);
  };
  target.setPlacedAttr(before(atLoad.getPlaced(), placed));
  target->setAttr(kFormsAttr, before(atLoad->getAttrOfType<ArrayAttr>(kFormsAttr), forms));
}

Value FunctionLowering::useMade(BlockArgument arg, int64_t output) {
  plan::ir::ConstantOp constant =
      state.madeConstant(output, cast<RankedTensorType>(arg.getType()),
                         func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), kNameAttr),
                         inputDevice(arg.getArgNumber()), arg.getLoc());
  return plan::ir::UseOp::create(builder, arg.getLoc(), bufferType(),
                                 FlatSymbolRefAttr::get(constant.getSymNameAttr()),
                                 constant.getSizeAttr());
}

LogicalResult FunctionLowering::declareInputs() {
  unsigned next = 0;
  for (BlockArgument arg : func.getArguments()) {
    uint64_t size = byteSize(arg.getType());
    Value input;
    if (FlatSymbolRefAttr symbol = variableOf(arg)) {
      plan::ir::VariableOp variable = state.variableFor(
          symbol, func.getArgAttrOfType<DeviceAttr>(arg.getArgNumber(), kDeviceAttr));
      if (!variable || variable.getType() != arg.getType())
        return func.emitError() << "argument " << arg.getArgNumber() << " is tied to '" << symbol
                                << "', which is no variable of " << arg.getType();
      input = plan::ir::StateOp::create(builder, arg.getLoc(), bufferType(),
                                        FlatSymbolRefAttr::get(variable.getSymNameAttr()),
                                        builder.getI64IntegerAttr(size));
      variables[symbol] = input;
    } else if (IntegerAttr output = onceOf(arg)) {
      input = useMade(arg, output.getInt());
    } else {
      input = plan::ir::InputOp::create(builder, arg.getLoc(), bufferType(), next++, size);
    }
    buffers[arg] = input;
    argumentsOf[input] = arg;
    places[input] = inputDevice(arg.getArgNumber());
  }
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (FlatSymbolRefAttr symbol = variableOfResult(i))
      if (Value input = variables.lookup(symbol);
          !input || input.getDefiningOp<plan::ir::StateOp>().getSize() != byteSize(type))
        return func.emitError() << "result " << i << " is tied to '" << symbol
                                << "', which is no argument of " << type;
  return success();
}

void FunctionLowering::returnValues(Operation *terminator, ArrayRef<Value> outputs) {
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
      auto state = update.source.getDefiningOp<plan::ir::StateOp>();
      Type bytes = RankedTensorType::get({int64_t(state.getSize())}, builder.getI8Type());
      Value safe = makeBuffer(bytes, update.name, terminator->getLoc(), places[update.source],
                              state.getSize());
      copyTo(update.source, safe, terminator->getLoc(), update.name, "return");
      update.source = safe;
    }
  for (Update &update : updates)
    copyTo(update.source, update.target, terminator->getLoc(), update.name, "return");
}

//===----------------------------------------------------------------------===//
// Where results are
//===----------------------------------------------------------------------===//

void FunctionLowering::updateInPlace(Operation *terminator) {
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

ArrayAttr FunctionLowering::bindings(TypeRange types, bool inputs) {
  SmallVector<Attribute> entries;
  for (auto [i, type] : llvm::enumerate(types)) {
    if (inputs ? variableOf(func.getArgument(i)) || onceOf(func.getArgument(i))
               : bool(variableOfResult(i)))
      continue;
    unsigned device = inputs ? inputDevice(i) : outputDevice(i);
    entries.push_back(plan::ir::BindingAttr::get(builder.getContext(),
                                                 inputs ? inputName(func, i) : outputName(func, i),
                                                 type, state.symbolOf(device)));
  }
  return builder.getArrayAttr(entries);
}

void FunctionLowering::layOverInputs(Operation *terminator, ArrayRef<Value> outputs) {
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

bool FunctionLowering::isMadeInOutput(Value root) {
  return isa_and_present<LaunchOp, CopyOp, RegionBranchOpInterface>(root.getDefiningOp());
}

SmallVector<Value> FunctionLowering::declareOutputs(Operation *terminator) {
  SmallVector<Value> outputs;
  unsigned next = 0;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (FlatSymbolRefAttr variable = variableOfResult(i)) {
      outputs.push_back(variables.lookup(variable));
      continue;
    }
    auto output = plan::ir::OutputOp::create(builder, func.getLoc(), bufferType(), next++,
                                             byteSize(value.getType()));
    outputs.push_back(output);
    places[output] = outputDevice(i);
    Value root = skipViews(value);
    if (isMadeInOutput(root) && !buffers.contains(root) && makerDevice(root) == outputDevice(i))
      buffers[root] = output;
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value FunctionLowering::makeBuffer(Type type, StringAttr name, Location loc, unsigned device,
                                   uint64_t size) {
  Value buffer = plan::ir::BufferDeclOp::create(
      builder, loc, bufferType(), builder.getI64IntegerAttr(size), state.symbolOf(device),
      FlatSymbolRefAttr(), IntegerAttr(), name, TypeAttr::get(type));
  places[buffer] = device;
  return buffer;
}

Value FunctionLowering::bufferOf(Value value, unsigned device, StringRef use, Attribute layout) {
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

OpResult FunctionLowering::onlyCarriedBy(Value value) {
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

Value FunctionLowering::useConstant(ConstantOp constant, unsigned device, StringRef use,
                                    Attribute layout) {
  plan::ir::ConstantOp declared = state.constantFor(constant, device, use, layout);
  StringAttr symbol = declared.getSymNameAttr();
  Value &buffer = uses[{symbol, device}];
  if (buffer)
    return buffer;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&target.getBody().front());
  buffer = plan::ir::UseOp::create(builder, constant.getLoc(), bufferType(),
                                   FlatSymbolRefAttr::get(symbol), declared.getSizeAttr());
  places[buffer] = device;
  return buffer;
}

std::pair<unsigned, unsigned> FunctionLowering::queueOf(unsigned from, unsigned to) {
  if (from == to)
    return {to, 0};
  bool fromGPU = *state.logical(from).name.type == DeviceType::GPU;
  bool toGPU = *state.logical(to).name.type == DeviceType::GPU;
  if (fromGPU && !toGPU)
    return {from, 2};
  // Between CPUs there is no engine that copies beside the computing.
  return {to, toGPU ? (fromGPU ? 3 : 1) : 0};
}

void FunctionLowering::copyTo(Value source, Value target, Location loc, StringAttr name,
                              StringRef cause) {
  if (source == target)
    return;
  if (messages && state.taskOf(places.at(source)) != state.taskOf(places.at(target)))
    return sendTo(source, target, loc, name, cause);
  auto [device, queue] = queueOf(places.at(source), places.at(target));
  plan::ir::CopyOp::create(builder, loc, source, target, state.symbolOf(device), name,
                           text(describeLocation(loc)), builder.getI64IntegerAttr(queue),
                           text(queue ? cause : ""), builder.getArrayAttr({}));
}
