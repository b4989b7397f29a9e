// Ops of com.microsoft that exporters and optimisers write for groups of ops of ai.onnx: products,
// activations, normalisations. Each is composed of what it stands for.

#include "Embedding.h"
#include "Handlers.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Products and activations
//===----------------------------------------------------------------------===//

/// With its first dimension brought before the last.
static Value transposeBatch(NodeContext &n, Value v) {
  int64_t rank = n.rankOf(v);
  if (rank < 3)
    return n.fail("transBatchA and transBatchB need operands of 3 dimensions or more");
  Ints order = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
  order.append({0, rank - 1});
  return n.transpose(v, order);
}

static Values fusedMatmul(NodeContext &n) {
  Value a = n.input(0), b = n.input(1);
  bool transposeA = n.intAttr("transA", 0) != 0, transposeB = n.intAttr("transB", 0) != 0;
  double alpha = n.floatAttr("alpha", 1);
  if (n.intAttr("transBatchA", 0) != 0)
    a = transposeBatch(n, a);
  if (n.intAttr("transBatchB", 0) != 0)
    b = transposeBatch(n, b);
  if (!a || !b)
    return {};
  if (n.rankOf(a) < 1 || n.rankOf(b) < 1)
    return {n.fail("operands need at least 1 dimension")};
  // A vector is a row on the left and a column on the right, whatever is to be transposed.
  bool vectorA = n.rankOf(a) == 1, vectorB = n.rankOf(b) == 1;
  if (vectorA)
    a = n.reshape(a, {1, n.shapeOf(a)[0]});
  if (vectorB)
    b = n.reshape(b, {n.shapeOf(b)[0], 1});
  Value y = n.matmul(a, b, transposeA && !vectorA, transposeB && !vectorB);
  if (!y)
    return {};
  Ints shape = n.shapeOf(y);
  if (vectorB)
    shape.pop_back();
  if (vectorA)
    shape.erase(shape.end() - (vectorB ? 1 : 2));
  y = n.reshape(y, shape);
  return {alpha == 1 ? y : n.mulScalar(y, alpha)};
}

static Values gelu(NodeContext &n) { return {n.make<GeluOp>(n.input(0), /*approximate=*/false)}; }

static Value addMaybe(NodeContext &n, Value x, Value bias) { return bias ? n.add(x, bias) : x; }

static Values biasGelu(NodeContext &n) {
  return {n.make<GeluOp>(n.add(n.input(0), n.input(1)), /*approximate=*/false)};
}

static Values fastGelu(NodeContext &n) {
  return {n.make<GeluOp>(addMaybe(n, n.input(0), n.input(1)), /*approximate=*/true)};
}

