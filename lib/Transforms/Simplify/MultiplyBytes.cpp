// Products of quantised values as products of bytes, with the scales behind them.
//
//   (a - za) x (w - zw)                a x w' - za * (sums of w')       in i32, w' = w - zw
//   where w' does not fit i8           a x (w' + m) - za * (sums of w') - m * (sums of a)
//   (a - za) sa x (w - zw) sw          f32(the same) * (sa sw)
//   (f32(p) s + f32(q) t) / y          f32(p) (s / y) + f32(q) (t / y)
//
// The weights w are constants; unsigned ones with a zero point in their midst are moved by m to fit
// i8. The sums are exact, whatever their order; a becomes unsigned by moving it and its zero point
// up. The scales, decided by constants, are multiplied
// here, in f32 as QLinearConv and QLinearMatMul say. What is between a division by a scale and the
// products is taken along, so that requantising is one multiplication.

#include "Dequantised.h"

#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MULTIPLYBYTESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

using Shape = SmallVector<int64_t>;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// Makes ops that run where `like` was asked to.
struct Maker {
  PatternRewriter &rewriter;
  Operation *like;

  template <typename Op, typename... Args>
  Op make(Args &&...args) {
    auto op = Op::create(rewriter, like->getLoc(), std::forward<Args>(args)...);
    inheritRequest(like, op);
    return op;
  }

  Value cast(Value value, Type element) {
    auto type = typeOf(value).clone(element);
    return value.getType() == type ? value : make<CastOp>(type, value).getResult();
  }
  Value constant(Shape shape, Type element, const Elements &elements) {
    auto type = RankedTensorType::get(shape, element);
    return ConstantOp::create(rewriter, like->getLoc(), makeElements(type, elements));
  }
  Value number(int64_t value, Type element) { return constant({}, element, {false, {value}, {}}); }
};

/// The weights of a product: one row of terms for each output.
struct Weights {
  Value bytes;                ///< i8
  std::vector<int64_t> sums;  ///< of the terms of each output, before they were moved
  std::vector<int64_t> moves; ///< what was added to each term of an output, to fit i8

  bool isMoved() const {
    return llvm::any_of(moves, [](int64_t move) { return move != 0; });
  }
};
} // namespace

/// Whether ops may be computed in another way at the place of `product`: nobody asked for them
/// elsewhere.
static bool mayMove(ArrayRef<Operation *> ops, Operation *product) {
  return llvm::all_of(
      ops, [&](Operation *op) { return !hasRequest(op) || getRequest(op) == getRequest(product); });
}

static std::optional<int64_t> constantZero(Value zero) {
  if (!zero)
    return 0;
  auto elements = typeOf(zero).getNumElements() == 1 ? evaluateValue(zero) : std::nullopt;
  return elements ? std::optional(elements->ints[0]) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// A constant like `old` that stays out of the module's text if that did.
static Value makeBytes(ConstantOp old, ArrayRef<int8_t> values) {
  OpBuilder builder(old);
  auto type = RankedTensorType::get(typeOf(old).getShape(), builder.getI8Type());
  ArrayRef<char> raw(reinterpret_cast<const char *>(values.data()), values.size());
  ElementsAttr made;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(old.getValue()))
    made = DenseResourceElementsAttr::get(type, resource.getRawHandle().getKey(),
                                          HeapAsmResourceBlob::allocateAndCopyWithAlign(raw, 64));
  else
    made = DenseElementsAttr::getFromRawBuffer(type, raw);
  auto copy = ConstantOp::create(builder, old.getLoc(), made);
  copy->setDiscardableAttrs(old->getDiscardableAttrDictionary());
  return copy;
}

/// What has to be added to numbers from `lowest` to `highest` to make them fit i8; nothing where
/// they are too far apart.
static std::optional<int64_t> findMove(int64_t lowest, int64_t highest) {
  if (lowest >= INT8_MIN && highest <= INT8_MAX)
    return 0;
  return highest - lowest <= UINT8_MAX ? std::optional(INT8_MIN - lowest) : std::nullopt;
}

