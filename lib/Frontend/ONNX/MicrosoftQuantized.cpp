// Quantised ops of com.microsoft: an op in f32 between quantised operands and results, and products
// of bytes between floats.

#include "AttentionParts.h"
#include "Embedding.h"
#include "Quantized.h"
#include "Window.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Whether a scale and a zero point, which may be left out, are single numbers.
static bool checkSingle(NodeContext &n, Value scale, Value zero) {
  if (n.typeOf(scale).getNumElements() == 1 && (!zero || n.typeOf(zero).getNumElements() == 1))
    return true;
  n.fail("scales and zero points must be single numbers");
  return false;
}

/// Operands `at` (values), `at` + 1 (their scale) and `at` + 2 (their zero point, which may be left
/// out), in f32.
static Value dequantized(NodeContext &n, size_t at) {
  Value x = n.input(at), scale = n.input(at + 1), zero = n.input(at + 2);
  if (!x || !scale)
    return n.fail("operands " + Twine(at) + " and " + Twine(at + 1) + " are needed");
  if (!checkQuantized(n, n.elementOf(x)))
    return {};
  if (!checkSingle(n, scale, zero))
    return {};
  return n.mul(n.cast(centred(n, x, zero, 0), n.f32()), n.reshape(n.cast(scale, n.f32()), {}));
}

