// Ops of ai.onnx.ml that converters of scikit-learn write: scaling, linear models, and what becomes
// of their scores.

#include "MachineLearning.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

Value gantry::onnx::floats(NodeContext &n, ArrayRef<float> values, IntsRef shape,
                           mlir::Type element) {
  KnownElements elements;
  elements.isFloat = true;
  elements.floats.assign(values.begin(), values.end());
  return n.constant(
      makeConstantElements(RankedTensorType::get(shape, element), elements, n.outputName(0)));
}

Value gantry::onnx::indices(NodeContext &n, IntsRef values) {
  KnownElements elements;
  elements.ints.assign(values.begin(), values.end());
  auto type = RankedTensorType::get({int64_t(values.size())}, n.i64());
  return n.constant(makeConstantElements(type, elements, n.outputName(0)));
}

Value gantry::onnx::rows(NodeContext &n) {
  Value x = n.input(0);
  if (n.rankOf(x) != 2)
    return n.fail("the input must be [batch, features]");
  return n.isFloat(x) ? x : n.cast(x, n.f32());
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// One number for all features, or one for each.
static Value perFeature(NodeContext &n, StringRef name, float otherwise) {
  auto given = n.floatsAttr(name).value_or(std::vector<float>{otherwise});
  int64_t count = given.size(), features = n.shapeOf(n.input(0)).back();
  if (count != 1 && count != features)
    return n.fail("attribute '" + name + "' has " + Twine(count) + " entries for " +
                  Twine(features) + " features");
  return floats(n, given, {count}, n.f32());
}

static Values scaler(NodeContext &n) {
  if (n.rankOf(n.input(0)) < 1)
    return {n.fail("the input needs at least 1 dimension")};
  Value x = n.cast(n.input(0), n.f32());
  return {n.mul(n.sub(x, perFeature(n, "offset", 0)), perFeature(n, "scale", 1))};
}

/// Rows in parts of what they add up to; a row of zeros stays.
static Values normalizer(NodeContext &n) {
  StringRef norm = n.stringAttr("norm", "MAX");
  if (n.rankOf(n.input(0)) < 1)
    return {n.fail("the input needs at least 1 dimension")};
  Value x = n.cast(n.input(0), n.f32()), whole;
  Ints last{n.rankOf(x) - 1};
  if (norm == "MAX")
    whole = n.reduce<ReduceMaxOp>(x, last, true);
  else if (norm == "L1")
    whole = n.reduce<ReduceSumOp>(n.make<AbsOp>(x), last, true);
  else if (norm == "L2")
    whole = n.make<SqrtOp>(n.reduce<ReduceSumOp>(n.mul(x, x), last, true));
  else
    return {n.fail("norm '" + norm + "' is not supported; MAX, L1 and L2 are")};
  Value isZero = n.compare(CompareDirection::EQ, whole, n.scalar(n.f32(), 0));
  return {n.select(isZero, x, n.div(x, whole))};
}

static Values binarizer(NodeContext &n) {
  Value x = n.input(0);
  Value threshold = n.cast(n.scalar(n.f32(), n.floatAttr("threshold", 0)), n.elementOf(x));
  return {n.cast(n.compare(CompareDirection::GT, x, threshold), n.elementOf(x))};
}

static Values arrayFeatureExtractor(NodeContext &n) {
  Value x = n.input(0), which = n.input(1);
  int64_t rank = n.rankOf(x), count = n.typeOf(which).getNumElements();
  if (rank < 1)
    return {n.fail("the input needs at least 1 dimension")};
  Value y = n.make<GatherOp>(x, n.reshape(which, {count}), uint64_t(rank - 1));
  return {rank == 1 ? n.reshape(y, {1, count}) : y};
}

//===----------------------------------------------------------------------===//
// Scores and labels
//===----------------------------------------------------------------------===//

Value gantry::onnx::transform(NodeContext &n, Value scores, StringRef post) {
  if (post == "NONE")
    return scores;
  if (post == "LOGISTIC")
    return n.make<SigmoidOp>(scores);
  if (post == "SOFTMAX")
    return n.make<SoftmaxOp>(scores, uint64_t(1));
  return n.fail("post_transform '" + post + "' is not supported; NONE, LOGISTIC and SOFTMAX are");
}

std::optional<Ints> gantry::onnx::readLabels(NodeContext &n, StringRef ints, StringRef strings) {
  if (n.hasAttr(strings)) {
    n.fail("its labels are strings, which are not tensors of numbers; labels that are integers are "
           "supported");
    return std::nullopt;
  }
  auto labels = n.intsAttr(ints);
  if (!labels || labels->size() < 2) {
    n.fail("labels of two classes or more are needed");
    return std::nullopt;
  }
  return labels;
}

Values gantry::onnx::classify(NodeContext &n, Value scores, const Ints &labels, StringRef post) {
  if (!scores || n.shapeOf(scores)[1] != int64_t(labels.size()))
    return {n.fail("there must be as many scores as the " + Twine(labels.size()) + " labels")};
  Value best = n.make<ArgmaxOp>(scores, uint64_t(1), /*keepDims=*/false, /*last=*/false);
  return {n.make<GatherOp>(indices(n, labels), best, uint64_t(0)), transform(n, scores, post)};
}

/// [batch, outputs] of the coefficients, which are row by row those of an output.
static Value linear(NodeContext &n) {
  auto coefficients = n.floatsAttr("coefficients").value_or(std::vector<float>());
  auto intercepts = n.floatsAttr("intercepts").value_or(std::vector<float>());
  Value x = rows(n);
  if (!x)
    return {};
  int64_t features = n.shapeOf(x)[1], outputs = features ? coefficients.size() / features : 0;
  if (outputs < 1 || outputs * features != int64_t(coefficients.size()) ||
      (!intercepts.empty() && int64_t(intercepts.size()) != outputs))
    return n.fail("coefficients and intercepts do not fit " + Twine(features) + " features");
  x = n.cast(x, n.f32());
  Value y = n.matmul(x, floats(n, coefficients, {outputs, features}, n.f32()), false, true);
  return intercepts.empty() ? y : n.add(y, floats(n, intercepts, {outputs}, n.f32()));
}

static Values linearRegressor(NodeContext &n) {
  n.ignoreAttrs({"targets"}); // how many rows of coefficients there are
  return {transform(n, linear(n), n.stringAttr("post_transform", "NONE"))};
}

static Values linearClassifier(NodeContext &n) {
  n.ignoreAttrs({"multi_class"});
  auto labels = readLabels(n, "classlabels_ints", "classlabels_strings");
  StringRef post = n.stringAttr("post_transform", "NONE");
  return labels ? classify(n, linear(n), *labels, post) : Values{};
}

void gantry::onnx::addMachineLearningOps(OpTable &table) {
  auto add = [&](StringRef op, Handler handler, Arity arity = {}) {
    table.add(op, std::move(handler), arity, kMachineLearning);
  };
  add("Scaler", scaler);
  add("Normalizer", normalizer);
  add("Binarizer", binarizer);
  add("ArrayFeatureExtractor", arrayFeatureExtractor, {2, 2, 1});
  add("LinearRegressor", linearRegressor);
  add("LinearClassifier", linearClassifier, {1, 1, 2});
  table.refuse("ZipMap",
               "values are tensors, not maps; converters leave it out when asked to (zipmap=False)",
               kMachineLearning);
  for (StringRef op : {"CategoryMapper", "DictVectorizer", "CastMap"})
    table.refuse(op, "strings and maps are not tensors of numbers", kMachineLearning);
  table.refuse("SVMClassifier",
               "its classes vote by pairs, and no kernel does that; linear models and trees are "
               "supported",
               kMachineLearning);
  addFeatureOps(table);
  addTreeOps(table);
}
