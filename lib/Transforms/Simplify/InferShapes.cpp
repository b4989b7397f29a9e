// Result types anew, after operands got other shapes: of specialised functions and of replicas.

#include "gantry/Transforms/InferShapes.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace gantry;

template <typename Values>
static void setTypes(Values values, TypeRange types) {
  for (auto [value, type] : llvm::zip(values, types))
    value.setType(type);
}

/// The number of elements decides the only open dimension of a reshape.
static void closeOneDimension(ReshapeOp op) {
  auto in = op.getInput().getType(), out = op.getType();
  if (!in.hasStaticShape() || out.getNumDynamicDims() != 1)
    return;
  SmallVector<int64_t> shape(out.getShape());
  int64_t known = 1, *open = nullptr;
  for (int64_t &size : shape)
    ShapedType::isDynamic(size) ? void(open = &size) : void(known *= size);
  if (known == 0 || in.getNumElements() % known)
    return;
  *open = in.getNumElements() / known;
  op.getResult().setType(out.clone(shape));
}

static RankedTensorType withDim(Type type, int64_t axis, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[axis] = size;
  return tensor.clone(shape);
}

/// Shards have an open dimension until Replicate knows whose they are.
static void enterReplicas(ReplicateOp op) {
  size_t next = 0;
  for (auto [mode, argument] : llvm::zip(op.getInputModes(), op.getBody().getArguments())) {
    Type type = op.getValues()[next].getType();
    argument.setType(
        mode.is(ReplicaKind::Split) ? withDim(type, mode.getAxis(), ShapedType::kDynamic) : type);
    next += mode.countValues(op.getDevices().size());
  }
}

/// Size along its axis of what a replicated region splits first; open when it splits nothing.
static int64_t splitSize(ReplicateOp op) {
  size_t next = 0;
  for (ReplicaModeAttr mode : op.getInputModes()) {
    if (mode.is(ReplicaKind::Split))
      return cast<RankedTensorType>(op.getValues()[next].getType()).getDimSize(mode.getAxis());
    next += mode.countValues(op.getDevices().size());
  }
  return ShapedType::kDynamic;
}

/// What shards give along the open dimension is taken to be as long as what was split; Replicate
/// checks that.
static void leaveReplicas(ReplicateOp op) {
  size_t next = 0;
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [mode, type] : llvm::zip(op.getOutputModes(), yield->getOperandTypes())) {
    Type own = type;
    if (mode.is(ReplicaKind::Gather) && cast<RankedTensorType>(own).isDynamicDim(mode.getAxis()))
      own = withDim(own, mode.getAxis(), splitSize(op));
    for (size_t i = 0; i < mode.countValues(op.getDevices().size()); ++i)
      op.getResult(next++).setType(own);
  }
}

/// What loops carry is of the type that it starts with.
static void enterRegions(RegionBranchOpInterface op) {
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (OpOperand *source = initialSource(op, argument))
        argument.setType(source->get().getType());
}

/// The types of what regions yield, the first one's; of what may be as it was given, those. A
/// gradient has the type of what it is of.
static void leaveRegions(RegionBranchOpInterface op) {
  if (auto gradient = dyn_cast<GradientOp>(op.getOperation()))
    setTypes(gradient.getGradients(), gradient.getWrt().getTypes());
  for (OpResult result : op->getResults()) {
    OpOperand *source = initialSource(op, result);
    SmallVector<OpOperand *> yielded = yieldedSources(op, result);
    if (!source && !yielded.empty())
      source = yielded.front();
    if (source)
      result.setType(source->get().getType());
  }
}

/// What a way back takes is known when the way there has types.
static void enterBackward(CustomGradientOp op) {
  leaveRegions(cast<RegionBranchOpInterface>(op.getOperation()));
  SmallVector<Type> types(op.getValues().getTypes());
  llvm::append_range(types, op.getResultTypes());
  llvm::copy_if(op.getResultTypes(), std::back_inserter(types), carriesGradients);
  setTypes(op.getBackward().getArguments(), types);
}

/// Sizes go into the regions with what loops carry, and come out with what regions yield.
static LogicalResult inferRegions(Operation &op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  auto replicas = dyn_cast<ReplicateOp>(op);
  if (branch)
    enterRegions(branch);
  if (replicas)
    enterReplicas(replicas);
  for (Region &region : op.getRegions()) {
    if (auto custom = dyn_cast<CustomGradientOp>(op); custom && &region == &custom.getBackward())
      enterBackward(custom);
    if (failed(inferTypesAgain(region)))
      return failure();
  }
  if (branch)
    leaveRegions(branch);
  if (replicas)
    leaveReplicas(replicas);
  return success();
}

LogicalResult gantry::inferTypesAgain(Operation &op) {
  if (auto infer = dyn_cast<InferTypeOpInterface>(op); infer && op.getNumResults() > 0) {
    SmallVector<Type> types;
    if (failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(),
                                      op.getDiscardableAttrDictionary(), op.getPropertiesStorage(),
                                      op.getRegions(), types)))
      return failure();
    setTypes(op.getResults(), types);
  }
  // Ops whose types are given follow their operands where that is the only reading.
  if (auto cast = dyn_cast<CastOp>(op))
    cast.getResult().setType(cast.getType().clone(cast.getInput().getType().getShape()));
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    closeOneDimension(reshape);
  return inferRegions(op);
}

LogicalResult gantry::inferTypesAgain(Region &region) {
  for (Operation &op : region.front())
    if (failed(inferTypesAgain(op)))
      return failure();
  return success();
}