static Values quickGelu(NodeContext &n) {
  Value x = n.input(0);
  return {n.mul(x, n.make<SigmoidOp>(n.mulScalar(x, n.floatAttr("alpha", 1.702f))))};
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// Mean and 1 / deviation over the last dimension, which some nodes ask for.
static void addStatistics(NodeContext &n, Value x, double epsilon, Values &results) {
  if (!n.wantsOutput(1) && !n.wantsOutput(2))
    return;
  Value wide = n.cast(x, n.f32());
  Ints last{n.rankOf(x) - 1};
  Value mean = n.reduce<ReduceMeanOp>(wide, last, true), centred = n.sub(wide, mean);
  Value variance = n.reduce<ReduceMeanOp>(n.mul(centred, centred), last, true);
  results.append({mean, n.make<RsqrtOp>(n.addScalar(variance, epsilon))});
}

/// Outputs: normalised, statistics, the sum that was normalised.
template <bool centred>
static Values skipNorm(NodeContext &n) {
  double epsilon = n.floatAttr("epsilon", 1e-12f);
  Value x = n.add(n.input(0), n.input(1)), bias = n.input(centred ? 4 : 3);
  x = addMaybe(n, x, bias);
  if (!x)
    return {};
  if (n.shapeOf(x) != n.shapeOf(n.input(0)) || n.rankOf(x) < 1)
    return {n.fail("skip and bias cannot be broadcast to the input")};
  uint64_t axis = n.rankOf(x) - 1;
  Values results;
  if constexpr (centred)
    results = {n.make<LayerNormOp>(x, n.input(2), Maybe{n.input(3)}, axis, APFloat(epsilon))};
  else
    results = {n.make<RmsNormOp>(x, n.input(2), axis, APFloat(epsilon))};
  addStatistics(n, x, epsilon, results);
  if (!centred && (n.wantsOutput(1) || n.wantsOutput(2)))
    return {n.fail("mean and inv_std_var are not supported, the first and the last output are")};
  if (n.wantsOutput(3)) {
    results.resize(3, x); // outputs that nobody asked for
    results.push_back(x);
  }
  return results;
}

Values gantry::onnx::normaliseEmbedding(NodeContext &n, EmbeddedRows rows, Value scale,
                                        Value bias) {
  double epsilon = n.floatAttr("epsilon", 1e-12f);
  n.ignoreAttrs({"mask_index_type"});
  Value mask = n.input(7), sum = n.add(rows.words, rows.places);
  if (rows.segments)
    sum = n.add(sum, rows.segments);
  if (!sum || n.rankOf(sum) != 3)
    return {n.fail("the embeddings do not fit each other")};
  Values results{n.make<LayerNormOp>(sum, scale, Maybe{bias}, uint64_t(2), APFloat(epsilon))};
  // How many words of each row are none of the padding.
  Ints s{n.shapeOf(sum)[0], n.shapeOf(sum)[1]};
  Value counts = n.full({s[0]}, n.i32(), 0);
  if (mask) {
    if (n.shapeOf(mask) != s)
      return {n.fail("operand 7 (mask) must have the shape of the input")};
    Value isWord = n.compare(CompareDirection::EQ, mask, n.scalarInt(n.elementOf(mask), 1));
    counts = n.reduce<ReduceSumOp>(n.cast(isWord, n.i32()), {1}, false);
  }
  results.append({counts, sum});
  return results;
}

/// Words, positions and segments looked up, added and normalised.
static Values embedLayerNorm(NodeContext &n) {
  Value words = n.input(0), segments = n.input(1), positions = n.input(8);
  for (size_t i : {size_t(5), size_t(6)})
    if (!n.input(i))
      return {n.fail("operand " + Twine(i) + " is missing")};
  if (!n.input(2) || !n.input(3) || n.rankOf(words) != 2 || n.rankOf(n.input(2)) != 2 ||
      n.rankOf(n.input(3)) != 2 || bool(segments) != bool(n.input(4)))
    return {n.fail("operands [batch, steps] and embeddings [size, hidden] are needed; segments and "
                   "their embedding belong together")};
  Ints s = n.shapeOf(words);
  if (n.shapeOf(n.input(3))[0] < s[1] && !positions)
    return {n.fail("the position embedding has fewer rows than the input steps")};
  EmbeddedRows rows;
  rows.words = n.make<GatherOp>(n.input(2), words, uint64_t(0));
  rows.places = positions ? n.make<GatherOp>(n.input(3), positions, uint64_t(0))
                          : n.sliceAxis(n.input(3), 0, 0, s[1]);
  if (segments)
    rows.segments = n.make<GatherOp>(n.input(4), segments, uint64_t(0));
  return normaliseEmbedding(n, rows, n.input(5), n.input(6));
}

void gantry::onnx::addMicrosoftOps(OpTable &table) {
  table.add("FusedMatMul", fusedMatmul, {2, 2, 1}, kMicrosoft);
  table.add("Gelu", gelu, {1, 1, 1}, kMicrosoft);
  table.add("BiasGelu", biasGelu, {2, 2, 1}, kMicrosoft);
  table.add("FastGelu", fastGelu, {1, 2, 1}, kMicrosoft);
  table.add("QuickGelu", quickGelu, {1, 1, 1}, kMicrosoft);
  table.add("SkipLayerNormalization", skipNorm<true>, {3, 5, 4}, kMicrosoft);
  table.add("SkipSimplifiedLayerNormalization", skipNorm<false>, {3, 4, 4}, kMicrosoft);
  table.add("EmbedLayerNormalization", embedLayerNorm, {1, 9, 3}, kMicrosoft);
}
