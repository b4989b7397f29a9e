// Copies, sums over replicas, and regions that run once: checkpoints and gradients of one's own.

#include "Rules.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Gradient/Gradient.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Copies and collectives
//===----------------------------------------------------------------------===//

/// The device that a value asks to be on; null where it asks for none.
static DeviceAttr requestOf(Value value) {
  if (Operation *maker = value.getDefiningOp())
    return maker->getAttrOfType<DeviceAttr>(kDeviceAttr);
  auto argument = cast<BlockArgument>(value);
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto gradient = dyn_cast_if_present<GradientOp>(owner))
    return requestOf(gradient.getWrt()[argument.getArgNumber()]);
  auto func = dyn_cast_if_present<func::FuncOp>(owner);
  return func ? requestOfArgument(func, argument.getArgNumber()) : DeviceAttr();
}

/// Back to where the operand is. Where nobody says where that is, its use decides.
static void buildCopy(CopyOp op, GradientBuilder &b) {
  DeviceAttr home = requestOf(op.getInput());
  Value d = b.ofResult();
  b.give(0,
         home && home.getName().id ? Value(b.make<CopyOp>(d, home, UnitAttr(), StringAttr())) : d);
}

static std::string refuseAllReduce(AllReduceOp op, unsigned) {
  return op.getDevices() ? ""
                         : "inside of gantry.replicate has no gradient before replicas are ops";
}

/// Each operand is in every result: it gets the sum of the cotangents; of a mean, its share of it.
static void buildAllReduce(AllReduceOp op, GradientBuilder &b) {
  SmallVector<Value> cotangents;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    cotangents.push_back(b.ofResult(i));
  auto sums = b.make<AllReduceOp>(TypeRange(ValueRange(cotangents)), cotangents, CombineKind::Sum,
                                  op.getDevicesAttr(), DenseI64ArrayAttr(), op.getTree());
  double all = 0;
  auto weight = [&](unsigned i) { return op.getWeights() ? double((*op.getWeights())[i]) : 1.0; };
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    all += weight(i);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (b.wants(i)) {
      Term sum(b, sums.getResult(i));
      b.give(i, op.getKind() == CombineKind::Mean ? sum * (weight(i) / all) : sum);
    }
}

//===----------------------------------------------------------------------===//
// Regions of one's own
//===----------------------------------------------------------------------===//

/// The second region, in the place of what would be built of the first.
static void buildCustom(CustomGradientOp op, GradientBuilder &b) {
  SmallVector<Value> taken(op.getValues());
  llvm::append_range(taken, op.getResults());
  for (OpResult result : op->getResults())
    if (carriesGradients(result.getType()))
      taken.push_back(b.ofResult(result.getResultNumber()));
  IRMapping mapping;
  Block &body = op.getBackward().front();
  mapping.map(body.getArguments(), taken);
  for (Operation &inner : body.without_terminator())
    b.clone(inner, mapping);
  unsigned next = 0;
  for (OpOperand &operand : op->getOpOperands())
    if (carriesGradients(operand.get().getType())) {
      Value gradient = mapping.lookupOrDefault(body.getTerminator()->getOperand(next++));
      if (b.wants(operand.getOperandNumber()))
        b.give(operand.getOperandNumber(), gradient);
    }
}

/// Marks what is computed again, so that equal ops stay two; once more where it is again already.
static void markAgain(Operation *op) {
  op->walk([](Operation *inner) {
    auto before = inner->getAttrOfType<IntegerAttr>(kAgainAttr);
    Builder builder(inner->getContext());
    inner->setAttr(kAgainAttr, builder.getI64IntegerAttr(before ? before.getInt() + 1 : 1));
    if (StringRef name = givenNameOf(inner); !name.empty() && isa<KernelOpInterface>(inner))
      inner->setAttr(kNameAttr, builder.getStringAttr(name + "/again"));
  });
}

/// A clone of the region at the end, and its way back.
static LogicalResult buildCheckpoint(CheckpointOp op, GradientBuilder &b) {
  auto again = cast<CheckpointOp>(b.clone(*op));
  Block &body = again.getBody().front();
  for (Operation &inner : body.without_terminator())
    markAgain(&inner);
  SmallVector<Value> wanted =
      llvm::filter_to_vector(valuesReadBy(op), [&](Value value) { return b.wants(value); });
  SmallVector<Value> of(body.getTerminator()->getOperands()), seeds, gradients;
  for (unsigned i = 0; i < of.size(); ++i)
    seeds.push_back(b.isUsed(i) ? b.ofResult(i) : Value());
  if (failed(differentiate(body, of, seeds, wanted, gradients)))
    return failure();
  body.getTerminator()->erase();
  again->getBlock()->getOperations().splice(Block::iterator(again), body.getOperations());
  again.erase();
  for (auto [value, gradient] : llvm::zip(wanted, gradients))
    if (gradient)
      b.give(value, gradient);
  return success();
}

namespace {
struct CheckpointRule : GradientOpInterface::ExternalModel<CheckpointRule, CheckpointOp> {
  LogicalResult buildGradient(Operation *op, GradientBuilder &b) const {
    return buildCheckpoint(cast<CheckpointOp>(op), b);
  }
};
} // namespace

void gantry::addStructureRules(MLIRContext &context) {
  addRule<CopyOp, buildCopy>(context);
  addRule<AllReduceOp, buildAllReduce, refuseAllReduce>(context);
  addRule<CustomGradientOp, buildCustom>(context);
  StopGradientOp::attachInterface<NoSlope<StopGradientOp>>(context);
  CheckpointOp::attachInterface<CheckpointRule>(context);
  addBranchRules(context);
  addLoopRules(context);
}
