// Resampling, as ONNX's Resize defines it.
//
// A nearest resize reads one element for each result element. Linear and cubic ones are separable:
// one op per dimension that changes, each a weighted sum of 2 or 4 neighbours at a coordinate
// computed in f64 from the loop's index. Neighbours outside are the edge, or under
// `exclude_outside` have no weight.

#include "ElementwiseScalars.h"
#include "Patterns.h"
#include "gantry/Dialect/Gantry/IR/ResizeCoordinates.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using FloatPredicate = arith::CmpFPredicate;

namespace {
/// One dimension of a resize.
struct Axis {
  ResizeOp op;
  unsigned dim;
  int64_t in = op.getInput().getType().getDimSize(dim), out = op.getType().getDimSize(dim);
  double scale = op.getScales()[dim];

  bool changes() { return resizeChanges(op, dim); }

  /// Where the current result index samples the input.
  Value coordinate(Emitter &b);
  /// For an enlargement by an integer that reads element i / scale at i: that integer, else 0.
  int64_t repetitions();
  Value nearest(Emitter &b);
  Value isOutside(Emitter &b);
};
} // namespace

namespace {
/// Ops of a kernel, for the formulas. Those with a number have no fast-math flags: at the edges and
/// near a half a different rounding would pick another element.
struct EmitterMath {
  using Value = mlir::Value;
  Emitter &b;
  Type type;

  Value number(double x) const { return b.number(x, type); }
  Value mul(Value x, double y) const { return arith::MulFOp::create(b, x, number(y)); }
  Value div(Value x, double y) const { return arith::DivFOp::create(b, x, number(y)); }
  Value add(Value x, double y) const { return arith::AddFOp::create(b, x, number(y)); }
  Value add(Value x, Value y) const { return b.add(x, y); }
  Value sub(Value x, Value y) const { return b.sub(x, y); }
  Value mul(Value x, Value y) const { return b.mul(x, y); }
};
} // namespace

Value Axis::coordinate(Emitter &b) {
  Value i = arith::IndexCastOp::create(b, b.getI64Type(), b.loopIndex(dim));
  Value x = arith::SIToFPOp::create(b, b.getF64Type(), i);
  return resizeCoordinate(EmitterMath{b, b.getF64Type()}, op, dim, x);
}

/// Coordinates far outside read the edge like those just outside, and an integer holds these.
static Value limit(Emitter &b, Value x, int64_t size) {
  Value low = b.number(-4, x.getType()), high = b.number(double(size) + 4, x.getType());
  x = b.select(b.compare(FloatPredicate::OLT, x, low), low, x);
  return b.select(b.compare(FloatPredicate::OGT, x, high), high, x);
}

static Value toInteger(Emitter &b, Value x) {
  return b.toIndex(arith::FPToSIOp::create(b, b.getI64Type(), x));
}

int64_t Axis::repetitions() {
  auto whole = int64_t(scale);
  if (double(whole) != scale || out != in * whole)
    return 0;
  bool rounds = op.getNearestMode() == NearestMode::RoundPreferFloor ||
                op.getNearestMode() == NearestMode::RoundPreferCeil;
  switch (op.getCoordinateMode()) {
  case CoordinateMode::Asymmetric:
    return op.getNearestMode() == NearestMode::Floor ? whole : 0;
  case CoordinateMode::HalfPixel:
    // (i + 1/2) / scale lies strictly between two integers; minus 1/2 and rounded it is the lower.
    return rounds ? whole : 0;
  default:
    return 0;
  }
}

Value Axis::nearest(Emitter &b) {
  if (!changes())
    return b.loopIndex(dim);
  if (int64_t whole = repetitions())
    return arith::DivUIOp::create(b, b.loopIndex(dim), b.index(whole));
  Value x = limit(b, coordinate(b), in), half = b.number(0.5, x.getType());
  switch (op.getNearestMode()) {
  case NearestMode::RoundPreferFloor:
    x = math::CeilOp::create(b, arith::SubFOp::create(b, x, half));
    break;
  case NearestMode::RoundPreferCeil:
    x = math::FloorOp::create(b, arith::AddFOp::create(b, x, half));
    break;
  case NearestMode::Floor:
    x = math::FloorOp::create(b, x);
    break;
  case NearestMode::Ceil:
    x = math::CeilOp::create(b, x);
    break;
  }
  return b.clampIndex(toInteger(b, x), in);
}

Value Axis::isOutside(Emitter &b) {
  Value x = coordinate(b);
  return b.either(b.compare(FloatPredicate::OLT, x, b.number(0, x.getType())),
                  b.compare(FloatPredicate::OGT, x, b.number(double(in - 1), x.getType())));
}

