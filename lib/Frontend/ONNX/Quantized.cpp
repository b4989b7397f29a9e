// Quantised ops, composed: integers are computed in i32, scales applied in f32.

#include "Packed.h"
#include "Window.h"

#include <limits>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// A scale or zero point of one element stands for all, else there is one along `axis`.
static Value alongAxis(NodeContext &n, Value v, int64_t axis, int64_t rank) {
  if (!v)
    return {};
  return n.typeOf(v).getNumElements() == 1 ? n.reshape(v, {}) : n.alignChannels(v, axis, rank);
}

/// Smallest and largest value of an integer type of at most 32 bits.
static std::pair<double, double> rangeOf(mlir::Type element) {
  auto type = cast<IntegerType>(element);
  if (type.isUnsigned())
    return {0, double((uint64_t(1) << type.getWidth()) - 1)};
  return {-double(uint64_t(1) << (type.getWidth() - 1)),
          double((uint64_t(1) << (type.getWidth() - 1)) - 1)};
}

/// round(x) + zero point, cut to the range of `element`. `x` is in units of the scale.
static Value saturate(NodeContext &n, Value x, Value zeroPoint, mlir::Type element) {
  if (!x)
    return {};
  auto [low, high] = rangeOf(element);
  Value y = n.make<RoundOp>(x);
  if (zeroPoint)
    y = n.add(y, n.cast(zeroPoint, n.elementOf(x)));
  y = n.make<ClampOp>(y, n.scalar(n.elementOf(x), low), n.scalar(n.elementOf(x), high));
  return n.cast(y, element);
}

/// Whether quantised values of this type are supported; 8 and 16 bits are.
static bool checkQuantized(NodeContext &n, mlir::Type element) {
  auto type = dyn_cast_if_present<IntegerType>(element);
  if (type && (type.getWidth() == 8 || type.getWidth() == 16 || type.getWidth() == 32))
    return true;
  n.fail("the quantised type must be an integer of 8, 16 or 32 bits");
  return false;
}

namespace {
/// What of the operand has a scale of its own: everything, what lies at one place of an axis, or
/// blocks along it.
struct Granularity {
  int64_t axis = 0, block = 0; ///< 0: no blocks
};
} // namespace

static std::optional<Granularity> readGranularity(NodeContext &n) {
  Value x = n.input(0), scale = n.input(1);
  int64_t given = n.intAttr("axis", 1), block = n.intAttr("block_size", 0), rank = n.rankOf(x);
  if (block == 0 && n.typeOf(scale).getNumElements() == 1)
    return Granularity{};
  auto axis = n.axis(given, rank);
  if (!axis || block == 0)
    return axis ? std::optional(Granularity{*axis}) : std::nullopt;
  Ints shape = n.shapeOf(x);
  if (block > 0)
    shape[*axis] = llvm::divideCeil(shape[*axis], block);
  if (block < 0 || n.shapeOf(scale) != shape) {
    n.fail("scales of blocks of " + Twine(block) +
           " must be of the operand's shape, with one for "
           "each block along axis " +
           Twine(*axis));
    return std::nullopt;
  }
  return Granularity{*axis, block};
}

Value gantry::onnx::repeatBlocks(NodeContext &n, Value v, int64_t axis, int64_t block,
                                 int64_t size) {
  if (!v)
    return {};
  Ints shape = n.shapeOf(v), wide = shape, flat = shape;
  shape.insert(shape.begin() + axis + 1, 1);
  wide.insert(wide.begin() + axis + 1, block);
  flat[axis] *= block;
  v = n.reshape(n.broadcast(n.reshape(v, shape), wide), flat);
  return n.sliceAxis(v, axis, 0, size);
}

/// A scale or zero point as it is broadcast to the operand.
static Value spread(NodeContext &n, Value v, Granularity of) {
  Ints shape = n.shapeOf(n.input(0));
  if (!of.block)
    return alongAxis(n, v, of.axis, shape.size());
  return repeatBlocks(n, v, of.axis, of.block, shape[of.axis]);
}

