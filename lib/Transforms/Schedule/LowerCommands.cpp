// What each op becomes: a launch, a copy, a check; see FunctionLowering.h.

#include "FunctionLowering.h"

#include "Overwrite.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Gantry/IR/OpForm.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Support/Capped.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

LogicalResult FunctionLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(op)))
      return failure();
  return success();
}

LogicalResult FunctionLowering::lowerOp(Operation &op) {
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
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return lowerExchange(exchange);
  if (isa<ConstantOp>(op) || isView(&op))
    return success();
  return op.emitOpError("has no command in a plan");
}

LogicalResult FunctionLowering::lowerCopy(CopyOp copy) {
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

LogicalResult FunctionLowering::lowerCheck(AssertIndicesOp op) {
  Value first = bufferOf(op.getFirst(), state.host(), op.getReader());
  llvm::SetVector<Value> held;
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (FlatSymbolRefAttr variable = variableOfResult(i))
      held.insert(variables.lookup(variable));
  plan::ir::CheckOp::create(builder, op.getLoc(), first, held.getArrayRef(), op.getIndicesAttr(),
                            op.getShapeAttr(), op.getSizesAttr(), state.symbolOf(state.host()),
                            op.getReaderAttr(), op.getSourceOpAttr(),
                            text(describeLocation(op.getLoc())), op.getSaysAttr());
  return success();
}

FailureOr<SmallVector<Value>> FunctionLowering::readBuffers(LaunchOp launch, unsigned device) {
  SmallVector<Value> inputs;
  for (OpOperand &operand : launch->getOpOperands()) {
    Value buffer = bufferOf(operand.get(), device, nameOf(launch), state.layoutOf(operand));
    if (places.at(buffer) != device)
      return launch.emitOpError() << "runs on '" << state.logical(device).name.str()
                                  << "' and reads a value on '"
                                  << state.logical(places.at(buffer)).name.str()
                                  << "'; Copy was to bring it there";
    inputs.push_back(buffer);
  }
  return inputs;
}

LogicalResult FunctionLowering::lowerLaunch(LaunchOp launch) {
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
  auto command = plan::ir::LaunchOp::create(
      builder, launch.getLoc(), FlatSymbolRefAttr::get(kernel), state.symbolOf(device),
      nameOf(launch), text(describeLocation(launch.getLoc())), logNamesOf(launch),
      builder.getI64IntegerAttr(lowered.getItems()), builder.getI64IntegerAttr(lowered.getGrain()),
      *inputs, outputs, scratch, builder.getI64IntegerAttr(work.flops),
      builder.getI64IntegerAttr(work.bytes));
  for (StringRef note : {kJoinsAttr, kCutsAttr})
    if (Attribute what = launch->getAttr(note))
      command->setAttr(note, what);
  return success();
}

void FunctionLowering::takePlace(LaunchOp launch, WorkAttr work) {
  llvm::SmallDenseSet<Value> taken;
  for (OpResult result : launch->getResults()) {
    if (!inPlace || buffers.contains(result) || onlyCarriedBy(result))
      continue;
    for (Value ended : endingValues(result, work))
      if (Value place = buffers.lookup(ended);
          place && place.getDefiningOp<plan::ir::BufferDeclOp>() && taken.insert(place).second) {
        buffers[result] = place;
        break;
      }
  }
}

LogicalResult FunctionLowering::lowerAllReduce(AllReduceOp part) {
  unsigned device = deviceOf(part);
  Value input = bufferOf(part.getValues()[0], device, nameOf(part));
  Value output = bufferOf(part.getResults()[0], device, "");
  if (places.at(input) != device || places.at(output) != device)
    return part.emitOpError() << "has its value on another device; Copy was to bring it there";
  uint64_t bytes = byteSize(part.getValues()[0].getType());
  plan::ir::LaunchOp::create(builder, part.getLoc(), state.kernelFor(part), state.symbolOf(device),
                             nameOf(part), text(describeLocation(part.getLoc())),
                             builder.getArrayAttr(text("AllReduce")), builder.getI64IntegerAttr(1),
                             builder.getI64IntegerAttr(1), input, output, Value(),
                             builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(2 * bytes));
  return success();
}

ArrayAttr FunctionLowering::logNamesOf(LaunchOp launch) {
  SmallVector<Attribute> names;
  for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>())
    names.push_back(text(op.getLogName()));
  return builder.getArrayAttr(names);
}

Work FunctionLowering::describeOps(LaunchOp launch, unsigned device) {
  Work work;
  if (launch.getOps().empty())
    return work;
  ElementType element = ElementType::f32;
  if (launch->getNumResults())
    element = elementTypeOf(launch->getResult(0).getType());
  for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>()) {
    Work own{op.getFlops(), op.getBytes(), element};
    work.flops = cappedSum(work.flops, own.flops);
    work.bytes = cappedSum(work.bytes, own.bytes);
    placed.push_back(describeOp(launch, op, device, own));
  }
  if (auto noted = launch->getAttrOfType<ArrayAttr>(kFormsAttr))
    forms.append(noted.begin(), noted.end());
  forms.resize(placed.size(), builder.getDictionaryAttr({})); // of IR that was written by hand
  // What goes from op to op inside a kernel does not go through memory.
  uint64_t outside = 0;
  for (Type type : launch->getOperandTypes())
    outside += byteSize(type);
  for (Type type : launch->getResultTypes())
    outside += byteSize(type);
  work.bytes = std::min(work.bytes, outside);
  return work;
}

Attribute FunctionLowering::describeOp(LaunchOp launch, LaunchedOpAttr op, unsigned device,
                                       const Work &work) {
  ArrayAttr rejected;
  DecisionAttr decision = op.getDecision();
  if (decision && !decision.getRejected().empty())
    rejected = builder.getArrayAttr(
        SmallVector<Attribute>(decision.getRejected().begin(), decision.getRejected().end()));
  FloatAttr seconds;
  if (work.flops || work.bytes)
    seconds = builder.getF64FloatAttr(state.costs().seconds(device, work));
  return plan::ir::PlacedAttr::get(
      builder.getContext(), op.getLogName(), state.symbolOf(device),
      FlatSymbolRefAttr::get(launch.getKernelAttr().getLeafReference()), op.getName(),
      op.getLocation(), op.getFlops(), op.getBytes(), decision ? decision.getRule() : "default",
      decision ? decision.getReason() : "", rejected, decision && decision.getFallBack(), seconds,
      op.getNode(), op.getSourceOp(), op.getKind(), func->hasAttr(kAtLoadAttr));
}
