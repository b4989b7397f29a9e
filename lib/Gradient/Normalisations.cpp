// Normalisations, by closed forms with two sums a row. Mean and deviation are made again of the
// operand: they are small, and the operand is kept for its own rule anyway.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

namespace {
/// A value normalised over some axes: what is made again, and the way back.
struct Normalised {
  Term deviation; ///< 1 / sqrt(variance + epsilon)
  Term value;     ///< (x - mean) times that
  Shape axes;

  static Normalised of(Term x, ArrayRef<int64_t> axes, double epsilon, bool subtractsMean) {
    Term centred = subtractsMean ? x - meanOver(x, axes) : x;
    Term deviation = rsqrt(meanOver(centred * centred, axes) + epsilon);
    return {deviation, centred * deviation, Shape(axes)};
  }

  /// Of x, where the normalised value has the cotangent `d`.
  Term back(Term d, bool subtractsMean) const {
    Term own = d - value * meanOver(d * value, axes);
    return deviation * (subtractsMean ? own - meanOver(d, axes) : own);
  }
};
} // namespace

static Shape axesFrom(int64_t axis, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(axis, rank));
}

/// Of the input and the scale; gives the cotangent, in f32 where that is narrower.
template <typename Op>
static Term buildRowNorm(Op op, GradientBuilder &b, bool subtractsMean) {
  Term d = wideCotangent(b), x = wide(b, op.getInput());
  Normalised row = Normalised::of(x, axesFrom(op.getAxis(), rankOf(x)),
                                  op.getEpsilon().convertToDouble(), subtractsMean);
  if (b.wants(0u))
    b.give(0, row.back(d * wide(b, op.getScale()), subtractsMean));
  if (b.wants(1u))
    b.give(1, d * row.value, "scale");
  return d;
}

static void buildLayerNorm(LayerNormOp op, GradientBuilder &b) {
  Term d = buildRowNorm(op, b, /*subtractsMean=*/true);
  if (op.getBias() && b.wants(2u))
    b.give(2, d, "bias");
}

static void buildRmsNorm(RmsNormOp op, GradientBuilder &b) {
  buildRowNorm(op, b, /*subtractsMean=*/false);
}

/// As [n, groups, channels of a group, places]; scale and bias have a channel each.
static void buildGroupNorm(GroupNormOp op, GradientBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  int64_t groups = op.getGroups(), inner = shape[1] / groups;
  Shape split{shape[0], groups, inner, ShapedType::getNumElements(shape.drop_front(2))};
  Term d = reshaped(wideCotangent(b), split), x = reshaped(wide(b, op.getInput()), split);
  Term scale = reshaped(wide(b, op.getScale()), {groups, inner, 1});
  Normalised group =
      Normalised::of(x, {2, 3}, op.getEpsilon().convertToDouble(), /*subtractsMean=*/true);
  auto perChannel = [&](Term value) { return reshaped(sumOver(value, {0, 3}), {shape[1]}); };
  if (b.wants(0u))
    b.give(0, reshaped(group.back(d * scale, /*subtractsMean=*/true), shape));
  if (b.wants(1u))
    b.give(1, perChannel(d * group.value), "scale");
  if (b.wants(2u))
    b.give(2, perChannel(d), "bias");
}

/// With statistics that are given: elementwise but for the sums of each channel.
static void buildBatchNorm(BatchNormOp op, GradientBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  Shape channel{shape[1]}, rest{0};
  channel.append(shape.size() - 2, 1);
  llvm::append_range(rest, llvm::seq<int64_t>(2, shape.size()));
  auto perChannel = [&](Value value) { return reshaped(wide(b, value), channel); };
  auto sum = [&](Term value) { return reshaped(sumOver(value, rest), {shape[1]}); };
  Term d = wideCotangent(b), centred = wide(b, op.getInput()) - perChannel(op.getMean());
  Term scale = wide(b, op.getScale());
  Term deviation = rsqrt(wide(b, op.getVariance()) + op.getEpsilon().convertToDouble());
  if (b.wants(0u))
    b.give(0, d * reshaped(deviation * scale, channel));
  if (b.wants(1u))
    b.give(1, sum(d * centred) * deviation, "scale");
  if (b.wants(2u))
    b.give(2, sum(d), "bias");
  if (b.wants(3u))
    b.give(3, -sum(d) * (deviation * scale), "mean");
  if (b.wants(4u))
    b.give(4, -0.5 * sum(d * centred) * (scale * (deviation * deviation * deviation)), "variance");
}

void gantry::addNormalisationRules(MLIRContext &context) {
  addRule<LayerNormOp, buildLayerNorm>(context);
  addRule<RmsNormOp, buildRmsNorm>(context);
  addRule<GroupNormOp, buildGroupNorm>(context);
  addRule<BatchNormOp, buildBatchNorm>(context);
}