static Values quantizeLinear(NodeContext &n) {
  Value x = n.input(0), scale = n.input(1), zero = n.input(2);
  auto of = readGranularity(n);
  n.ignoreAttrs({"saturate"}); // of 8-bit floats
  mlir::Type element =
      zero ? n.elementOf(zero) : n.elementType(n.intAttr("output_dtype", int64_t(DataType::Uint8)));
  if (zero)
    n.ignoreAttrs({"output_dtype"});
  if (!of || !checkQuantized(n, element))
    return {};
  // The division is in the type of the scale, unless the node names another one (opset 23).
  mlir::Type precise = n.elementOf(scale);
  if (int64_t given = n.intAttr("precision", 0))
    precise = n.elementType(given);
  if (!precise || !isa<FloatType>(precise) || !isa<FloatType>(n.elementOf(scale)))
    return {n.fail("the scale and the precision must be of floating-point types")};
  Value units = n.div(n.cast(x, precise), spread(n, n.cast(scale, precise), *of));
  return {saturate(n, units, zero ? spread(n, zero, *of) : Value(), element)};
}

static Values dequantizeLinear(NodeContext &n) {
  Value x = n.input(0), scale = n.input(1), zero = n.input(2);
  auto of = readGranularity(n);
  mlir::Type result = n.elementOf(scale);
  if (int64_t given = n.intAttr("output_dtype", 0))
    result = n.elementType(given);
  if (!of || !checkQuantized(n, n.elementOf(x)))
    return {};
  if (!result || !isa<FloatType>(result) || !n.isFloat(scale))
    return {n.fail("the scale and the result must be of floating-point types")};
  Value steps = n.cast(x, n.i32());
  if (zero)
    steps = n.sub(steps, spread(n, n.cast(zero, n.i32()), *of));
  return {n.cast(n.mul(n.cast(steps, n.elementOf(scale)), spread(n, scale, *of)), result)};
}

static Values dynamicQuantizeLinear(NodeContext &n) {
  Value x = n.input(0);
  mlir::Type element = n.elementOf(x), byte = n.elementType(int64_t(DataType::Uint8));
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(x)));
  Value zero = n.scalar(element, 0);
  Value low = n.make<MinimumOp>(n.reduce<ReduceMinOp>(x, all, false), zero);
  Value high = n.make<MaximumOp>(n.reduce<ReduceMaxOp>(x, all, false), zero);
  Value scale = n.div(n.sub(high, low), n.scalar(element, 255));
  Value zeroPoint = saturate(n, n.div(n.sub(zero, low), scale), {}, byte);
  return {saturate(n, n.div(x, scale), zeroPoint, byte), scale, zeroPoint};
}

/// An operand in i32 with its zero point taken off; `axis` is that of per-axis zero points.
static Value centred(NodeContext &n, Value v, Value zero, int64_t axis) {
  Value wide = n.cast(v, n.i32());
  return zero && wide ? n.sub(wide, alongAxis(n, n.cast(zero, n.i32()), axis, n.rankOf(v))) : wide;
}

static Value integerMatmul(NodeContext &n, Value a, Value aZero, Value b, Value bZero) {
  int64_t rank = n.rankOf(a), rankB = n.rankOf(b);
  return buildMatmul(n, centred(n, a, aZero, std::max<int64_t>(rank - 2, 0)),
                     centred(n, b, bZero, std::max<int64_t>(rankB - 1, 0)));
}

static Values matMulInteger(NodeContext &n) {
  return {integerMatmul(n, n.input(0), n.input(2), n.input(1), n.input(3))};
}

static Values convInteger(NodeContext &n) {
  return {
      buildConv(n, centred(n, n.input(0), n.input(2), 0), centred(n, n.input(1), n.input(3), 0))};
}