/// Centred bytes of a constant whose outputs are along `dim`.
static std::optional<Weights> findWeights(const Centred &centred, int64_t dim) {
  auto constant = centred.bytes.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto type = typeOf(constant);
  ArrayRef<int64_t> shape = type.getShape();
  auto values = readElements(constant.getValue(), type.getNumElements());
  Elements zeros{false, {0}, {}};
  if (centred.zero) {
    auto known = elementsAlong(centred.zero, shape, dim);
    if (!known)
      return std::nullopt;
    zeros = *known;
  }
  if (!values || values->isFloat)
    return std::nullopt;
  const int64_t outputs = shape[dim], inner = ShapedType::getNumElements(shape.drop_front(dim + 1));
  auto outputOf = [&](size_t i) { return int64_t(i) / inner % outputs; };
  std::vector<int64_t> lowest(outputs, 0), highest(outputs, 0), sums(outputs, 0), moves(outputs, 0);
  for (auto [i, value] : llvm::enumerate(values->ints)) {
    const int64_t output = outputOf(i);
    value -= zeros.ints[zeros.size() == 1 ? 0 : output];
    sums[output] += value;
    lowest[output] = std::min(lowest[output], value);
    highest[output] = std::max(highest[output], value);
  }
  for (int64_t output = 0; output < outputs; ++output) {
    auto move = findMove(lowest[output], highest[output]);
    if (!move)
      return std::nullopt;
    moves[output] = *move;
  }
  std::vector<int8_t> bytes(values->size());
  for (auto [i, value] : llvm::enumerate(values->ints))
    bytes[i] = int8_t(value + moves[outputOf(i)]);
  Weights weights{constant, std::move(sums), std::move(moves)};
  auto isZero = [](int64_t zero) { return zero == 0; };
  if (!type.getElementType().isSignlessInteger(8) || weights.isMoved() ||
      !llvm::all_of(zeros.ints, isZero))
    weights.bytes = makeBytes(constant, bytes);
  return weights;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Where the outputs are in the weights; nothing for products of several matrices of weights.
static std::optional<int64_t> outputDim(Operation *op) {
  if (isa<ConvOp>(op))
    return 0;
  auto matmul = cast<MatmulOp>(op);
  if (typeOf(matmul.getRhs()).getRank() != 2)
    return std::nullopt;
  return matmul.getTransposeB() ? 0 : 1;
}

/// Where they are in the result.
static int64_t resultDim(Operation *op) {
  return isa<ConvOp>(op) ? 1 : typeOf(op->getResult(0)).getRank() - 1;
}

/// One number for each output, or for all, in a shape that is broadcast to the result.
static Shape shapeOfOutputs(Operation *op, int64_t count) {
  Shape shape(typeOf(op->getResult(0)).getRank() - resultDim(op), 1);
  shape.front() = count;
  return count == 1 ? Shape() : shape;
}

namespace {
/// Unsigned bytes and their zero point.
struct Image {
  Value bytes;
  Value zero;                       ///< i32, a single number; null for zero
  std::optional<int64_t> zeroKnown; ///< when it is constant
};
} // namespace

static Image makeUnsigned(const Centred &centred, Maker &b) {
  Image image{centred.bytes, centred.zero, constantZero(centred.zero)};
  if (typeOf(image.bytes).getElementType().isUnsignedInteger())
    return image;
  Builder types(b.like->getContext());
  // Turning the first bit adds 128 and takes the sign away.
  Value turned = b.make<BitwiseXorOp>(image.bytes, b.number(-128, types.getI8Type()));
  image.bytes = b.cast(turned, types.getIntegerType(8, /*isSigned=*/false));
  Value moved = b.number(128, types.getI32Type());
  if (image.zeroKnown)
    image.zero = b.number(*image.zeroKnown += 128, types.getI32Type());
  else
    image.zero = b.make<AddOp>(image.zero, moved);
  return image;
}

/// The borders of a convolution hold the zero point.
static Value addBorders(ConvOp conv, const Image &image, Maker &b) {
  auto isZero = [](int64_t size) { return size == 0; };
  if (image.zeroKnown == 0 ||
      (llvm::all_of(conv.getPadsLow(), isZero) && llvm::all_of(conv.getPadsHigh(), isZero)))
    return image.bytes;
  Shape low{0, 0}, high{0, 0};
  llvm::append_range(low, conv.getPadsLow());
  llvm::append_range(high, conv.getPadsHigh());
  Type element = typeOf(image.bytes).getElementType();
  Value border =
      image.zeroKnown
          ? b.number(*image.zeroKnown, element)
          : b.cast(b.make<ReshapeOp>(RankedTensorType::get({}, typeOf(image.zero).getElementType()),
                                     image.zero),
                   element);
  auto list = [&](const Shape &sizes) { return b.rewriter.getDenseI64ArrayAttr(sizes); };
  return b.make<PadOp>(image.bytes, border, list(low), list(high),
                       PadModeAttr::get(conv.getContext(), PadMode::Constant));
}

namespace {
/// Multiplies unsigned bytes by signed ones as `op` does, its borders added to the image before.
struct BytesProduct {
  Operation *op;
  Value image;
  bool hasBorders; ///< in the image, so that there are none to add
  Maker &b;

  Value by(Value weights) const {
    auto type = typeOf(op->getResult(0)).clone(b.rewriter.getI32Type());
    if (auto matmul = dyn_cast<MatmulOp>(op))
      return b.make<MatmulOp>(type, image, weights, matmul.getTransposeA(), matmul.getTransposeB());
    return convolve(type, image, weights);
  }

  /// The sums of the bytes that each sum of products has, in a shape that is broadcast to theirs.
  Value sumsOfImage() const {
    Type i8 = b.rewriter.getI8Type(), i32 = b.rewriter.getI32Type();
    Shape shape(typeOf(op->getResult(0)).getShape());
    auto ones = [&](ArrayRef<int64_t> shape, Type element) {
      return b.constant(Shape(shape), element, {false, {1}, {}});
    };
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      shape.back() = 1;
      const int64_t terms = typeOf(matmul.getRhs()).getDimSize(matmul.getTransposeB() ? 1 : 0);
      return b.make<MatmulOp>(RankedTensorType::get(shape, i32), image, ones({terms, 1}, i8),
                              matmul.getTransposeA(), /*transposeB=*/false);
    }
    auto conv = cast<ConvOp>(op);
    Shape window(typeOf(conv.getFilter()).getShape());
    if (conv.getGroups() != 1)
      return by(ones(window, i8));
    window[0] = shape[1] = 1;
    auto type = RankedTensorType::get(shape, i32);
    if (llvm::all_of(ArrayRef(window).drop_front(2), [](int64_t size) { return size == 1; }))
      return convolve(type, image, ones(window, i8));
    // Channels first, which leaves little to add up in a window.
    Shape pixel(window.size(), 1), pixels(typeOf(image).getShape());
    pixel[1] = window[1];
    pixels[1] = window[1] = 1;
    const Shape once(pixel.size() - 2, 1), none(pixel.size() - 2, 0);
    Value sums = b.make<ConvOp>(RankedTensorType::get(pixels, i32), image, ones(pixel, i8), once,
                                none, none, once, 1);
    return convolve(type, sums, ones(window, i32));
  }

private:
  Value convolve(RankedTensorType type, Value image, Value filter) const {
    auto conv = cast<ConvOp>(op);
    Shape none(conv.getPadsLow().size(), 0);
    return b.make<ConvOp>(type, image, filter, conv.getStrides(),
                          hasBorders ? ArrayRef<int64_t>(none) : conv.getPadsLow(),
                          hasBorders ? ArrayRef<int64_t>(none) : conv.getPadsHigh(),
                          conv.getDilations(), conv.getGroups());
  }
};
} // namespace

