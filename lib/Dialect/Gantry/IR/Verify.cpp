// Verifiers of the ops whose result types are given rather than inferred.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

LogicalResult ReshapeOp::verify() {
  auto in = getInput().getType(), out = getType();
  if (in.getElementType() != out.getElementType())
    return emitOpError() << "changes the element type from " << in.getElementType() << " to "
                         << out.getElementType() << "; use gantry.cast";
  if (in.hasStaticShape() && out.hasStaticShape() && in.getNumElements() != out.getNumElements())
    return emitOpError() << "input " << in << " has " << in.getNumElements() << " elements, result "
                         << out << " has " << out.getNumElements();
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto in = getInput().getType(), out = getType();
  auto shape = broadcastShapes(in.getShape(), out.getShape());
  if (in.getElementType() != out.getElementType() || !shape || in.getRank() > out.getRank() ||
      failed(verifyCompatibleShape(*shape, out.getShape())))
    return emitOpError() << "input " << in << " cannot be broadcast to " << out;
  return success();
}

LogicalResult IotaOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= getType().getRank())
    return emitOpError() << "axis " << getAxis() << " is outside the " << getType().getRank()
                         << " dimensions of the result";
  return success();
}

/// Where a result is drawn as a part of a larger value, it lies inside of it.
static LogicalResult verifyPart(Operation *op, RankedTensorType type,
                                std::optional<ArrayRef<int64_t>> whole,
                                std::optional<ArrayRef<int64_t>> begin) {
  if (!whole && !begin)
    return success();
  if (!whole || !begin)
    return op->emitOpError() << "has " << (whole ? "no begin" : "no whole")
                             << "; a part has both, the shape of the whole and its place in it";
  size_t rank = type.getRank();
  bool fits = whole->size() == rank && begin->size() == rank;
  for (size_t i = 0; fits && i < rank; ++i)
    fits = (*begin)[i] >= 0 && !type.isDynamicDim(i) &&
           (*begin)[i] <= (*whole)[i] - type.getDimSize(i);
  if (!fits)
    return op->emitOpError() << "draws " << type << " at [" << *begin
                             << "], which is not inside of the whole [" << *whole << "]";
  return success();
}

/// Of any op that draws random numbers.
template <typename Op>
static LogicalResult verifyRandom(Op op) {
  Value key = op.getKey();
  if (bool(key) == op.getSeed().has_value())
    return op.emitOpError() << (key ? "has a seed and a key; give one of them"
                                    : "has neither a seed nor a key; give one of them");
  if (key && cast<RankedTensorType>(key.getType()).getRank() != 0)
    return op.emitOpError() << "key must be a scalar tensor<i64>, got " << key.getType();
  if (uint64_t stream = op.getStream().value_or(0); stream > UINT32_MAX)
    return op.emitOpError() << "stream " << int64_t(stream) << " is outside [0, 4294967296)";
  return verifyPart(op, op.getType(), op.getWhole(), op.getBegin());
}

LogicalResult RandomUniformOp::verify() { return verifyRandom(*this); }
LogicalResult RandomNormalOp::verify() { return verifyRandom(*this); }

LogicalResult ResizeOp::verify() {
  auto in = getInput().getType(), out = getType();
  int64_t rank = in.getRank();
  if (out.getRank() != rank || int64_t(getScales().size()) != rank)
    return emitOpError() << "input " << in << ", result " << out << " and " << getScales().size()
                         << " scales need the same number of dimensions";
  if (!getRoi().empty() && int64_t(getRoi().size()) != 2 * rank)
    return emitOpError() << "roi has " << getRoi().size() << " entries, expected " << 2 * rank;
  for (auto [i, scale] : llvm::enumerate(getScales()))
    if (!(scale > 0))
      return emitOpError() << "scale of dimension " << i << " is not positive";
  for (int64_t i = 0; i < rank; ++i)
    if (in.getDimSize(i) == 0 && out.getDimSize(i) != 0)
      return emitOpError() << "dimension " << i << " of the input is empty";
  return success();
}

/// Making a new buffer is what keeps two equal copies apart (spec X1); one that nothing reads goes.
void CopyOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getForce())
    effects.emplace_back(MemoryEffects::Allocate::get(), getOperation()->getOpResult(0));
}

/// The terminator of `region` must yield exactly `types`.
static LogicalResult verifyYields(Operation *op, Region &region, TypeRange types, StringRef what) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || !gantry::detail::areCompatibleTypes(yield->getOperandTypes(), types)) {
    auto error = op->emitOpError() << what << " must yield (" << types << ")";
    if (yield)
      error << ", yields (" << yield->getOperandTypes() << ")";
    return error;
  }
  return success();
}

LogicalResult OnOp::verify() { return verifyYields(*this, getBody(), getResultTypes(), "body"); }

LogicalResult IfOp::verify() {
  if (getCondition().getType().getRank() != 0)
    return emitOpError() << "condition must be a scalar tensor<i1>, got "
                         << getCondition().getType();
  if (failed(verifyYields(*this, getThenBody(), getResultTypes(), "then region")))
    return failure();
  return verifyYields(*this, getElseBody(), getResultTypes(), "else region");
}

LogicalResult WhileOp::verify() {
  TypeRange carried = getInits().getTypes();
  if (!gantry::detail::areCompatibleTypes(carried, getResultTypes()))
    return emitOpError() << "carries (" << carried << ") but gives (" << getResultTypes() << ")";
  for (Region *region : {&getConditionBody(), &getBody()})
    if (!gantry::detail::areCompatibleTypes(region->getArgumentTypes(), carried))
      return emitOpError() << "regions must take (" << carried << ")";
  if (int64_t most = getAtMost().value_or(0); most < 0)
    return emitOpError() << "has at_most = " << most << "; a loop has 0 rounds or more";
  Type flag = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyYields(*this, getConditionBody(), flag, "condition region")))
    return failure();
  return verifyYields(*this, getBody(), carried, "body");
}

LogicalResult KernelOp::verify() {
  if (!isa_and_nonnull<YieldOp>(getBody().front().empty() ? nullptr : &getBody().front().back()))
    return emitOpError() << "body must end in gantry.yield";
  return success();
}
