// Requantisation: scales behind int8 products, decided by constants.
//
//   (f32(p) s + f32(q) t) / y          f32(p) (s / y) + f32(q) (t / y)
//   f32(p) s + f32(q) s                f32(p + q) s for constants q, as biases are quantised
//
// Scales are multiplied and divided here, in f32 as QLinearConv and QLinearMatMul say. What is
// between a division by a scale and the products is taken along, so that requantising is one
// multiplication.

#include "Requantization.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// A scale that constants decide is one.
static LogicalResult evaluateScale(MulOp op, PatternRewriter &rewriter) {
  auto scaled = ScaledInteger::match(op);
  Operation *maker = scaled ? scaled->scale.getDefiningOp() : nullptr;
  if (!maker || isa<ConstantOp>(maker) || hasRequest(maker))
    return failure();
  Maker b{rewriter, op};
  auto type = typeOf(scaled->scale);
  Value scale =
      b.constant(Shape(type.getShape()), type.getElementType(), *evaluateValue(scaled->scale));
  auto product = MulOp::create(rewriter, op.getLoc(), op.getType(), scaled->number, scale);
  product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, product);
  return success();
}

/// A zero point in f32 that constants decide is one: what is rounded is quantised.
static LogicalResult evaluateZero(AddOp op, PatternRewriter &rewriter) {
  Value zero = op.getRhs();
  Operation *maker = zero.getDefiningOp();
  auto known = evaluateValue(zero);
  if (!op.getLhs().getDefiningOp<RoundOp>() || !known || isa<ConstantOp>(maker) ||
      hasRequest(maker))
    return failure();
  Maker b{rewriter, op};
  auto type = typeOf(zero);
  Value constant = b.constant(Shape(type.getShape()), type.getElementType(), *known);
  rewriter.modifyOpInPlace(op, [&] { op.getRhsMutable().assign(constant); });
  return success();
}

namespace {
/// A constant of i32 times a scale, in a shape of its own.
struct ScaledConstant {
  KnownElements integers;
  KnownElements scale; ///< one number, or one for each
  Shape shape;

  static std::optional<ScaledConstant> match(Value value, Operation *user) {
    Shape shape(typeOf(value).getShape());
    SmallVector<Operation *> ops;
    if (auto view = value.getDefiningOp<ReshapeOp>()) {
      ops.push_back(view);
      value = view.getInput();
    }
    auto scaled = ScaledInteger::match(value);
    auto integers = scaled ? evaluateValue(scaled->number.getInput()) : std::nullopt;
    if (!integers || !typeOf(scaled->number.getInput()).getElementType().isSignlessInteger(32) ||
        int64_t(integers->size()) != ShapedType::getNumElements(shape))
      return std::nullopt;
    ops.append({scaled->number, value.getDefiningOp()});
    auto scale = evaluateValue(scaled->scale);
    if (!mayMove(ops, user) || (scale->size() != 1 && scale->size() != integers->size()))
      return std::nullopt;
    return ScaledConstant{*integers, *scale, shape};
  }

  /// Whether `other` is the same number wherever this is added.
  bool hasScale(Value other) const {
    auto numbers = evaluateValue(other);
    ArrayRef<int64_t> own = typeOf(other).getShape();
    auto both = broadcastShapes(shape, own);
    if (!numbers || !both || ShapedType::getNumElements(*both) > kMaxEvaluated)
      return false;
    for (int64_t i = 0, n = ShapedType::getNumElements(*both); i < n; ++i) {
      const int64_t mine = scale.size() == 1 ? 0 : broadcastPosition(i, *both, shape);
      if (numbers->floats[broadcastPosition(i, *both, own)] != scale.floats[mine])
        return false;
    }
    return true;
  }
};
} // namespace