/// In units of operand `at`, about the zero point `at` + 1; of the type of `like`.
static Value quantized(NodeContext &n, Value y, size_t at, Value like) {
  Value scale = n.input(at), zero = n.input(at + 1);
  if (!y || !scale)
    return n.fail("operand " + Twine(at) + " (scale) is needed");
  if (!checkSingle(n, scale, zero))
    return {};
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

static Values qLinearWhere(NodeContext &n) {
  Value y = n.select(n.input(0), dequantized(n, 1), dequantized(n, 4));
  return {quantized(n, y, 7, n.input(1))};
}

static Values channelsLastConv(NodeContext &n) {
  bool channelsLast = n.intAttr("channels_last", 0) != 0;
  Value y = buildQuantizedConv(n, channelsLast ? moveChannels(n, n.input(0), true) : n.input(0));
  return {channelsLast ? moveChannels(n, y, false) : y};
}

//===----------------------------------------------------------------------===//
// Products of bytes between floats
//===----------------------------------------------------------------------===//

/// A product in i32 by the scales of its operands, of `b` for each column where it has so many, and
/// a bias.
static Value scaled(NodeContext &n, Value product, Value aScale, Value bScale, Value bias) {
  if (!product || !aScale || !bScale)
    return {};
  if (n.typeOf(aScale).getNumElements() != 1)
    return n.fail("the scale of the left operand must be a single number");
  int64_t rank = n.rankOf(product);
  Value scale = n.mul(n.reshape(n.cast(aScale, n.f32()), {}),
                      alongAxis(n, n.cast(bScale, n.f32()), rank - 1, rank));
  Value y = n.mul(n.cast(product, n.f32()), scale);
  return bias ? n.add(y, bias) : y;
}

static Values matMulIntegerToFloat(NodeContext &n) {
  Value product = integerMatmul(n, n.input(0), n.input(4), n.input(1), n.input(5));
  return {scaled(n, product, n.input(2), n.input(3), n.input(6))};
}

static Values dynamicQuantizeMatMul(NodeContext &n) {
  if (!n.isFloat(n.input(0)))
    return {n.fail("operand 0 must be of a floating-point type")};
  DynamicallyQuantized a = quantizeDynamically(n, n.input(0));
  if (!a.values)
    return {};
  Value product = integerMatmul(n, a.values, a.zeroPoint, n.input(1), n.input(3));
  return {scaled(n, product, a.scale, n.input(2), n.input(4))};
}

/// Quantised where a scale of the result is given, else in floats. The bias is in units of the
/// product.
static Values qGemm(NodeContext &n) {
  Value a = n.input(0), b = n.input(3), bias = n.input(6);
  bool transposeA = n.intAttr("transA", 0) != 0, transposeB = n.intAttr("transB", 0) != 0;
  double alpha = n.floatAttr("alpha", 1);
  if (n.rankOf(a) != 2 || n.rankOf(b) != 2)
    return {n.fail("operands 0 and 3 must be matrices")};
  Value y = n.matmul(centred(n, a, n.input(2), 0), centred(n, b, n.input(5), transposeB ? 0 : 1),
                     transposeA, transposeB);
  if (bias)
    y = n.add(y, bias);
  Value aScale = n.cast(n.input(1), n.f32());
  if (alpha != 1)
    aScale = n.mulScalar(aScale, alpha);
  if (!n.input(7))
    return {scaled(n, y, aScale, n.input(4), {})};
  if (!y || n.typeOf(n.input(7)).getNumElements() != 1)
    return {n.fail("the scale of the result must be a single number")};
  Value scale = n.div(n.mul(n.reshape(aScale, {}), alongAxis(n, n.input(4), 1, 2)),
                      n.reshape(n.input(7), {}));
  Value zero = n.input(8) ? n.reshape(n.input(8), {}) : Value();
  return {saturate(n, n.mul(n.cast(y, n.f32()), scale), zero, n.elementOf(a))};
}

/// Attention whose projection is a product of bytes.
static Values qAttention(NodeContext &n) {
  if (n.rankOf(n.input(0)) != 3 || n.rankOf(n.input(1)) != 2)
    return {n.fail("operands [batch, steps, width] and [width, hidden] are needed")};
  Value product = integerMatmul(n, n.input(0), n.input(6), n.input(1), n.input(7));
  Value all = scaled(n, product, n.input(3), n.input(4), n.input(2));
  return attendPacked(n, all, n.input(5), n.input(8), {});
}

/// A table of bytes, its rows looked up, in f32; the scale and the zero point are operands too.
static Value lookUp(NodeContext &n, size_t table, Value ids, size_t scale, size_t zero) {
  for (size_t i : {table, scale, zero})
    if (!n.input(i))
      return n.fail("operand " + Twine(i) + " is missing");
  if (!checkSingle(n, n.input(scale), n.input(zero)))
    return {};
  Value rows = ids ? n.make<GatherOp>(n.input(table), ids, uint64_t(0)) : n.input(table);
  return n.mul(n.cast(centred(n, rows, n.reshape(n.input(zero), {}), 0), n.f32()),
               n.reshape(n.input(scale), {}));
}

static Values qEmbedLayerNorm(NodeContext &n) {
  Value words = n.input(0), segments = n.input(1);
  if (!n.input(3) || n.rankOf(words) != 2 || n.rankOf(n.input(3)) != 2)
    return {n.fail("operands [batch, steps] and embeddings [size, hidden] are needed")};
  Value places = n.iota({1, n.shapeOf(words)[1]}, n.i64(), 1);
  EmbeddedRows rows;
  rows.words = lookUp(n, 2, words, 8, 13);
  rows.places = lookUp(n, 3, places, 9, 14);
  if (segments)
    rows.segments = lookUp(n, 4, segments, 10, 15);
  return normaliseEmbedding(n, rows, lookUp(n, 5, {}, 11, 16), lookUp(n, 6, {}, 12, 17));
}

void gantry::onnx::addMicrosoftQuantizedOps(OpTable &table) {
  table.add("QLinearAdd", qLinearBinary<AddOp>, {2, 8, 1}, kMicrosoft);
  table.add("QLinearMul", qLinearBinary<MulOp>, {2, 8, 1}, kMicrosoft);
  table.add("QLinearSigmoid", qLinearSigmoid, {2, 5, 1}, kMicrosoft);
  table.add("QLinearLeakyRelu", qLinearLeakyRelu, {2, 5, 1}, kMicrosoft);
  table.add("QLinearSoftmax", qLinearSoftmax, {2, 5, 1}, kMicrosoft);
  table.add("QLinearAveragePool", qLinearAveragePool, {2, 5, 1}, kMicrosoft);
  table.add("QLinearGlobalAveragePool", qLinearGlobalAveragePool, {2, 5, 1}, kMicrosoft);
  table.add("QLinearConcat", qLinearConcat, {1, kAny, 1}, kMicrosoft);
  table.add("QLinearWhere", qLinearWhere, {8, 9, 1}, kMicrosoft);
  table.add("QLinearConv", channelsLastConv, {8, 9, 1}, kMicrosoft);
  table.add("MatMulIntegerToFloat", matMulIntegerToFloat, {4, 7, 1}, kMicrosoft);
  table.add("DynamicQuantizeMatMul", dynamicQuantizeMatMul, {3, 5, 1}, kMicrosoft);
  table.add("QGemm", qGemm, {6, 9, 1}, kMicrosoft);
  table.add("QAttention", qAttention, {5, 9, 2}, kMicrosoft);
  table.add("QEmbedLayerNormalization", qEmbedLayerNorm, {1, 18, 2}, kMicrosoft);
}
