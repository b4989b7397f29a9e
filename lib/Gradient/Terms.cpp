#include "Terms.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

Shape gantry::keptShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  Shape kept(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  return kept;
}

Term gantry::reshaped(Term x, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(x);
  if (type.getShape() == shape)
    return x;
  return {*x.b, x.b->make<ReshapeOp>(type.clone(shape), x)};
}

Term gantry::transposed(Term x, ArrayRef<int64_t> permutation) {
  return {*x.b, x.b->make<TransposeOp>(x, permutation)};
}

Shape gantry::inversePermutation(ArrayRef<int64_t> permutation) {
  Shape inverse(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation))
    inverse[from] = i;
  return inverse;
}

Term gantry::sumOver(Term x, ArrayRef<int64_t> axes) {
  return {*x.b, x.b->make<ReduceSumOp>(x, axes, /*keep_dims=*/true)};
}

Term gantry::meanOver(Term x, ArrayRef<int64_t> axes) {
  return {*x.b, x.b->make<ReduceMeanOp>(x, axes, /*keep_dims=*/true)};
}

Term gantry::stretched(Term x, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(x);
  if (type.getShape() == shape)
    return x;
  return {*x.b, x.b->make<BroadcastOp>(type.clone(shape), x)};
}

Term gantry::sliced(Term x, int64_t axis, int64_t start, int64_t size, int64_t step) {
  RankedTensorType type = typeOf(x);
  Shape starts(type.getRank(), 0), sizes(type.getShape()), steps(type.getRank(), 1);
  if (start == 0 && size == sizes[axis] && step == 1)
    return x;
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return {*x.b, x.b->make<SliceOp>(x, starts, sizes, steps)};
}

Term gantry::padded(Term x, int64_t axis, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return x;
  Shape before(rankOf(x), 0), behind(rankOf(x), 0);
  before[axis] = low;
  behind[axis] = high;
  return {*x.b, x.b->make<PadOp>(x, x.number(0), before, behind, PadMode::Constant)};
}

Term gantry::joined(GradientBuilder &b, ValueRange parts, int64_t axis) {
  return {b, b.make<ConcatOp>(parts, uint64_t(axis))};
}
