// Reductions: what the result weighs goes to all elements, to the extreme ones in even shares, to
// each factor by the product of all others.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// The value of a reduction with its axes as dimensions of size 1.
template <typename Op>
static Term kept(Op op, Term value) {
  return reshaped(value, keptShape(op.getInput().getType().getShape(), op.getAxes()));
}

static void buildSum(ReduceSumOp op, GradientBuilder &b) {
  b.give(0, stretched(kept(op, {b, b.ofResult()}), shapeOf(op.getInput())));
}

static void buildMean(ReduceMeanOp op, GradientBuilder &b) {
  double count = 1;
  for (int64_t axis : op.getAxes())
    count *= double(op.getInput().getType().getDimSize(axis));
  // Of nothing there is no gradient to divide.
  Term d = kept(op, wideCotangent(b)) / std::max(count, 1.0);
  b.give(0, stretched(d, shapeOf(op.getInput())));
}

/// Equal elements share evenly.
template <typename Op>
static void buildExtreme(Op op, GradientBuilder &b) {
  Term d = kept(op, wideCotangent(b)), x(b, op.getInput());
  Term isExtreme = x == kept(op, {b, op.getResult()});
  Term shares(b, b.cast(isExtreme, elementOf(d)));
  b.give(0, shares * (d / sumOver(shares, op.getAxes())));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The cotangents of factors along the last axis of a matrix, of which `d` is the product's. A
/// tree: the first half times the second, up to the product, and down again, each half weighing
/// what the other is. No factor is divided by, and none chosen by whether it is zero, so that
/// derivatives of it are right, too.
static Term throughProduct(Term x, Term d) {
  int64_t size = shapeOf(x)[1], half = size / 2;
  if (size <= 1)
    return d;
  Term left = sliced(x, 1, 0, half), right = sliced(x, 1, half, half);
  Term products = left * right;
  bool isOdd = size % 2;
  if (isOdd)
    products = joined(*x.b, {products, sliced(x, 1, size - 1, 1)}, 1);
  Term inner = throughProduct(products, d);
  Term both = sliced(inner, 1, 0, half);
  SmallVector<Value> parts{both * right, both * left};
  if (isOdd)
    parts.push_back(sliced(inner, 1, half, 1));
  return joined(*x.b, parts, 1);
}

static void buildProd(ReduceProdOp op, GradientBuilder &b) {
  Term x = wide(b, op.getInput()), d = wideCotangent(b);
  ArrayRef<int64_t> shape = shapeOf(x);
  Shape order, behind(op.getAxes());
  llvm::sort(behind);
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
    if (!llvm::is_contained(behind, axis))
      order.push_back(axis);
  int64_t rows = 1, columns = 1;
  for (int64_t axis : order)
    rows *= shape[axis];
  for (int64_t axis : behind)
    columns *= shape[axis];
  llvm::append_range(order, behind);
  Shape moved = llvm::map_to_vector(order, [&](int64_t axis) { return shape[axis]; });
  if (rows * columns == 0)
    return b.give(0, b.zeros(typeOf(op.getInput())));
  Term matrix = reshaped(transposed(x, order), {rows, columns});
  Term gradient = throughProduct(matrix, reshaped(d, {rows, 1}));
  b.give(0, transposed(reshaped(gradient, moved), inversePermutation(order)));
}

//===----------------------------------------------------------------------===//
// Along one axis
//===----------------------------------------------------------------------===//

static void buildCumsum(CumsumOp op, GradientBuilder &b) {
  b.give(0, b.make<CumsumOp>(b.ofResult(), op.getAxis(), op.getExclusive(), !op.getReverse()));
}

/// No element is taken twice.
static void buildTopK(TopKOp op, GradientBuilder &b) {
  if (!b.isUsed(0))
    return;
  b.give(0, b.make<ScatterElementsOp>(b.zeros(typeOf(op.getInput())), op.getIndices(), b.ofResult(),
                                      op.getAxis(), ScatterReduction::Add));
}

static void buildSoftmax(SoftmaxOp op, GradientBuilder &b) {
  Term d = wideCotangent(b), y = wide(b, op.getResult());
  b.give(0, y * (d - sumOver(d * y, {int64_t(op.getAxis())})));
}

/// Whether `value` is zeros but for one update in each row along `axis`, as the way back of a
/// gather of a number in each row leaves it. Indices wrap and are clamped, so none falls outside.
static ScatterElementsOp findOnePerRow(Value value, int64_t axis) {
  auto scatter = value.getDefiningOp<ScatterElementsOp>();
  auto zeros = scatter ? scatter.getInput().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!zeros || !matchPattern(zeros.getInput(), m_AnyZeroFloat()) ||
      int64_t(scatter.getAxis()) != axis || scatter.getReduction() != ScatterReduction::Add)
    return {};
  Shape rows(shapeOf(value));
  rows[axis] = 1;
  return shapeOf(scatter.getUpdates()) == ArrayRef<int64_t>(rows) ? scatter : ScatterElementsOp();
}

/// Of a loss that reads one element of a row, the sum of a row's cotangents is that of the element,
/// and it is added where it belongs: no tensor is zeros for it. The bits are those of the formula.
static void buildLogSoftmax(LogSoftmaxOp op, GradientBuilder &b) {
  Term d = wideCotangent(b), y = wide(b, op.getResult());
  if (ScatterElementsOp one = findOnePerRow(d, op.getAxis())) {
    Term updates(b, one.getUpdates());
    Term others = 0.0 - exponential(y) * updates;
    b.give(0, b.make<ScatterElementsOp>(others, one.getIndices(), updates, op.getAxis(),
                                        ScatterReduction::Add));
    return;
  }
  b.give(0, d - exponential(y) * sumOver(d, {int64_t(op.getAxis())}));
}

void gantry::addReductionRules(MLIRContext &context) {
  addRule<ReduceSumOp, buildSum>(context);
  addRule<ReduceMeanOp, buildMean>(context);
  addRule<ReduceMaxOp, buildExtreme<ReduceMaxOp>>(context);
  addRule<ReduceMinOp, buildExtreme<ReduceMinOp>>(context);
  addRule<ReduceProdOp, buildProd>(context);
  addRule<CumsumOp, buildCumsum>(context);
  addRule<TopKOp, buildTopK>(context);
  addRule<SoftmaxOp, buildSoftmax>(context);
  addRule<LogSoftmaxOp, buildLogSoftmax>(context);
}