static Values qLinearMatMul(NodeContext &n) {
  Value acc = integerMatmul(n, n.input(0), n.input(2), n.input(3), n.input(5));
  if (!acc || !checkQuantized(n, n.elementOf(n.input(7))))
    return {};
  int64_t rank = n.rankOf(acc);
  auto scaleOf = [&](size_t i, int64_t axis) {
    return alongAxis(n, n.cast(n.input(i), n.f32()), axis, rank);
  };
  Value scale = n.div(n.mul(scaleOf(1, std::max<int64_t>(rank - 2, 0)), scaleOf(4, rank - 1)),
                      scaleOf(6, rank - 1));
  Value units = n.mul(n.cast(acc, n.f32()), scale);
  return {saturate(n, units, alongAxis(n, n.input(7), rank - 1, rank), n.elementOf(n.input(7)))};
}

static Values qLinearConv(NodeContext &n) {
  Value acc =
      buildConv(n, centred(n, n.input(0), n.input(2), 0), centred(n, n.input(3), n.input(5), 0));
  acc = addChannelBias(n, acc, n.input(8));
  if (!acc || !checkQuantized(n, n.elementOf(n.input(7))))
    return {};
  int64_t rank = n.rankOf(acc);
  auto scaleOf = [&](size_t i) { return alongAxis(n, n.cast(n.input(i), n.f32()), 1, rank); };
  Value units = n.mul(n.cast(acc, n.f32()), n.div(n.mul(scaleOf(1), scaleOf(4)), scaleOf(6)));
  return {saturate(n, units, alongAxis(n, n.input(7), 1, rank), n.elementOf(n.input(7)))};
}

//===----------------------------------------------------------------------===//
// Of com.microsoft: an op in f32 between quantised operands and results
//===----------------------------------------------------------------------===//

/// Operands `at` (values), `at` + 1 (their scale) and `at` + 2 (their zero point, which may be left
/// out), in f32.
static Value dequantized(NodeContext &n, size_t at) {
  Value x = n.input(at), scale = n.input(at + 1), zero = n.input(at + 2);
  if (!x || !scale)
    return n.fail("operands " + Twine(at) + " and " + Twine(at + 1) + " are needed");
  if (!checkQuantized(n, n.elementOf(x)))
    return {};
  if (n.typeOf(scale).getNumElements() != 1 || (zero && n.typeOf(zero).getNumElements() != 1))
    return n.fail("scales and zero points must be single numbers");
  return n.mul(n.cast(centred(n, x, zero, 0), n.f32()), n.reshape(n.cast(scale, n.f32()), {}));
}

/// In units of operand `at`, about the zero point `at` + 1; of the type of `like`.
static Value quantized(NodeContext &n, Value y, size_t at, Value like) {
  Value scale = n.input(at), zero = n.input(at + 1);
  if (!y || !scale)
    return n.fail("operand " + Twine(at) + " (scale) is needed");
  if (n.typeOf(scale).getNumElements() != 1 || (zero && n.typeOf(zero).getNumElements() != 1))
    return n.fail("scales and zero points must be single numbers");
  Value units = n.div(y, n.reshape(n.cast(scale, n.f32()), {}));
  return saturate(n, units, zero ? n.reshape(zero, {}) : Value(), n.elementOf(like));
}

template <typename Op>
static Values qLinearBinary(NodeContext &n) {
  return {quantized(n, n.make<Op>(dequantized(n, 0), dequantized(n, 3)), 6, n.input(0))};
}

static Values qLinearSigmoid(NodeContext &n) {
  return {quantized(n, n.make<SigmoidOp>(dequantized(n, 0)), 3, n.input(0))};
}

static Values qLinearLeakyRelu(NodeContext &n) {
  llvm::APFloat alpha(n.floatAttr("alpha", 0.01f));
  return {quantized(n, n.make<LeakyReluOp>(dequantized(n, 0), alpha), 3, n.input(0))};
}

static Values qLinearSoftmax(NodeContext &n) {
  Value x = dequantized(n, 0);
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(n.input(0)));
  int64_t opset = n.intAttr("opset", 13);
  if (!axis || !x)
    return {};
  if (opset < 13 && *axis != n.rankOf(x) - 1)
    return {n.fail("of opsets before 13, only the last axis is supported")};
  return {quantized(n, n.make<SoftmaxOp>(x, uint64_t(*axis)), 3, n.input(0))};
}

