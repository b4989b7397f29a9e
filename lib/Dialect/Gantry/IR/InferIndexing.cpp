// The shape rules of ops that gather, scatter and cut by indices; see InferTypes.h.

#include "InferTypes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::infer;

static bool isEmpty(ArrayRef<int64_t> shape) { return llvm::is_contained(shape, 0); }

/// No index can be brought into an empty dimension, so what has `elements` to move finds none in
/// `x`.
static LogicalResult checkElements(ArrayRef<int64_t> x, ArrayRef<int64_t> elements, StringRef verb,
                                   StringRef name, Loc loc) {
  bool isKnown = !ShapedType::isDynamicShape(elements);
  if (isEmpty(x) && isKnown && !isEmpty(elements))
    return fail(loc, name, verb, " the empty input ", text(x), " at indices");
  return success();
}

static LogicalResult inferGather(GatherOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput()), i = typeOf(op.getIndices());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  Shape shape(x.getShape().take_front(axis));
  llvm::append_range(shape, i.getShape());
  llvm::append_range(shape, x.getShape().drop_front(axis + 1));
  if (failed(checkElements(x.getShape(), shape, "reads", name, loc)))
    return failure();
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(GatherOp, inferGather)

/// Outside `axis`, indices address elements of the same position, which the input must have.
static LogicalResult checkIndicesInside(RankedTensorType indices, RankedTensorType input,
                                        int64_t axis, StringRef name, Loc loc) {
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (d != axis && indices.getDimSize(d) != kOpen && input.getDimSize(d) != kOpen &&
        indices.getDimSize(d) > input.getDimSize(d))
      return fail(loc, name, "indices ", text(indices.getShape()), " reach beyond the input ",
                  text(input.getShape()), " in dimension ", d);
  return success();
}

static LogicalResult inferGatherElements(GatherElementsOp::Adaptor op, StringRef name, Loc loc,
                                         Types &types) {
  auto x = typeOf(op.getInput()), i = typeOf(op.getIndices());
  if (failed(checkAxis(op.getAxis(), x.getRank(), name, loc)))
    return failure();
  if (i.getRank() != x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " need as many dimensions as the input ",
                text(x.getShape()));
  if (failed(checkIndicesInside(i, x, op.getAxis(), name, loc)) ||
      failed(checkElements(x.getShape(), i.getShape(), "reads", name, loc)))
    return failure();
  return push(types, i.getShape(), x.getElementType());
}
GANTRY_INFER(GatherElementsOp, inferGatherElements)

static LogicalResult inferGatherNd(GatherNdOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput()), i = typeOf(op.getIndices());
  int64_t batch = op.getBatchDims();
  int64_t tuple = i.getRank() ? i.getShape().back() : kOpen;
  if (batch < 0 || batch >= i.getRank() || tuple == kOpen || batch + tuple > x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " with ", batch,
                " batch dimensions do not address the input ", text(x.getShape()));
  for (int64_t d = 0; d < batch; ++d)
    if (differ(x.getDimSize(d), i.getDimSize(d)))
      return fail(loc, name, "batch dimension ", d, " differs: input ", text(x.getShape()),
                  ", indices ", text(i.getShape()));
  Shape shape(i.getShape().drop_back());
  llvm::append_range(shape, x.getShape().drop_front(batch + tuple));
  if (failed(checkElements(x.getShape(), shape, "reads", name, loc)))
    return failure();
  return push(types, shape, x.getElementType());
}
GANTRY_INFER(GatherNdOp, inferGatherNd)

static LogicalResult inferScatterElements(ScatterElementsOp::Adaptor op, StringRef name, Loc loc,
                                          Types &types) {
  auto x = typeOf(op.getInput()), i = typeOf(op.getIndices()), u = typeOf(op.getUpdates());
  if (failed(checkAxis(op.getAxis(), x.getRank(), name, loc)))
    return failure();
  if (i.getShape() != u.getShape() || i.getRank() != x.getRank() ||
      u.getElementType() != x.getElementType())
    return fail(loc, name, "indices ", i, " and updates ", u, " do not fit the input ", x);
  if (failed(checkIndicesInside(i, x, op.getAxis(), name, loc)) ||
      failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(ScatterElementsOp, inferScatterElements)

static LogicalResult inferScatterNd(ScatterNdOp::Adaptor op, StringRef name, Loc loc,
                                    Types &types) {
  auto x = typeOf(op.getInput()), i = typeOf(op.getIndices()), u = typeOf(op.getUpdates());
  int64_t tuple = i.getRank() ? i.getShape().back() : kOpen;
  if (tuple == kOpen || tuple > x.getRank())
    return fail(loc, name, "indices ", text(i.getShape()), " do not address the input ",
                text(x.getShape()));
  Shape expected(i.getShape().drop_back());
  llvm::append_range(expected, x.getShape().drop_front(tuple));
  if (u.getElementType() != x.getElementType() ||
      failed(verifyCompatibleShape(expected, u.getShape())))
    return fail(loc, name, "updates are ", u, ", expected ",
                RankedTensorType::get(expected, x.getElementType()));
  if (failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(ScatterNdOp, inferScatterNd)

static LogicalResult inferSetSlice(SetSliceOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto x = typeOf(op.getInput()), u = typeOf(op.getUpdate()), i = typeOf(op.getIndex());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(axis, x.getRank(), name, loc)))
    return failure();
  if (i.getRank() != 0)
    return fail(loc, name, "the index must be a scalar, got ", i);
  Shape expected(x.getShape());
  expected.erase(expected.begin() + axis);
  if (u.getElementType() != x.getElementType() ||
      failed(verifyCompatibleShape(expected, u.getShape())))
    return fail(loc, name, "the update is ", u, ", expected ",
                RankedTensorType::get(expected, x.getElementType()));
  if (failed(checkElements(x.getShape(), u.getShape(), "writes", name, loc)))
    return failure();
  types.push_back(x);
  return success();
}
GANTRY_INFER(SetSliceOp, inferSetSlice)

static LogicalResult inferOneHot(OneHotOp::Adaptor op, StringRef name, Loc loc, Types &types) {
  auto i = typeOf(op.getIndices()), on = typeOf(op.getOnValue()), off = typeOf(op.getOffValue());
  if (on.getRank() || off.getRank() || on.getElementType() != off.getElementType())
    return fail(loc, name, "on and off values must be scalars of one type, got ", on, " and ", off);
  int64_t axis = op.getAxis(), depth = op.getDepth();
  if (failed(checkAxis(axis, i.getRank() + 1, name, loc)))
    return failure();
  if (depth < 0)
    return fail(loc, name, "depth is ", depth, ", expected at least 0");
  Shape shape(i.getShape());
  shape.insert(shape.begin() + axis, depth);
  return push(types, shape, on.getElementType());
}
GANTRY_INFER(OneHotOp, inferOneHot)

static LogicalResult inferFirstBadIndex(FirstBadIndexOp::Adaptor op, StringRef name, Loc loc,
                                        Types &types) {
  auto i = typeOf(op.getIndices());
  ArrayRef<int64_t> sizes = op.getSizes();
  bool areTuples = i.getRank() && !differ(i.getShape().back(), int64_t(sizes.size()));
  if (sizes.empty() || (sizes.size() > 1 && !areTuples))
    return fail(loc, name, sizes.size(), " sizes do not fit the indices ", text(i.getShape()),
                "; expected one, or one for each component of a tuple");
  return push(types, {2}, IntegerType::get(i.getContext(), 64));
}
GANTRY_INFER(FirstBadIndexOp, inferFirstBadIndex)
