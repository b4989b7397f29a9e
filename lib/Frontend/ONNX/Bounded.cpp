// How the number of rows goes through ops; see Bounded.h. A case for each kind of op says in which
// dimension of the result the rows of a bounded operand are.

#include "Bounded.h"

#include "NodeContext.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

using Axis = std::optional<int64_t>;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Axis indexOf(ArrayRef<int64_t> dims, int64_t axis) {
  const auto *at = llvm::find(dims, axis);
  return at == dims.end() ? Axis() : at - dims.begin();
}

/// A dimension of the same size with as many elements before it, if there is one alone: of size 1,
/// it could be any of several.
static Axis throughReshape(ArrayRef<int64_t> from, int64_t axis, ArrayRef<int64_t> to) {
  auto before = [](ArrayRef<int64_t> shape, size_t dim) {
    int64_t product = 1;
    for (int64_t size : shape.take_front(dim))
      product *= size;
    return product;
  };
  auto places = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> found;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] == from[axis] && before(shape, dim) == before(from, axis))
        found.push_back(int64_t(dim));
    return found;
  };
  SmallVector<int64_t> there = places(to);
  return there.size() == 1 && (places(from).size() == 1 || from.size() == to.size())
             ? Axis(there.front())
             : Axis();
}

/// Rows of the input stay where they are, those of the indices replace the dimension gathered from.
static Axis throughGather(GatherOp op, unsigned operand, int64_t axis) {
  const int64_t from = op.getAxis();
  if (operand == 1)
    return from + axis;
  const int64_t more = int64_t(shapeOf(op.getIndices()).size()) - 1;
  return axis == from ? Axis() : axis < from ? axis : axis + more;
}

static Axis throughGatherNd(GatherNdOp op, unsigned operand, int64_t axis) {
  const bool isTuple = axis + 1 == int64_t(shapeOf(op.getIndices()).size());
  return operand == 0 || isTuple || op.getBatchDims() != 0 ? Axis() : Axis(axis);
}

/// Where the rows of an operand are in the result.
static Axis throughOp(Operation *op, unsigned operand, int64_t axis) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (auto map = dyn_cast<DimensionMapOpInterface>(op);
      map && kernel && kernel.getFusionKind() == FusionKind::Elementwise)
    return indexOf(map.getOperandDims(operand), axis);
  ArrayRef<int64_t> from = shapeOf(op->getOperand(operand)), to = shapeOf(op->getResult(0));
  return llvm::TypeSwitch<Operation *, Axis>(op)
      .Case([&](CopyOp) { return axis; })
      .Case([&](ReshapeOp) { return throughReshape(from, axis, to); })
      .Case([&](TransposeOp transpose) { return indexOf(transpose.getPermutation(), axis); })
      .Case([&](ConcatOp concat) { return axis == int64_t(concat.getAxis()) ? Axis() : axis; })
      .Case([&](SliceOp slice) { return slice.getSteps()[axis] == 1 ? Axis(axis) : Axis(); })
      .Case([&](GatherOp gather) { return throughGather(gather, operand, axis); })
      .Case([&](GatherNdOp gather) { return throughGatherNd(gather, operand, axis); })
      .Case([&](GatherElementsOp gather) {
        return operand == 1 || axis != int64_t(gather.getAxis()) ? Axis(axis) : Axis();
      })
      .Default(Axis());
}

/// Of rows `start` to `start + size` those that are meant.
static Value countOfSlice(NodeContext &n, Value count, int64_t start, int64_t size) {
  return n.make<ClampOp>(n.sub(count, n.scalarInt(n.i64(), start)), n.scalarInt(n.i64(), 0),
                         n.scalarInt(n.i64(), size));
}

std::optional<Bound> gantry::onnx::boundOfResult(NodeContext &n, Operation *op,
                                                 const Bounds &bounds) {
  std::optional<Bound> result;
  if (op->getNumResults() != 1)
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    auto bound = bounds.find(operand.get());
    if (bound == bounds.end())
      continue;
    Axis axis = throughOp(op, operand.getOperandNumber(), bound->second.axis);
    if (!axis)
      return std::nullopt;
    Bound own{*axis, bound->second.count};
    if (result && *result != own)
      return std::nullopt;
    result = own;
  }
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !result)
    return result;
  const int64_t start = slice.getStarts()[result->axis], size = slice.getSizes()[result->axis];
  if (start != 0 || size != shapeOf(slice.getInput())[result->axis])
    result->count = countOfSlice(n, result->count, start, size);
  return result->count ? result : std::nullopt;
}

Value gantry::onnx::clearBeyond(NodeContext &n, Value value, const Bound &bound) {
  Ints along(n.rankOf(value), 1);
  along[bound.axis] = n.shapeOf(value)[bound.axis];
  Value isMeant = n.compare(CompareDirection::LT, n.iota(along, n.i64(), bound.axis), bound.count);
  KnownElements zero;
  zero.ints = {0};
  auto scalar = RankedTensorType::get({}, n.elementOf(value));
  return n.select(isMeant, value, n.constant(makeElements(scalar, zero)));
}
