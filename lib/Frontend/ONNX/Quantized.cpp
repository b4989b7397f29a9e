// Quantised ops, composed: integers are computed in i32, scales applied in f32.

#include "Quantized.h"

#include "Packed.h"
#include "Window.h"

#include <limits>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

Value gantry::onnx::alongAxis(NodeContext &n, Value v, int64_t axis, int64_t rank) {
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

Value gantry::onnx::saturate(NodeContext &n, Value x, Value zeroPoint, mlir::Type element) {
  if (!x)
    return {};
  auto [low, high] = rangeOf(element);
  Value y = n.make<RoundOp>(x);
  if (zeroPoint)
    y = n.add(y, n.cast(zeroPoint, n.elementOf(x)));
  y = n.make<ClampOp>(y, n.scalar(n.elementOf(x), low), n.scalar(n.elementOf(x), high));
  return n.cast(y, element);
}

bool gantry::onnx::checkQuantized(NodeContext &n, mlir::Type element) {
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

DynamicallyQuantized gantry::onnx::quantizeDynamically(NodeContext &n, Value x) {
  if (!x)
    return {};
  mlir::Type element = n.elementOf(x), byte = n.elementType(int64_t(DataType::Uint8));
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(x)));
  Value zero = n.scalar(element, 0);
  Value low = n.make<MinimumOp>(n.reduce<ReduceMinOp>(x, all, false), zero);
  Value high = n.make<MaximumOp>(n.reduce<ReduceMaxOp>(x, all, false), zero);
  // Zeros alone have no range, and any scale serves them.
  Value range = n.sub(high, low);
  Value scale = n.select(n.compare(CompareDirection::EQ, range, zero), n.scalar(element, 1),
                         n.div(range, n.scalar(element, 255)));
  Value zeroPoint = saturate(n, n.div(n.sub(zero, low), scale), {}, byte);
  return {saturate(n, n.div(x, scale), zeroPoint, byte), scale, zeroPoint};
}

static Values dynamicQuantizeLinear(NodeContext &n) {
  DynamicallyQuantized y = quantizeDynamically(n, n.input(0));
  return {y.values, y.scale, y.zeroPoint};
}

Value gantry::onnx::centred(NodeContext &n, Value v, Value zero, int64_t axis) {
  Value wide = n.cast(v, n.i32());
  return zero && wide ? n.sub(wide, alongAxis(n, n.cast(zero, n.i32()), axis, n.rankOf(v))) : wide;
}

Value gantry::onnx::integerMatmul(NodeContext &n, Value a, Value aZero, Value b, Value bZero) {
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

Value gantry::onnx::buildQuantizedConv(NodeContext &n, Value x) {
  Value acc = buildConv(n, centred(n, x, n.input(2), 0), centred(n, n.input(3), n.input(5), 0));
  acc = addChannelBias(n, acc, n.input(8));
  if (!acc || !checkQuantized(n, n.elementOf(n.input(7))))
    return {};
  int64_t rank = n.rankOf(acc);
  auto scaleOf = [&](size_t i) { return alongAxis(n, n.cast(n.input(i), n.f32()), 1, rank); };
  Value units = n.mul(n.cast(acc, n.f32()), n.div(n.mul(scaleOf(1), scaleOf(4)), scaleOf(6)));
  return saturate(n, units, alongAxis(n, n.input(7), 1, rank), n.elementOf(n.input(7)));
}

static Values qLinearConv(NodeContext &n) { return {buildQuantizedConv(n, n.input(0))}; }

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
}