/// What the zero point adds to each sum, taken off.
static Value correct(Operation *op, Value sums, const Image &image, const Weights &weights,
                     Maker &b) {
  if (image.zeroKnown == 0)
    return sums;
  Elements offsets{false, {}, {}};
  for (int64_t sum : weights.sums)
    offsets.ints.push_back(
        int32_t(uint32_t(sum) * uint32_t(image.zeroKnown ? -*image.zeroKnown : 1)));
  Shape shape = shapeOfOutputs(op, weights.sums.size());
  Value offset = b.constant(shape, b.rewriter.getI32Type(), offsets);
  if (image.zeroKnown)
    return b.make<AddOp>(sums, offset);
  Value zero = b.make<ReshapeOp>(RankedTensorType::get({}, b.rewriter.getI32Type()), image.zero);
  return b.make<SubOp>(sums, b.make<MulOp>(offset, zero));
}

/// The sums of centred bytes times centred weights; null where there is no such form.
static Value sumBytes(Operation *op, const Centred &left, const Centred &right, Maker &b) {
  auto dim = outputDim(op);
  if (!dim || !typeOf(left.bytes).getElementType().isInteger(8) ||
      (left.zero && typeOf(left.zero).getNumElements() != 1) || !mayMove(left.ops, op) ||
      !mayMove(right.ops, op) || !typeOf(op->getResult(0)).hasStaticShape())
    return {};
  auto weights = findWeights(right, *dim);
  if (!weights)
    return {};
  Image image = makeUnsigned(left, b);
  Value bytes = image.bytes;
  if (auto conv = dyn_cast<ConvOp>(op))
    bytes = addBorders(conv, image, b);
  BytesProduct product{op, bytes, bytes != image.bytes, b};
  Value sums = product.by(weights->bytes);
  if (Attribute name = op->getAttr(kNameAttr))
    sums.getDefiningOp()->setAttr(kNameAttr, name);
  if (Attribute source = op->getAttr(kSourceOpAttr))
    sums.getDefiningOp()->setAttr(kSourceOpAttr, source);
  if (weights->isMoved()) {
    Value moves = b.constant(shapeOfOutputs(op, weights->moves.size()), b.rewriter.getI32Type(),
                             {false, weights->moves, {}});
    sums = b.make<SubOp>(sums, b.make<MulOp>(product.sumsOfImage(), moves));
  }
  return correct(op, sums, image, *weights, b);
}

