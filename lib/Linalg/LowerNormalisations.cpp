// Layer, RMS, batch and group normalisation, and normalisation over neighbouring channels.
//
// Statistics are reductions over inner dimensions followed by one elementwise op over all of them,
// so that tiling the last op by rows takes the statistics along. Everything between is f32 for f16
// and bf16. The variance is summed around the mean, in a second pass, because the one-pass form
// loses all digits when the mean is large.

#include "Blocks.h"
#include "Patterns.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using utils::IteratorType;

static int64_t elementsOver(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shape[axis];
  return count;
}

static Value meanOver(Emitter &b, Value input, ArrayRef<int64_t> axes) {
  Value sum = reduceAxes(b, input, axes, Combine::Sum);
  int64_t count = elementsOver(shapeOf(input), axes);
  return b.elementwise(shapeOf(sum), elementOf(sum), b.identity(sum),
                       [&](Emitter &e, ValueRange x) {
                         return e.div(x[0], e.number(double(count), x[0].getType()));
                       });
}

/// 1 / sqrt(mean((x - mean)^2) + epsilon) over `axes`; without `mean`, of x itself.
static Value inverseDeviation(Emitter &b, Value input, Value mean, ArrayRef<int64_t> axes,
                              double epsilon) {
  unsigned rank = typeOf(input).getRank();
  Type wide = computeType(elementOf(input));
  SmallVector<Operand> inputs{b.identity(input)};
  Value sum;
  if (mean) {
    SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
    for (int64_t axis : axes)
      iterators[axis] = IteratorType::reduction;
    Value init = b.filled(shapeOf(mean), b.number(0, wide));
    Operand center = withoutAxes(b, mean, rank, axes);
    sum = b.accumulate(init, center.map, {b.identity(input), center}, iterators,
                       [](Emitter &e, ValueRange x) {
                         Value d = e.sub(e.widen(x[0]), x[1]);
                         return e.add(x[2], e.mul(d, d));
                       });
  } else {
    sum = reduceAxes(b, input, axes, Combine::Sum, false,
                     [](Emitter &e, Value x) { return e.mul(x, x); });
  }
  int64_t count = elementsOver(shapeOf(input), axes);
  return b.elementwise(shapeOf(sum), wide, b.identity(sum), [&](Emitter &e, ValueRange x) {
    Value variance = e.div(x[0], e.number(double(count), wide));
    return e.math<math::RsqrtOp>(e.add(variance, e.number(epsilon, wide)));
  });
}

/// (x - mean) * factor * scale + bias; mean and bias may be absent.
static Value applyNorm(Emitter &b, Value input, std::optional<Operand> mean, Operand factor,
                       Operand scale, std::optional<Operand> bias) {
  SmallVector<Operand> inputs{b.identity(input), factor, scale};
  if (mean)
    inputs.push_back(*mean);
  if (bias)
    inputs.push_back(*bias);
  Type element = elementOf(input);
  return b.elementwise(shapeOf(input), element, inputs, [&](Emitter &e, ValueRange v) {
    Value x = e.widen(v[0]);
    if (mean)
      x = e.sub(x, e.widen(v[3]));
    x = e.mul(e.mul(x, e.widen(v[1])), e.widen(v[2]));
    if (bias)
      x = e.add(x, e.widen(v[mean ? 4 : 3]));
    return e.narrow(x, element);
  });
}

static Shape axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(first, rank));
}

static Value lowerLayerNorm(LayerNormOp op, LayerNormOp::Adaptor in, Emitter &b) {
  Value x = in.getInput();
  int64_t rank = typeOf(x).getRank();
  Shape axes = axesFrom(op.getAxis(), rank);
  Value mean = meanOver(b, x, axes);
  Value factor = inverseDeviation(b, x, mean, axes, op.getEpsilon().convertToDouble());
  std::optional<Operand> bias;
  if (in.getBias())
    bias = b.broadcast(in.getBias(), shapeOf(x));
  return applyNorm(b, x, withoutAxes(b, mean, rank, axes), withoutAxes(b, factor, rank, axes),
                   b.broadcast(in.getScale(), shapeOf(x)), bias);
}

