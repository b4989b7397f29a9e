#include "Strided.h"

#include "gantry/Linalg/Emitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

SmallVector<int64_t> gantry::cpu::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (int64_t i = shape.size(); i-- > 0; step *= shape[i])
    strides[i] = step;
  return strides;
}

/// An op that gives the elements of its one input in another order.
static std::optional<Strided> copied(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      body->getTerminator()->getOperand(0) != body->getArgument(0) ||
      !isa<RankedTensorType>(op->getOperand(0).getType()) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  std::optional<Strided> from = findStrided(op->getOperand(0));
  if (!from)
    return std::nullopt;
  SmallVector<int64_t> strides(op.getNumLoops(), 0);
  AffineMap map = op.getMatchingIndexingMap(&op->getOpOperand(0));
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), from->strides)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      strides[dim.getPosition()] += stride;
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      from->offset += constant.getValue() * stride;
    else
      return std::nullopt;
  }
  from->strides = strides;
  return from;
}

static std::optional<Strided> expanded(tensor::ExpandShapeOp op) {
  std::optional<Strided> from = findStrided(op.getSrc());
  if (!from)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  SmallVector<int64_t> strides(shape.size());
  for (auto [group, stride] : llvm::zip(op.getReassociationIndices(), from->strides))
    for (int64_t d : llvm::reverse(group)) {
      strides[d] = stride;
      stride *= shape[d];
    }
  from->strides = strides;
  return from;
}

static std::optional<Strided> collapsed(tensor::CollapseShapeOp op) {
  std::optional<Strided> from = findStrided(op.getSrc());
  if (!from)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op.getSrc());
  SmallVector<int64_t> strides;
  for (const auto &group : op.getReassociationIndices()) {
    // Dimensions of one element are nowhere.
    std::optional<int64_t> step, next;
    for (int64_t d : llvm::reverse(group)) {
      if (shape[d] == 1)
        continue;
      if (next && *next != from->strides[d])
        return std::nullopt;
      if (!step)
        step = from->strides[d];
      next = from->strides[d] * shape[d];
    }
    strides.push_back(step.value_or(0));
  }
  from->strides = strides;
  return from;
}

static std::optional<Strided> sliced(tensor::ExtractSliceOp op) {
  std::optional<Strided> from = findStrided(op.getSource());
  if (!from)
    return std::nullopt;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> strides;
  for (auto [d, offset, step] : llvm::enumerate(op.getMixedOffsets(), op.getMixedStrides())) {
    std::optional<int64_t> first = getConstantIntValue(offset), by = getConstantIntValue(step);
    if (!first || !by)
      return std::nullopt;
    from->offset += *first * from->strides[d];
    if (!dropped[d])
      strides.push_back(*by * from->strides[d]);
  }
  from->strides = strides;
  return from;
}

std::optional<Strided> gantry::cpu::findStrided(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return Strided{argument, 0, rowMajorStrides(shapeOf(tensor))};
  return llvm::TypeSwitch<Operation *, std::optional<Strided>>(tensor.getDefiningOp())
      .Case(copied)
      .Case(expanded)
      .Case(collapsed)
      .Case(sliced)
      .Default(std::nullopt);
}