/// As importers of integer products write them: centred operands in i32.
template <typename Op>
static LogicalResult multiplyCentred(Op op, PatternRewriter &rewriter) {
  if (!typeOf(op).getElementType().isSignlessInteger(32))
    return failure();
  auto left = Centred::match(op->getOperand(0)), right = Centred::match(op->getOperand(1));
  Maker b{rewriter, op};
  Value sums = left && right ? sumBytes(op, *left, *right, b) : Value();
  if (!sums)
    return failure();
  rewriter.replaceOp(op, sums);
  return success();
}

/// As they come from files that quantise around products of f32.
template <typename Op>
static LogicalResult multiplyScaled(Op op, PatternRewriter &rewriter) {
  if (!typeOf(op).getElementType().isF32())
    return failure();
  auto left = Scaled::match(op->getOperand(0)), right = Scaled::match(op->getOperand(1));
  auto dim = outputDim(op);
  if (!left || !right || !dim || typeOf(left->scale).getNumElements() != 1)
    return failure();
  auto leftScale = evaluateValue(left->scale);
  auto rightScale = elementsAlong(right->scale, typeOf(op->getOperand(1)).getShape(), *dim);
  if (!leftScale || !rightScale)
    return failure();
  Maker b{rewriter, op};
  Value sums = sumBytes(op, left->centred, right->centred, b);
  if (!sums)
    return failure();
  Elements scales{true, {}, {}};
  for (double scale : rightScale->floats)
    scales.floats.push_back(float(leftScale->floats[0] * scale));
  Value scale = b.constant(shapeOfOutputs(op, scales.size()), rewriter.getF32Type(), scales);
  Value number = b.cast(sums, rewriter.getF32Type());
  rewriter.replaceOp(op, b.make<MulOp>(op.getType(), number, scale));
  return success();
}

static std::optional<Centred> centredOf(Value value) {
  auto scaled = Scaled::match(value);
  return scaled ? std::optional(scaled->centred) : Centred::match(value);
}

