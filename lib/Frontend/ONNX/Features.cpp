// Ops of ai.onnx.ml that prepare features: filling gaps, joining columns, codes for categories that
// are numbers; and regression by distances to vectors of the training data.

#include "MachineLearning.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

//===----------------------------------------------------------------------===//
// Gaps and columns
//===----------------------------------------------------------------------===//

/// Numbers of the attribute `ints` or `reals` in the type of `like`, and whether there are any.
static Value numbers(NodeContext &n, StringRef ints, StringRef reals, Value like) {
  if (auto given = n.intsAttr(ints); given && !given->empty())
    return n.cast(indices(n, *given), n.elementOf(like));
  if (auto given = n.floatsAttr(reals); given && !given->empty())
    return n.cast(floats(n, *given, {int64_t(given->size())}, n.f32()), n.elementOf(like));
  return n.fail("attribute '" + ints + "' or '" + reals + "' is needed");
}

/// What equals the replaced value, or is no number where that is none.
static Values imputer(NodeContext &n) {
  Value x = n.input(0);
  if (n.rankOf(x) < 1)
    return {n.fail("the input needs at least 1 dimension")};
  Value filling = numbers(n, "imputed_value_int64s", "imputed_value_floats", x);
  double gap = n.isFloat(x) ? n.floatAttr("replaced_value_float", 0)
                            : double(n.intAttr("replaced_value_int64", 0));
  n.ignoreAttrs({"replaced_value_float", "replaced_value_int64"});
  if (!filling)
    return {};
  int64_t count = n.typeOf(filling).getNumElements();
  if (count != 1 && count != n.shapeOf(x).back())
    return {n.fail("there are " + Twine(count) + " values for " + Twine(n.shapeOf(x).back()) +
                   " features")};
  Value isGap = std::isnan(gap) ? n.make<IsNanOp>(x)
                                : n.compare(CompareDirection::EQ, x, n.scalar(n.elementOf(x), gap));
  return {n.select(isGap, filling, x)};
}

static Values featureVectorizer(NodeContext &n) {
  n.ignoreAttrs({"inputdimensions"}); // as wide as the operands are
  SmallVector<Value> columns;
  for (Value operand : n.allInputs()) {
    if (!operand || n.rankOf(operand) != 2)
      return {n.fail("operands [batch, features] are needed")};
    columns.push_back(n.cast(operand, n.f32()));
  }
  return {n.concat(columns, 1)};
}

//===----------------------------------------------------------------------===//
// Codes for categories
//===----------------------------------------------------------------------===//

/// Where `x` is which of `keys`: [..., keys].
static Value matches(NodeContext &n, Value x, Value keys) {
  if (!x || !keys)
    return {};
  Ints column = n.shapeOf(x);
  column.push_back(1);
  return n.compare(CompareDirection::EQ, n.reshape(x, column), keys);
}

static Values labelEncoder(NodeContext &n) {
  for (StringRef name : {"keys_strings", "values_strings", "keys_tensor", "values_tensor"})
    if (n.hasAttr(name))
      return {n.fail("attribute '" + name +
                     "' is not supported; keys and values that are lists of numbers are")};
  Value x = n.input(0), keys = numbers(n, "keys_int64s", "keys_floats", x);
  n.ignoreAttrs({"default_string"});
  bool toInts = n.hasAttr("values_int64s");
  mlir::Type element = toInts ? mlir::Type(n.i64()) : n.f32();
  double otherwise =
      toInts ? double(n.intAttr("default_int64", -1)) : n.floatAttr("default_float", -0.0);
  n.ignoreAttrs({"default_int64", "default_float"});
  if (!keys)
    return {};
  Value values = numbers(n, "values_int64s", "values_floats", n.scalar(element, 0));
  if (!values || n.shapeOf(values) != n.shapeOf(keys))
    return {n.fail("there must be as many values as keys")};
  Value found = n.cast(matches(n, x, keys), n.i32());
  if (!found)
    return {};
  int64_t last = n.rankOf(found) - 1;
  Value first = n.make<ArgmaxOp>(found, uint64_t(last), /*keepDims=*/false, /*last=*/false);
  Value isKnown = n.compare(CompareDirection::GT, n.reduce<ReduceMaxOp>(found, {last}, false),
                            n.scalarInt(n.i32(), 0));
  return {n.select(isKnown, n.make<GatherOp>(values, first, uint64_t(0)),
                   n.scalar(element, otherwise))};
}