/// f32(p) s + f32(q) s of a constant q, as biases are quantised: f32(p + q) s. The sum is exact
/// where the other one is rounded twice.
static LogicalResult addBias(AddOp op, PatternRewriter &rewriter) {
  for (auto [left, right] :
       {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    auto product = ScaledInteger::match(left);
    if (!product ||
        product->number.getInput().getType() != op.getType().clone(rewriter.getI32Type()) ||
        evaluateValue(left) || !mayMove({product->number, left.getDefiningOp()}, op))
      continue;
    auto bias = ScaledConstant::match(right, op);
    if (!bias || !bias->hasScale(product->scale))
      continue;
    Maker b{rewriter, op};
    Value constant = b.constant(bias->shape, rewriter.getI32Type(), bias->integers);
    Value sums = b.make<AddOp>(product->number.getInput(), constant);
    rewriter.replaceOp(
        op, b.make<MulOp>(op.getType(), b.cast(sums, rewriter.getF32Type()), product->scale));
    return success();
  }
  return failure();
}

/// Two constants that are added one after the other.
static LogicalResult addOnce(AddOp op, PatternRewriter &rewriter) {
  auto inner = op.getLhs().getDefiningOp<AddOp>();
  if (!inner || !inner->hasOneUse() || !typeOf(op).getElementType().isSignlessInteger(32) ||
      inner.getType() != op.getType() || !mayMove(inner.getOperation(), op) ||
      !op.getRhs().getDefiningOp<ConstantOp>() || !inner.getRhs().getDefiningOp<ConstantOp>() ||
      inner.getLhs().getType() != op.getType())
    return failure();
  auto shape = broadcastShapes(typeOf(op.getRhs()).getShape(), typeOf(inner.getRhs()).getShape());
  auto x = evaluateValue(op.getRhs()), y = evaluateValue(inner.getRhs());
  if (!x || !y || !shape || ShapedType::getNumElements(*shape) > kMaxEvaluated)
    return failure();
  KnownElements sum{false, {}, {}};
  for (int64_t i = 0, n = ShapedType::getNumElements(*shape); i < n; ++i)
    sum.ints.push_back(int32_t(
        uint32_t(x->ints[broadcastPosition(i, *shape, typeOf(op.getRhs()).getShape())]) +
        uint32_t(y->ints[broadcastPosition(i, *shape, typeOf(inner.getRhs()).getShape())])));
  Maker b{rewriter, op};
  Value constant = b.constant(Shape(*shape), rewriter.getI32Type(), sum);
  rewriter.replaceOp(op, b.make<AddOp>(op.getType(), inner.getLhs(), constant));
  return success();
}

namespace {
/// A value in other units, by ops that do not care which: sums, relu and clamps of scaled integers
/// and constants.
struct Rescaling {
  Operation *division;
  double unit; ///< above zero
  Maker &b;

  static constexpr int kMostDepth = 6;

  /// Whether `value` can be had in other units, and some of it comes from integers.
  bool isPossible(Value value, bool &hasIntegers, int depth = 0) const {
    if (evaluateValue(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || depth > kMostDepth || !value.hasOneUse() || !mayMove(op, division))
      return false;
    if (ScaledInteger::match(value))
      return hasIntegers = true;
    if (!isa<AddOp, ReluOp, ClampOp>(op))
      return false;
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isPossible(operand, hasIntegers, depth + 1); });
  }

  Value divide(Value constant) {
    KnownElements elements = *evaluateValue(constant);
    for (double &number : elements.floats)
      number = float(number / unit);
    return b.constant(Shape(typeOf(constant).getShape()), typeOf(constant).getElementType(),
                      elements);
  }

  Value rescale(Value value) {
    if (evaluateValue(value))
      return divide(value);
    if (auto scaled = ScaledInteger::match(value))
      return b.make<MulOp>(value.getType(), scaled->number, divide(scaled->scale));
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, rescale(operand));
    return b.rewriter.clone(*op, mapping)->getResult(0);
  }
};
} // namespace

/// A division by the scale of the result, which is rounded then: other numbers keep their bits.
static LogicalResult divideScales(DivOp op, PatternRewriter &rewriter) {
  if (!op->hasOneUse() || !isa<RoundOp>(*op->user_begin()) ||
      !typeOf(op).getElementType().isF32() || typeOf(op.getRhs()).getNumElements() != 1 ||
      op.getLhs().getType() != op.getType() || !op.getType().hasStaticShape())
    return failure();
  auto unit = evaluateValue(op.getRhs());
  if (!unit || !(unit->floats[0] > 0) || std::isinf(unit->floats[0]) ||
      op.getLhs().getDefiningOp<ConstantOp>())
    return failure();
  Maker b{rewriter, op};
  Rescaling rescaling{op, unit->floats[0], b};
  bool hasIntegers = false;
  if (!rescaling.isPossible(op.getLhs(), hasIntegers) || !hasIntegers)
    return failure();
  rewriter.replaceOp(op, rescaling.rescale(op.getLhs()));
  return success();
}

/// The cast to an integer saturates by itself.
static LogicalResult saturateOnce(CastOp op, PatternRewriter &rewriter) {
  auto to = dyn_cast<IntegerType>(op.getType().getElementType());
  auto clamp = op.getInput().getDefiningOp<ClampOp>();
  if (!to || to.getWidth() != 8 || !clamp || !typeOf(clamp).getElementType().isF32() ||
      !mayMove(clamp.getOperation(), op) || clamp.getInput().getType() != clamp.getType())
    return failure();
  auto lowest = evaluateValue(clamp.getLow()), highest = evaluateValue(clamp.getHigh());
  const double low = to.isUnsigned() ? 0 : -128, high = to.isUnsigned() ? 255 : 127;
  if (!lowest || !highest || lowest->size() != 1 || highest->size() != 1 ||
      lowest->floats[0] > low || highest->floats[0] < high)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(clamp.getInput()); });
  return success();
}

/// A single number that constants decide.
static std::optional<double> knownNumber(Value value) {
  auto known = typeOf(value).getNumElements() == 1 ? evaluateValue(value) : std::nullopt;
  if (!known)
    return std::nullopt;
  return known->isFloat ? known->floats[0] : double(known->ints[0]);
}

/// Bytes that are scaled and quantised again are the same where both zero points are, and one scale
/// over the other is 1: nothing is rounded in between.
static LogicalResult quantiseOnce(CastOp op, PatternRewriter &rewriter) {
  auto moved = op.getInput().getDefiningOp<AddOp>();
  Value rounded = moved ? moved.getLhs() : op.getInput();
  auto round = rounded.getDefiningOp<RoundOp>();
  auto scaled = round ? Scaled::match(round.getInput()) : std::nullopt;
  if (!scaled || scaled->centred.bytes.getType() != op.getType() ||
      rounded.getType() != op.getInput().getType())
    return failure();
  const Value zero = scaled->centred.zero;
  std::optional<double> before = zero ? knownNumber(zero) : 0,
                        behind = moved ? knownNumber(moved.getRhs()) : 0;
  if (!before || before != behind || knownNumber(scaled->scale) != 1)
    return failure();
  rewriter.replaceOp(op, scaled->centred.bytes);
  return success();
}

void gantry::populateRequantizationPatterns(RewritePatternSet &patterns) {
  patterns.add(evaluateScale);
  patterns.add(evaluateZero);
  patterns.add(addBias);
  patterns.add(addOnce);
  patterns.add(divideScales);
  patterns.add(saturateOnce);
  patterns.add(quantiseOnce);
}