/// Batch, height, width, channels as the ops of ai.onnx have them, or back.
static Value moveChannels(NodeContext &n, Value v, bool toFront) {
  if (!v || n.rankOf(v) < 3)
    return v;
  int64_t rank = n.rankOf(v);
  Ints order{0};
  if (toFront)
    order.push_back(rank - 1);
  for (int64_t i = toFront ? 1 : 2; i < (toFront ? rank - 1 : rank); ++i)
    order.push_back(i);
  if (!toFront)
    order.push_back(1);
  return n.transpose(v, order);
}

static Values qLinearAveragePool(NodeContext &n) {
  bool channelsLast = n.intAttr("channels_last", 0) != 0;
  Value x = dequantized(n, 0);
  if (channelsLast)
    x = moveChannels(n, x, true);
  Value y = x ? buildAveragePool(n, x) : Value();
  return {quantized(n, channelsLast ? moveChannels(n, y, false) : y, 3, n.input(0))};
}

static Values qLinearGlobalAveragePool(NodeContext &n) {
  bool channelsLast = n.intAttr("channels_last", 0) != 0;
  Value x = dequantized(n, 0);
  if (!x || n.rankOf(x) < 3)
    return {n.fail("the input needs batch, channel and spatial dimensions")};
  int64_t first = channelsLast ? 1 : 2, rank = n.rankOf(x);
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(first, channelsLast ? rank - 1 : rank));
  return {quantized(n, n.reduce<ReduceMeanOp>(x, axes, true), 3, n.input(0))};
}

/// The result's scale and zero point, then three operands for each part.
static Values qLinearConcat(NodeContext &n) {
  if (n.numInputs() < 5 || (n.numInputs() - 2) % 3)
    return {n.fail("operands after the first two must come in threes")};
  SmallVector<Value> parts;
  for (size_t at = 2; at < n.numInputs(); at += 3)
    parts.push_back(dequantized(n, at));
  if (onnx::detail::isMissing(ArrayRef<Value>(parts)))
    return {};
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(parts.front()));
  if (!axis)
    return {};
  return {quantized(n, n.concat(parts, *axis), 0, n.input(2))};
}

void gantry::onnx::addQuantizedOps(OpTable &table) {
  table.add("QuantizeLinear", quantizeLinear, {2, 3, 1});
  table.add("DequantizeLinear", dequantizeLinear, {2, 3, 1}).narrow = Narrow::reads;
  table.add("DynamicQuantizeLinear", dynamicQuantizeLinear, {1, 1, 3});
  table.add("MatMulInteger", matMulInteger, {2, 4, 1});
  table.add("ConvInteger", convInteger, {2, 4, 1});
  table.add("QLinearMatMul", qLinearMatMul, {8, 8, 1});
  table.add("QLinearConv", qLinearConv, {8, 9, 1});
  table.add("QuantizeLinear", quantizeLinear, {2, 3, 1}, kMicrosoft);
  table.add("DequantizeLinear", dequantizeLinear, {2, 3, 1}, kMicrosoft);
  table.add("QLinearAdd", qLinearBinary<AddOp>, {2, 8, 1}, kMicrosoft);
  table.add("QLinearMul", qLinearBinary<MulOp>, {2, 8, 1}, kMicrosoft);
  table.add("QLinearSigmoid", qLinearSigmoid, {2, 5, 1}, kMicrosoft);
  table.add("QLinearLeakyRelu", qLinearLeakyRelu, {2, 5, 1}, kMicrosoft);
  table.add("QLinearSoftmax", qLinearSoftmax, {2, 5, 1}, kMicrosoft);
  table.add("QLinearAveragePool", qLinearAveragePool, {2, 5, 1}, kMicrosoft);
  table.add("QLinearGlobalAveragePool", qLinearGlobalAveragePool, {2, 5, 1}, kMicrosoft);
  table.add("QLinearConcat", qLinearConcat, {1, kAny, 1}, kMicrosoft);
}