static Value lowerRmsNorm(RmsNormOp op, RmsNormOp::Adaptor in, Emitter &b) {
  Value x = in.getInput();
  int64_t rank = typeOf(x).getRank();
  Shape axes = axesFrom(op.getAxis(), rank);
  Value factor = inverseDeviation(b, x, Value(), axes, op.getEpsilon().convertToDouble());
  return applyNorm(b, x, std::nullopt, withoutAxes(b, factor, rank, axes),
                   b.broadcast(in.getScale(), shapeOf(x)), std::nullopt);
}

static Value lowerBatchNorm(BatchNormOp op, BatchNormOp::Adaptor in, Emitter &b) {
  Value x = in.getInput();
  unsigned rank = typeOf(x).getRank(), channel = isNHWC(op) ? rank - 1 : 1;
  Type wide = computeType(elementOf(x));
  Value variance = in.getVariance();
  Value factor =
      b.elementwise(shapeOf(variance), wide, b.identity(variance), [&](Emitter &e, ValueRange v) {
        Value epsilon = e.number(op.getEpsilon().convertToDouble(), wide);
        return e.math<math::RsqrtOp>(e.add(e.widen(v[0]), epsilon));
      });
  return applyNorm(b, x, b.perDim(in.getMean(), rank, channel), b.perDim(factor, rank, channel),
                   b.perDim(in.getScale(), rank, channel), b.perDim(in.getBias(), rank, channel));
}

/// On [n, groups, c / groups, spatial...], where each group is a run of inner dimensions.
static Value lowerGroupNorm(GroupNormOp op, GroupNormOp::Adaptor in, Emitter &b) {
  int64_t groups = op.getGroups();
  Shape shape(shapeOf(in.getInput()));
  Shape split(shape), channels{groups, shape[1] / groups};
  split[1] = channels[1];
  split.insert(split.begin() + 1, groups);
  Value x = b.reshape(in.getInput(), split);
  int64_t rank = split.size();
  Shape axes = axesFrom(2, rank);
  Value mean = meanOver(b, x, axes);
  Value factor = inverseDeviation(b, x, mean, axes, op.getEpsilon().convertToDouble());
  auto perChannel = [&](Value value) -> Operand {
    return {b.reshape(value, channels), b.mapOf(rank, b.dims(1, 3))};
  };
  Value result =
      applyNorm(b, x, withoutAxes(b, mean, rank, axes), withoutAxes(b, factor, rank, axes),
                perChannel(in.getScale()), perChannel(in.getBias()));
  return b.reshape(result, shape);
}

/// A window over the channels, with zeros before the first and after the last.
static Value lowerLrn(LrnOp op, LrnOp::Adaptor in, Emitter &b) {
  Value x = in.getInput();
  Shape shape(shapeOf(x));
  int64_t size = op.getSize(), before = (size - 1) / 2;
  unsigned rank = shape.size();
  Type element = elementOf(x), wide = computeType(element);
  Value padded = b.pad(x, before, size - 1 - before, b.number(0, element), 1);
  SmallVector<AffineExpr> at = b.dims(0, rank);
  at[1] = at[1] + b.dim(rank);
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.push_back(IteratorType::reduction);
  SmallVector<Operand> inputs{{padded, b.mapOf(rank + 1, at)},
                              {b.empty(size, element), b.mapOf(rank + 1, b.dim(rank))}};
  Value sum = b.accumulate(b.filled(shape, b.number(0, wide)), b.mapOf(rank + 1, b.dims(0, rank)),
                           inputs, iterators, [](Emitter &e, ValueRange v) {
                             Value wideX = e.widen(v[0]);
                             return e.add(v[2], e.mul(wideX, wideX));
                           });
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  return b.elementwise(
      shape, element, {b.identity(x), b.identity(sum)}, [&](Emitter &e, ValueRange v) {
        Value scaled = e.mul(v[1], e.number(alpha / double(size), wide));
        Value base = e.add(scaled, e.number(op.getBias().convertToDouble(), wide));
        Value power = math::PowFOp::create(e, base, e.number(beta, wide), e.mathFlags);
        return e.narrow(e.div(e.widen(v[0]), power), element);
      });
}

void gantry::populateNormalisationPatterns(SignlessTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  addLowering<LayerNormOp, lowerLayerNorm>(converter, patterns);
  addLowering<RmsNormOp, lowerRmsNorm>(converter, patterns);
  addLowering<BatchNormOp, lowerBatchNorm>(converter, patterns);
  addLowering<GroupNormOp, lowerGroupNorm>(converter, patterns);
  addLowering<LrnOp, lowerLrn>(converter, patterns);
}
