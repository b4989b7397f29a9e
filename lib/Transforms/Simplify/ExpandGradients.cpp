// Replaces gradients by the ops of the way there and back; the engine and the rules are
// lib/Gradient.
//
// Regions are differentiated where they stand, with respect to their arguments: what comes from
// outside is a constant, even where it is the same value. Then their ops take the place of the op.

#include "gantry/Gradient/Gradient.h"

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDGRADIENTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

//===----------------------------------------------------------------------===//
// Operands without a gradient
//===----------------------------------------------------------------------===//

/// Values of the block of `from` that depend on it, by floats alone or by anything.
static llvm::SetVector<Value> dependentOn(BlockArgument from, bool byFloats) {
  llvm::SetVector<Value> found;
  found.insert(from);
  for (Operation &op : *from.getOwner())
    if (llvm::any_of(valuesReadBy(&op), [&](Value value) { return found.contains(value); }))
      for (Value result : op.getResults())
        if (!byFloats || carriesGradients(result.getType()))
          found.insert(result);
  return found;
}

/// The first op that turns what depends on `from` into something else than floats, of which `to` is
/// made.
static Operation *findEndOfFloats(BlockArgument from, ValueRange to) {
  llvm::SetVector<Value> floats = dependentOn(from, /*byFloats=*/true);
  llvm::DenseSet<Value> needed(to.begin(), to.end());
  Operation *found = nullptr;
  for (Operation &op : llvm::reverse(*from.getOwner())) {
    if (!llvm::any_of(op.getResults(), [&](Value value) { return needed.contains(value); }))
      continue;
    SmallVector<Value> read = valuesReadBy(&op);
    needed.insert(read.begin(), read.end());
    bool endsFloats =
        llvm::any_of(read, [&](Value value) { return floats.contains(value); }) &&
        llvm::none_of(op.getResults(), [](Value v) { return carriesGradients(v.getType()); });
    found = endsFloats ? &op : found;
  }
  return found;
}

/// " 'w'", where the value is an input that has a name, or a variable.
static std::string callOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto name =
      func ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr) : nullptr;
  return name ? " '" + name.str() + "'" : "";
}

/// Says why there is no way to operand `index`.
static LogicalResult refuseUnused(GradientOp op, BlockArgument argument, ValueRange of) {
  InFlightDiagnostic error = op.emitOpError()
                             << "differentiates with respect to operand " << argument.getArgNumber()
                             << callOf(op.getWrt()[argument.getArgNumber()]) << ", which the loss ";
  Operation *end = findEndOfFloats(argument, of);
  if (!end)
    return error << "does not depend on; leave it out, or have zeros with allow_unused";
  error << "depends on by " << end->getName()
        << " alone, which has no gradient; leave it out, or have zeros with allow_unused";
  error.attachNote(end->getLoc()) << "no gradient goes through here";
  return error;
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

/// What is differentiated: the values that have seeds, or the first one.
static OperandRange lossesOf(GradientOp op) {
  OperandRange yielded = op.getBody().front().getTerminator()->getOperands();
  return yielded.take_front(std::max(1u, op.getNumSeeds()));
}

/// Zeros for what has none by definition, or may have none; else an error.
static LogicalResult completeGradients(GradientOp op, GradientBuilder &builder,
                                       MutableArrayRef<Value> gradients) {
  for (auto [gradient, argument] : llvm::zip(gradients, op.getBody().getArguments())) {
    if (gradient)
      continue;
    llvm::SetVector<Value> dependent = dependentOn(argument, /*byFloats=*/true);
    bool isFlat = llvm::any_of(lossesOf(op), [&](Value v) { return dependent.contains(v); });
    if (!isFlat && !op.getAllowUnused())
      return refuseUnused(op, argument, lossesOf(op));
    gradient = builder.zeros(typeOf(argument));
  }
  return success();
}

/// Puts the ops of the region in the place of the op, and `values` in that of its results.
static void dissolve(Operation *op, Region &region, ValueRange arguments,
                     SmallVector<Value> values) {
  Block &body = region.front();
  // An argument that is a result itself is its operand by then.
  for (Value &value : values)
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &body)
      value = arguments[argument.getArgNumber()];
  body.getTerminator()->erase();
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  op->getBlock()->getOperations().splice(Block::iterator(op), body.getOperations());
  op->replaceAllUsesWith(values);
  op->erase();
}

/// Ops that a rule made, behind those of the region, and all that is inside of them.
static void markWayBack(Block &block, Operation *lastOfRegion) {
  for (Operation &op : llvm::make_range(std::next(Block::iterator(lastOfRegion)), block.end()))
    op.walk([](Operation *made) { made->setLoc(ofStepPart(made->getLoc(), StepPart::backward)); });
}