static Values oneHotEncoder(NodeContext &n) {
  if (n.hasAttr("cats_strings"))
    return {n.fail("attribute 'cats_strings' is not supported; cats_int64s are")};
  if (n.intAttr("zeros", 1) == 0)
    return {n.fail("zeros=0 (unknown categories are errors) is not supported, zeros=1 is")};
  Value x = n.input(0);
  auto categories = n.intsAttr("cats_int64s");
  if (!categories || categories->empty())
    return {n.fail("attribute 'cats_int64s' is needed")};
  return {n.cast(matches(n, n.cast(x, n.i64()), indices(n, *categories)), n.f32())};
}

//===----------------------------------------------------------------------===//
// Support vectors
//===----------------------------------------------------------------------===//

/// How near each row of `x` is to each row of `vectors`.
static Value kernelOf(NodeContext &n, Value x, Value vectors, StringRef kind) {
  auto given = n.floatsAttr("kernel_params").value_or(std::vector<float>());
  auto parameter = [&](size_t i) { return i < given.size() ? double(given[i]) : 0.0; };
  double gamma = parameter(0), offset = parameter(1), degree = parameter(2);
  Ints shape = n.shapeOf(x), known = n.shapeOf(vectors);
  if (kind == "RBF") {
    Value gap =
        n.sub(n.reshape(x, {shape[0], 1, shape[1]}), n.reshape(vectors, {1, known[0], known[1]}));
    Value distance = n.reduce<ReduceSumOp>(n.mul(gap, gap), {2}, false);
    return n.make<ExpOp>(n.mulScalar(distance, -gamma));
  }
  Value product = n.matmul(x, vectors, false, true);
  if (kind == "LINEAR")
    return product;
  product = n.addScalar(n.mulScalar(product, gamma), offset);
  if (kind == "POLY")
    return n.make<PowOp>(product, n.scalar(n.f32(), degree));
  if (kind == "SIGMOID")
    return n.make<TanhOp>(product);
  return n.fail("kernel_type '" + kind + "' is not supported; LINEAR, POLY, RBF and SIGMOID are");
}

/// Without support vectors, the coefficients are those of a line.
static Values svmRegressor(NodeContext &n) {
  auto coefficients = n.floatsAttr("coefficients").value_or(std::vector<float>());
  auto vectors = n.floatsAttr("support_vectors").value_or(std::vector<float>());
  auto rho = n.floatsAttr("rho").value_or(std::vector<float>());
  int64_t count = n.intAttr("n_supports", 0);
  StringRef kind = n.stringAttr("kernel_type", "LINEAR"),
            post = n.stringAttr("post_transform", "NONE");
  bool tellsOutliers = n.intAttr("one_class", 0) != 0;
  Value x = rows(n);
  if (!x)
    return {};
  x = n.cast(x, n.f32());
  int64_t features = n.shapeOf(x)[1];
  if (count == 0) {
    n.ignoreAttrs({"kernel_params"});
    vectors = std::exchange(coefficients, {1});
    kind = "LINEAR";
    count = 1;
  }
  if (count < 1 || count > int64_t(vectors.size()) || int64_t(vectors.size()) != count * features ||
      int64_t(coefficients.size()) != count || rho.empty())
    return {n.fail("support_vectors, coefficients and rho do not fit " + Twine(features) +
                   " features")};
  Value near = kernelOf(n, x, floats(n, vectors, {count, features}, n.f32()), kind);
  Value y = n.matmul(near, floats(n, coefficients, {count, 1}, n.f32()));
  y = n.addScalar(y, rho[0]);
  if (tellsOutliers) {
    Value one = n.scalar(n.f32(), 1);
    y = n.select(n.compare(CompareDirection::GT, y, n.scalar(n.f32(), 0)), one,
                 n.scalar(n.f32(), -1));
  }
  return {y ? transform(n, y, post) : Value()};
}

void gantry::onnx::addFeatureOps(OpTable &table) {
  auto add = [&](StringRef op, Handler handler, Arity arity = {}) {
    table.add(op, std::move(handler), arity, kMachineLearning);
  };
  add("Imputer", imputer);
  add("FeatureVectorizer", featureVectorizer, {1, kAny, 1});
  add("LabelEncoder", labelEncoder);
  add("OneHotEncoder", oneHotEncoder);
  add("SVMRegressor", svmRegressor);
}
