// QDQ fusion: products of quantised values (Q/DQ pairs) become int8 products, with the scales
// behind them.
//
//   (a - za) x (w - zw)                a x w' - za * (sums of w')       in i32, w' = w - zw
//   where w' does not fit i8           a x (w' + m) - za * (sums of w') - m * (sums of a)
//   (a - za) sa x (w - zw) sw          f32(the same) * (sa sw)
//
// The weights w are constants; unsigned ones with a zero point in their midst are moved by m to fit
// i8. The sums are exact, whatever their order; a becomes unsigned by moving it and its zero point
// up. What becomes of the scales is in Requantization.cpp, of products without weights in
// ComputedInt8.cpp.

#include "ComputedInt8.h"
#include "Requantization.h"

#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FUSEQDQPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

using Shape = SmallVector<int64_t>;

namespace {
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
  KnownElements zeros{false, {0}, {}};
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

/// Where the outputs are in the right operand.
static int64_t outputDim(Operation *op) {
  if (isa<ConvOp>(op))
    return 0;
  auto matmul = cast<MatmulOp>(op);
  return typeOf(matmul.getRhs()).getRank() - (matmul.getTransposeB() ? 2 : 1);
}

/// Products of several matrices of weights have none that all rows share.
static bool hasOneMatrix(Operation *op) {
  return isa<ConvOp>(op) || typeOf(op->getOperand(1)).getRank() == 2;
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
  KnownElements offsets{false, {}, {}};
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
  if (!hasOneMatrix(op) || !typeOf(left.bytes).getElementType().isInteger(8) ||
      (left.zero && typeOf(left.zero).getNumElements() != 1) || !mayMove(left.ops, op) ||
      !mayMove(right.ops, op) || !typeOf(op->getResult(0)).hasStaticShape())
    return {};
  auto weights = findWeights(right, outputDim(op));
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

/// The same where no weights are known.
static Value sumCentred(Operation *op, const Centred &left, const Centred &right, Maker &b) {
  Value sums = sumBytes(op, left, right, b);
  auto matmul = dyn_cast<MatmulOp>(op);
  return sums || !matmul ? sums : sumComputedInt8(matmul, left, right, b);
}

/// As importers of integer products write them: centred operands in i32.
template <typename Op>
static LogicalResult multiplyCentred(Op op, PatternRewriter &rewriter) {
  if (!typeOf(op).getElementType().isSignlessInteger(32))
    return failure();
  auto left = Centred::match(op->getOperand(0)), right = Centred::match(op->getOperand(1));
  Maker b{rewriter, op};
  Value sums = left && right ? sumCentred(op, *left, *right, b) : Value();
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
  if (!left || !right || typeOf(left->scale).getNumElements() != 1)
    return failure();
  auto leftScale = evaluateValue(left->scale);
  auto rightScale =
      elementsAlong(right->scale, typeOf(op->getOperand(1)).getShape(), outputDim(op));
  if (!leftScale || !rightScale)
    return failure();
  Maker b{rewriter, op};
  Value sums = sumCentred(op, left->centred, right->centred, b);
  if (!sums)
    return failure();
  KnownElements scales{true, {}, {}};
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
struct FuseQDQ : gantry::impl::FuseQDQPassBase<FuseQDQ> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(multiplyCentred<ConvOp>);
    patterns.add(multiplyCentred<MatmulOp>);
    patterns.add(multiplyScaled<ConvOp>);
    patterns.add(multiplyScaled<MatmulOp>);
    patterns.add(turnWeights);
    populateRequantizationPatterns(patterns);
    patterns.add(chooseBytesBy<MaxPoolOp>);
    patterns.add(chooseBytesBy<ReshapeOp>);
    patterns.add(chooseBytesBy<TransposeOp>);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().enableConstantCSE(false))))
      signalPassFailure();
  }
};
} // namespace