//===----------------------------------------------------------------------===//
// Weighted neighbours
//===----------------------------------------------------------------------===//

static void excludeOutside(Emitter &b, SmallVectorImpl<Value> &weights, ArrayRef<Value> indices,
                           int64_t size) {
  Value zero = b.number(0, weights[0].getType()), sum = zero;
  for (auto [weight, index] : llvm::zip_equal(weights, indices)) {
    // As unsigned, a negative index is a large one.
    Value inside = b.compare(arith::CmpIPredicate::ult, index, b.index(size));
    weight = b.select(inside, weight, zero);
    sum = b.add(sum, weight);
  }
  for (Value &weight : weights)
    weight = b.div(weight, sum);
}

/// Resamples one dimension of `input`, whose elements are of the compute type.
static Value resample(Emitter &b, Value input, Axis axis) {
  ResizeOp op = axis.op;
  Shape shape(shapeOf(input));
  shape[axis.dim] = axis.out;
  Type type = elementOf(input);
  return b.elementwise(shape, type, {}, [&](Emitter &e, ValueRange) {
    Value x = limit(e, axis.coordinate(e), axis.in);
    Value floor = math::FloorOp::create(e, x);
    Value fraction = arith::SubFOp::create(e, x, floor);
    SmallVector<Value> weights =
        resizeWeightsAt(EmitterMath{e, type}, op, emitCast(e, fraction, e.getF64Type(), type));
    Value first = toInteger(e, floor);
    if (op.getMode() == ResizeMode::Cubic)
      first = e.sub(first, e.index(1));
    SmallVector<Value> indices, at;
    for (size_t i = 0; i < weights.size(); ++i)
      indices.push_back(e.add(first, e.index(i)));
    if (op.getExcludeOutside())
      excludeOutside(e, weights, indices, axis.in);
    for (size_t i = 0; i < shape.size(); ++i)
      at.push_back(e.loopIndex(i));
    Value sum;
    for (auto [weight, index] : llvm::zip_equal(weights, indices)) {
      at[axis.dim] = e.clampIndex(index, axis.in);
      Value term = e.mul(weight, tensor::ExtractOp::create(e, input, at));
      sum = sum ? e.add(sum, term) : term;
    }
    return sum;
  });
}

/// Elementwise cast between types with signs.
static Value castTensor(Emitter &b, Value value, Type from, Type to) {
  if (from == to)
    return value;
  return b.elementwise(shapeOf(value), signless(to), b.identity(value),
                       [&](Emitter &e, ValueRange x) { return emitCast(e, x[0], from, to); });
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static Value resizeNearest(ResizeOp op, Value input, Emitter &b) {
  return b.pick(op.getType().getShape(), input, {},
                [&](Emitter &e, unsigned i, ValueRange) { return Axis{op, i}.nearest(e); });
}

/// Integers are resampled as floats that hold them and then cut toward zero.
static Value resizeWeighted(ResizeOp op, Value input, Emitter &b) {
  Type element = op.getType().getElementType(), wide = computeType(element);
  if (!isa<FloatType>(element))
    wide = element.getIntOrFloatBitWidth() <= 16 ? Type(b.getF32Type()) : Type(b.getF64Type());
  Value result = castTensor(b, input, element, wide);
  for (unsigned i = 0; i < op.getScales().size(); ++i)
    if (Axis axis{op, i}; axis.changes())
      result = resample(b, result, axis);
  return castTensor(b, result, wide, element);
}

/// Puts the extrapolation value where a coordinate lies outside the input in some dimension.
static Value extrapolate(ResizeOp op, Value result, Emitter &b) {
  Type element = op.getType().getElementType();
  return b.elementwise(
      shapeOf(result), elementOf(result), b.identity(result), [&](Emitter &e, ValueRange x) {
        Value value = e.number(op.getExtrapolation().convertToDouble(), e.getF64Type());
        value = emitCast(e, value, e.getF64Type(), element);
        Value outside = e.integer(0, e.getI1Type());
        for (unsigned i = 0; i < op.getScales().size(); ++i)
          outside = e.either(outside, Axis{op, i}.isOutside(e));
        return e.select(outside, value, x[0]);
      });
}

static Value lowerResize(ResizeOp op, ResizeOp::Adaptor in, Emitter &b) {
  Value result = op.getMode() == ResizeMode::Nearest ? resizeNearest(op, in.getInput(), b)
                                                     : resizeWeighted(op, in.getInput(), b);
  if (op.getCoordinateMode() == CoordinateMode::TfCropAndResize)
    return extrapolate(op, result, b);
  return result;
}

void gantry::populateResizePatterns(SignlessTypeConverter &converter, RewritePatternSet &patterns) {
  addLowering<ResizeOp, lowerResize>(converter, patterns);
}
