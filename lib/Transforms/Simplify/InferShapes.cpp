// Result types anew, after operands got other shapes: of specialised functions and of replicas.

#include "gantry/Transforms/InferShapes.h"

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
  for (auto [text, argument] :
       llvm::zip(op.getInputs().getAsRange<StringAttr>(), op.getBody().getArguments())) {
    ReplicaMode mode = *parseReplicaMode(text);
    Type type = op.getValues()[next].getType();
    argument.setType(
        mode.kind == ReplicaMode::split ? withDim(type, mode.axis, ShapedType::kDynamic) : type);
    next += mode.kind == ReplicaMode::perReplica ? op.getDevices().size() : 1;
  }
}

/// Size along its axis of what a replicated region splits first; open when it splits nothing.
static int64_t splitSize(ReplicateOp op) {
  size_t next = 0;
  for (auto text : op.getInputs().getAsRange<StringAttr>()) {
    ReplicaMode mode = *parseReplicaMode(text);
    if (mode.kind == ReplicaMode::split)
      return cast<RankedTensorType>(op.getValues()[next].getType()).getDimSize(mode.axis);
    next += mode.kind == ReplicaMode::perReplica ? op.getDevices().size() : 1;
  }
  return ShapedType::kDynamic;
}

/// What shards give along the open dimension is taken to be as long as what was split; Replicate
/// checks that.
static void leaveReplicas(ReplicateOp op) {
  size_t next = 0;
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [text, type] :
       llvm::zip(op.getOutputs().getAsRange<StringAttr>(), yield->getOperandTypes())) {
    ReplicaMode mode = *parseReplicaMode(text);
    Type own = type;
    if (mode.kind == ReplicaMode::gather && cast<RankedTensorType>(own).isDynamicDim(mode.axis))
      own = withDim(own, mode.axis, splitSize(op));
    size_t count = mode.kind == ReplicaMode::perReplica ? op.getDevices().size() : 1;
    for (size_t i = 0; i < count; ++i)
      op.getResult(next++).setType(own);
  }
}

/// Sizes go into the regions with what loops carry, and come out with what regions yield.
static LogicalResult inferRegions(Operation &op) {
  auto loop = dyn_cast<WhileOp>(op);
  auto replicas = dyn_cast<ReplicateOp>(op);
  if (loop)
    for (Region *region : {&loop.getConditionBody(), &loop.getBody()})
      setTypes(region->getArguments(), loop.getInits().getTypes());
  if (replicas)
    enterReplicas(replicas);
  for (Region &region : op.getRegions())
    if (failed(inferTypesAgain(region)))
      return failure();
  if (loop)
    setTypes(loop.getResults(), loop.getInits().getTypes());
  if (replicas)
    leaveReplicas(replicas);
  if (auto branch = dyn_cast<IfOp>(op))
    setTypes(branch.getResults(), branch.getThenBody().front().getTerminator()->getOperandTypes());
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
