// Movement: elements go back to where they came from, those that were read twice are added up.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

static void buildReshape(ReshapeOp op, GradientBuilder &b) {
  b.give(0, reshaped({b, b.ofResult()}, shapeOf(op.getInput())));
}

static void buildTranspose(TransposeOp op, GradientBuilder &b) {
  b.give(0, transposed({b, b.ofResult()}, inversePermutation(op.getPermutation())));
}

/// give() adds up what was stretched.
static void buildBroadcast(BroadcastOp, GradientBuilder &b) { b.give(0, b.ofResult()); }

static void buildConcat(ConcatOp op, GradientBuilder &b) {
  Term d(b, b.ofResult());
  int64_t start = 0, axis = op.getAxis();
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    int64_t size = shapeOf(input)[axis];
    if (b.wants(unsigned(i)))
      b.give(i, sliced(d, axis, start, size));
    start += size;
  }
}

static void buildSplit(SplitOp op, GradientBuilder &b) {
  SmallVector<Value> parts;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    parts.push_back(b.ofResult(i));
  b.give(0, joined(b, parts, op.getAxis()));
}

/// Puts the elements of one dimension back to start, start + step, ... of `size`; zeros are in
/// between.
static Term spread(Term d, int64_t axis, int64_t start, int64_t step, int64_t size) {
  Shape shape(shapeOf(d));
  int64_t count = shape[axis];
  if (step < 0) {
    start += (count - 1) * step;
    step = -step;
    d = sliced(d, axis, count - 1, count, -1);
  }
  if (step > 1) {
    // Each element becomes the first one of a row of `step`.
    Shape rows(shape);
    rows.insert(rows.begin() + axis + 1, 1);
    shape[axis] = count * step;
    d = reshaped(padded(reshaped(d, rows), axis + 1, 0, step - 1), shape);
    d = sliced(d, axis, 0, std::min(shape[axis], size - start));
  }
  return padded(d, axis, start, size - start - shapeOf(d)[axis]);
}

static void buildSlice(SliceOp op, GradientBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  if (typeOf(op.getResult()).getNumElements() == 0)
    return b.give(0, b.zeros(typeOf(op.getInput())));
  Term d(b, b.ofResult());
  // What stays whole needs no padding; all borders of steps of 1 are one pad after folding.
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
    d = spread(d, axis, op.getStarts()[axis], op.getSteps()[axis], shape[axis]);
  b.give(0, d);
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

static Term reversed(Term x, int64_t axis) {
  int64_t size = shapeOf(x)[axis];
  return size < 2 ? x : sliced(x, axis, size - 1, size, -1);
}

/// Adds what the borders of one dimension got to the elements that they repeat.
static Term foldBorders(Term d, PadOp op, int64_t axis) {
  int64_t low = op.getLow()[axis], high = op.getHigh()[axis];
  int64_t size = shapeOf(d)[axis] - low - high;
  Term own = sliced(d, axis, low, size);
  auto add = [&](Term border, int64_t at) {
    own = own + padded(border, axis, at, size - at - shapeOf(border)[axis]);
  };
  Term before = sliced(d, axis, 0, low), behind = sliced(d, axis, low + size, high);
  switch (op.getMode()) {
  case PadMode::Constant:
    break;
  case PadMode::Reflect:
    if (low)
      add(reversed(before, axis), 1);
    if (high)
      add(reversed(behind, axis), size - 1 - high);
    break;
  case PadMode::Edge:
    if (low)
      add(sumOver(before, {axis}), 0);
    if (high)
      add(sumOver(behind, {axis}), size - 1);
    break;
  case PadMode::Wrap:
    if (low)
      add(before, size - low);
    if (high)
      add(behind, 0);
    break;
  }
  return own;
}

/// What the border's value weighs: all cotangents outside of the input.
static Term sumOfBorder(PadOp op, GradientBuilder &b) {
  Term d = wideCotangent(b);
  auto truth = RankedTensorType::get({}, b.getI1Type());
  auto number = [&](bool value) {
    return Value(ConstantOp::create(b, op.getLoc(), DenseElementsAttr::get(truth, value)));
  };
  auto type = typeOf(op.getInput()).clone(b.getI1Type());
  Value inside = type.getRank() ? Value(b.make<BroadcastOp>(type, number(true))) : number(true);
  Term isInside(b, b.make<PadOp>(inside, number(false), op.getLow(), op.getHigh(), op.getMode()));
  return select(isInside, 0, d);
}

static void buildPad(PadOp op, GradientBuilder &b) {
  if (op.getMode() == PadMode::Constant && b.wants(1u))
    b.give(1, sumOfBorder(op, b), "value");
  if (!b.wants(0u))
    return;
  Term d = op.getMode() == PadMode::Constant ? Term(b, b.ofResult()) : wideCotangent(b);
  for (int64_t axis = 0; axis < rankOf(d); ++axis)
    if (op.getLow()[axis] || op.getHigh()[axis])
      d = foldBorders(d, op, axis);
  b.give(0, d);
}

void gantry::addMovementRules(MLIRContext &context) {
  addRule<ReshapeOp, buildReshape>(context);
  addRule<TransposeOp, buildTranspose>(context);
  addRule<BroadcastOp, buildBroadcast>(context);
  addRule<ConcatOp, buildConcat>(context);
  addRule<SplitOp, buildSplit>(context);
  addRule<SliceOp, buildSlice>(context);
  addRule<PadOp, buildPad>(context);
}