/// Weights that are turned in front of a product of quantised values are turned by it.
static LogicalResult turnWeights(MatmulOp op, PatternRewriter &rewriter) {
  auto turn = op.getRhs().getDefiningOp<TransposeOp>();
  if (!turn || turn.getPermutation() != ArrayRef<int64_t>{1, 0} || !mayMove({turn}, op))
    return failure();
  auto weights = centredOf(turn.getInput());
  if (!weights || !weights->bytes.getDefiningOp<ConstantOp>() || !centredOf(op.getLhs()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.getRhsMutable().assign(turn.getInput());
    op.setTransposeB(!op.getTransposeB());
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Scales behind products
//===----------------------------------------------------------------------===//

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
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), scaled->number, scale)
      ->setDiscardableAttrs(op->getDiscardableAttrDictionary());
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
  Elements integers;
  Elements scale; ///< one number, or one for each
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
  Elements sum{false, {}, {}};
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
    Elements elements = *evaluateValue(constant);
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
  auto low = constantZero(Value()), high = low;
  auto lowest = evaluateValue(clamp.getLow()), highest = evaluateValue(clamp.getHigh());
  low = to.isUnsigned() ? 0 : -128;
  high = to.isUnsigned() ? 255 : 127;
  if (!lowest || !highest || lowest->size() != 1 || highest->size() != 1 ||
      lowest->floats[0] > double(*low) || highest->floats[0] < double(*high))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(clamp.getInput()); });
  return success();
}

//===----------------------------------------------------------------------===//
// Ops that only choose among elements
//===----------------------------------------------------------------------===//

/// Of values with one scale above zero: chosen among bytes, then scaled.
static LogicalResult chooseBytes(Operation *op, PatternRewriter &rewriter) {
  auto scaled = Scaled::match(op->getOperand(0));
  if (!scaled || !typeOf(scaled->centred.bytes).getElementType().isInteger(8) ||
      scaled->centred.bytes.getDefiningOp<ConstantOp>() ||
      typeOf(scaled->scale).getNumElements() != 1 ||
      (scaled->centred.zero && typeOf(scaled->centred.zero).getNumElements() != 1) ||
      !mayMove(scaled->centred.ops, op))
    return failure();
  auto scale = evaluateValue(scaled->scale);
  if (!scale || !(scale->floats[0] > 0))
    return failure();
  Maker b{rewriter, op};
  IRMapping mapping;
  mapping.map(op->getOperand(0), scaled->centred.bytes);
  Operation *chosen = rewriter.clone(*op, mapping);
  Value bytes = chosen->getResult(0);
  bytes.setType(typeOf(op->getResult(0)).clone(typeOf(scaled->centred.bytes).getElementType()));
  Value steps = b.cast(bytes, rewriter.getI32Type());
  if (Value zero = scaled->centred.zero)
    steps = b.make<SubOp>(
        steps, b.make<ReshapeOp>(RankedTensorType::get({}, rewriter.getI32Type()), zero));
  Value one = b.make<ReshapeOp>(RankedTensorType::get({}, rewriter.getF32Type()), scaled->scale);
  rewriter.replaceOp(
      op, b.make<MulOp>(op->getResultTypes()[0], b.cast(steps, rewriter.getF32Type()), one));
  return success();
}

template <typename Op>
static LogicalResult chooseBytesBy(Op op, PatternRewriter &rewriter) {
  return op.getType().hasStaticShape() ? chooseBytes(op, rewriter) : failure();
}

namespace {
struct MultiplyBytes : gantry::impl::MultiplyBytesPassBase<MultiplyBytes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(multiplyCentred<ConvOp>);
    patterns.add(multiplyCentred<MatmulOp>);
    patterns.add(multiplyScaled<ConvOp>);
    patterns.add(multiplyScaled<MatmulOp>);
    patterns.add(turnWeights);
    patterns.add(evaluateScale);
    patterns.add(evaluateZero);
    patterns.add(addBias);
    patterns.add(addOnce);
    patterns.add(divideScales);
    patterns.add(saturateOnce);
    patterns.add(chooseBytesBy<MaxPoolOp>);
    patterns.add(chooseBytesBy<ReshapeOp>);
    patterns.add(chooseBytesBy<TransposeOp>);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().enableConstantCSE(false))))
      signalPassFailure();
  }
};
} // namespace