static LogicalResult expand(GradientOp op) {
  Block &body = op.getBody().front();
  // Rules put ops in the place of others, but not of this one.
  OpBuilder atEnd(body.getTerminator());
  auto zero = DenseElementsAttr::get(RankedTensorType::get({}, atEnd.getI1Type()), false);
  Operation *fence = ConstantOp::create(atEnd, op.getLoc(), zero);
  GradientBuilder builder(op, body, {}, [](Value) { return false; });
  SmallVector<Value> seeds(op.getCotangents()), gradients;
  if (seeds.empty())
    seeds.push_back(builder.number(1, lossesOf(op)[0].getType()));
  SmallVector<Value> of(lossesOf(op)), wrt(body.getArguments());
  if (failed(differentiate(body, of, seeds, wrt, gradients)) ||
      failed(completeGradients(op, builder, gradients)))
    return failure();
  markWayBack(body, fence);
  fence->erase();
  SmallVector<Value> values(body.getTerminator()->getOperands());
  llvm::append_range(values, gradients);
  dissolve(op, op.getBody(), op.getWrt(), values);
  return success();
}

/// What only says how something is differentiated is gone with that.
static void dissolveRest(Operation *op) {
  if (auto stop = dyn_cast<StopGradientOp>(op)) {
    stop.replaceAllUsesWith(stop.getInput());
    return stop.erase();
  }
  Region &region = op->getRegion(0);
  dissolve(op, region, op->getOperands(),
           SmallVector<Value>(region.front().getTerminator()->getOperands()));
}

//===----------------------------------------------------------------------===//
// What becomes of gradients
//===----------------------------------------------------------------------===//

/// What reads gradients and is no way back itself: clipping, sums over replicas, updates.
static void markUpdates(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([](Operation *op) {
    auto isPastForward = [](Value value) {
      Operation *maker = value.getDefiningOp();
      return maker && stepPartOf(maker->getLoc()) != StepPart::forward;
    };
    if (isa<KernelOpInterface>(op) && stepPartOf(op->getLoc()) == StepPart::forward &&
        llvm::any_of(valuesReadBy(op), isPastForward))
      op->walk(
          [](Operation *inner) { inner->setLoc(ofStepPart(inner->getLoc(), StepPart::update)); });
  });
}

//===----------------------------------------------------------------------===//
// Stretched values
//===----------------------------------------------------------------------===//

/// Whether the op gives the same when the operand is what was stretched for it.
static bool stretchesItself(OpOperand &use, Value input) {
  auto user = dyn_cast<InferTypeOpInterface>(use.getOwner());
  if (!user || !isElementwiseUse(use))
    return false;
  SmallVector<Value> operands(user->getOperands());
  operands[use.getOperandNumber()] = input;
  SmallVector<Type> types;
  return succeeded(user.inferReturnTypes(
             user->getContext(), std::nullopt, operands, user->getDiscardableAttrDictionary(),
             user->getPropertiesStorage(), user->getRegions(), types)) &&
         TypeRange(types) == user->getResultTypes();
}

/// The gradient of a mean is one number for many elements. Rules stretch it, and what reads it
/// element by element needs no tensor of them.
static void readUnstretched(BroadcastOp op) {
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
    if (getRequest(op) == getRequest(use.getOwner()) && stretchesItself(use, op.getInput()))
      use.set(op.getInput());
  if (op.use_empty())
    op.erase();
}

namespace {
struct ExpandGradients : gantry::impl::ExpandGradientsPassBase<ExpandGradients> {
  void runOnOperation() override {
    bool any = false;
    getOperation().walk([&](Operation *op) {
      any |= isa<GradientOp, CheckpointOp, CustomGradientOp, StopGradientOp>(op);
    });
    if (!any)
      return markAllAnalysesPreserved();
    OpPassManager merge(ModuleOp::getOperationName());
    merge.addPass(createMergeOpsPass());
    if (failed(runPipeline(merge, getOperation())))
      return signalPassFailure();
    llvm::DenseSet<Operation *> own;
    getOperation().walk([&](BroadcastOp op) { own.insert(op); });
    // Inner ones first, so that what is differentiated are ops with rules.
    auto result = getOperation().walk<WalkOrder::PostOrder>([](GradientOp op) {
      return failed(expand(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    SmallVector<Operation *> rest;
    getOperation().walk([&](Operation *op) {
      if (isa<CheckpointOp, CustomGradientOp, StopGradientOp>(op))
        rest.push_back(op);
    });
    llvm::for_each(rest, dissolveRest);
    markUpdates(getOperation());
    // Behind all rules: of gradients of gradients, too, each sum is that of a stretched value.
    SmallVector<BroadcastOp> stretched;
    getOperation().walk([&](BroadcastOp op) {
      if (!own.contains(op))
        stretched.push_back(op);
    });
    llvm::for_each(stretched, readUnstretched);
  }
};
} // namespace
