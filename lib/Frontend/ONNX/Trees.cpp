// Trees of ai.onnx.ml, as converters of scikit-learn, XGBoost and LightGBM write them. All trees of
// an ensemble go down one level at a time.

#include "Importer.h"
#include "MachineLearning.h"

#include <map>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

namespace {
/// A list of floating point.
struct Numbers {
  std::vector<double> values;
  bool areWide = false; ///< f64

  size_t size() const { return values.size(); }
};

/// The nodes of all trees one after the other; a leaf is followed by itself.
struct Forest {
  Ints roots, feature, missing; ///< missing: whether a NaN makes the comparison true
  Ints next;                    ///< of node i: 2 i where the comparison is false, else 2 i + 1
  Numbers threshold;
  std::vector<bool> isLeaf;
  int64_t levels = 0;
  CompareDirection direction = CompareDirection::LE;
  std::map<std::pair<int64_t, int64_t>, int64_t> index; ///< of (tree, node)

  int64_t size() const { return feature.size(); }
};
} // namespace

/// The numbers of attribute `name`, or those of the tensor that stands for it, which may be f64.
static Numbers readNumbers(NodeContext &n, StringRef name) {
  std::string asTensor = (name + "_as_tensor").str();
  auto list = n.floatsAttr(name);
  const Tensor *tensor = n.tensorAttr(asTensor);
  if (!tensor) {
    auto narrow = list.value_or(std::vector<float>());
    return {{narrow.begin(), narrow.end()}};
  }
  Value constant =
      list ? n.fail("attributes '" + name + "' and '" + asTensor + "' exclude each other")
           : n.tensor(*tensor);
  auto elements =
      constant ? readElements(getConstantElements(constant), kMaxTableElements) : std::nullopt;
  if (!elements || !elements->isFloat) {
    n.fail("attribute '" + asTensor + "' must be a list of floating point");
    return {};
  }
  return {elements->floats, n.elementOf(constant).isF64()};
}

static Value asTable(NodeContext &n, const Numbers &numbers, IntsRef shape, mlir::Type element) {
  KnownElements elements;
  elements.isFloat = true;
  elements.floats = numbers.values;
  return n.constant(
      makeConstantElements(RankedTensorType::get(shape, element), elements, n.outputName(0)));
}

static std::optional<CompareDirection> comparison(StringRef mode) {
  return llvm::StringSwitch<std::optional<CompareDirection>>(mode)
      .Case("BRANCH_LEQ", CompareDirection::LE)
      .Case("BRANCH_LT", CompareDirection::LT)
      .Case("BRANCH_GTE", CompareDirection::GE)
      .Case("BRANCH_GT", CompareDirection::GT)
      .Case("BRANCH_EQ", CompareDirection::EQ)
      .Case("BRANCH_NEQ", CompareDirection::NE)
      .Default(std::nullopt);
}

/// More levels than trees have; nodes that go in circles have no end.
static constexpr int64_t kMaxLevels = 1024;

/// How many comparisons there are at most below the roots, or one more than kMaxLevels.
static int64_t countLevels(const Forest &forest) {
  Ints reached = forest.roots;
  for (int64_t level = 0; level <= kMaxLevels; ++level) {
    llvm::DenseSet<int64_t> below;
    for (int64_t node : reached)
      if (!forest.isLeaf[node])
        below.insert_range(ArrayRef(forest.next).slice(2 * node, 2));
    if (below.empty())
      return level;
    reached.assign(below.begin(), below.end());
  }
  return kMaxLevels + 1;
}

static std::optional<Forest> readForest(NodeContext &n, int64_t features) {
  auto list = [&](StringRef name) { return n.intsAttr(name).value_or(Ints()); };
  Ints trees = list("nodes_treeids"), nodes = list("nodes_nodeids"),
       whenTrue = list("nodes_truenodeids"), whenFalse = list("nodes_falsenodeids");
  Forest forest;
  forest.feature = list("nodes_featureids");
  forest.missing = list("nodes_missing_value_tracks_true");
  forest.threshold = readNumbers(n, "nodes_values");
  std::vector<StringRef> modes = n.stringsAttr("nodes_modes");
  n.ignoreAttrs({"nodes_hitrates", "nodes_hitrates_as_tensor"});
  size_t count = trees.size();
  auto fail = [&](const Twine &why) {
    n.fail(why);
    return std::nullopt;
  };
  if (count == 0 || nodes.size() != count || whenTrue.size() != count ||
      whenFalse.size() != count || forest.feature.size() != count || modes.size() != count ||
      forest.threshold.size() != count ||
      (!forest.missing.empty() && forest.missing.size() != count))
    return fail("the lists about nodes must be of one length");
  for (size_t i = 0; i < count; ++i)
    if (!forest.index.try_emplace({trees[i], nodes[i]}, i).second)
      return fail("node " + Twine(nodes[i]) + " of tree " + Twine(trees[i]) + " is there twice");
  llvm::DenseSet<int64_t> seen;
  StringRef common;
  for (size_t i = 0; i < count; ++i) {
    if (seen.insert(trees[i]).second)
      forest.roots.push_back(i);
    forest.isLeaf.push_back(modes[i] == "LEAF");
    if (forest.isLeaf.back()) {
      forest.feature[i] = 0;
      forest.next.append({int64_t(i), int64_t(i)});
      continue;
    }
    if (common.empty())
      common = modes[i];
    auto direction = comparison(modes[i]);
    if (!direction || modes[i] != common)
      return fail("nodes of mode '" + modes[i] + "' beside '" + common +
                  "' are not supported; one comparison for all of them is");
    forest.direction = *direction;
    if (forest.feature[i] < 0 || forest.feature[i] >= features)
      return fail("a node compares feature " + Twine(forest.feature[i]) + " of " + Twine(features));
    for (int64_t child : {whenFalse[i], whenTrue[i]}) {
      auto found = forest.index.find({trees[i], child});
      if (found == forest.index.end())
        return fail("tree " + Twine(trees[i]) + " has no node " + Twine(child));
      forest.next.push_back(found->second);
    }
  }
  forest.levels = countLevels(forest);
  if (forest.levels > kMaxLevels)
    return fail("the nodes of a tree go in circles, or down more than " + Twine(kMaxLevels) +
                " levels");
  return forest;
}

/// The leaf that each row reaches in each tree: [batch, trees].
static Value descend(NodeContext &n, Value x, const Forest &forest) {
  Value feature = indices(n, forest.feature), next = indices(n, forest.next);
  // Compared in the wider type of both.
  x = forest.threshold.areWide ? n.cast(x, n.builder.getF64Type()) : x;
  Value threshold = asTable(n, forest.threshold, {forest.size()}, n.elementOf(x));
  bool anyMissing = llvm::any_of(forest.missing, [](int64_t flag) { return flag != 0; });
  Value missing = anyMissing ? indices(n, forest.missing) : Value();
  auto lookUp = [&](Value table, Value at) { return n.make<GatherOp>(table, at, uint64_t(0)); };
  Value at = n.broadcast(indices(n, forest.roots), {n.shapeOf(x)[0], int64_t(forest.roots.size())});
  for (int64_t level = 0; level < forest.levels; ++level) {
    Value value = n.make<GatherElementsOp>(x, lookUp(feature, at), uint64_t(1));
    Value holds = n.compare(forest.direction, value, lookUp(threshold, at));
    if (missing) {
      Value tracks = n.compare(CompareDirection::NE, lookUp(missing, at), n.scalarInt(n.i64(), 0));
      holds = n.make<LogicalOrOp>(holds, n.make<LogicalAndOp>(n.make<IsNanOp>(value), tracks));
    }
    at = lookUp(next, n.add(n.mulScalar(at, 2), n.cast(holds, n.i64())));
  }
  return at;
}

namespace {
/// What leaves give, by the names that start with `what`.
struct Leaves {
  Ints ids;
  Numbers weights, table; ///< table: [nodes, outputs]
};
} // namespace

static std::optional<Leaves> readLeaves(NodeContext &n, const Forest &forest, const Twine &what,
                                        int64_t outputs) {
  auto list = [&](StringRef name) { return n.intsAttr((what + name).str()).value_or(Ints()); };
  Ints trees = list("_treeids"), nodes = list("_nodeids");
  Leaves leaves{list("_ids"), readNumbers(n, (what + "_weights").str()), {}};
  size_t count = leaves.weights.size();
  if (trees.size() != count || nodes.size() != count || leaves.ids.size() != count) {
    n.fail("the lists about leaves must be of one length");
    return std::nullopt;
  }
  if (!n.countTable(forest.size() * outputs))
    return std::nullopt;
  leaves.table.values.resize(forest.size() * outputs);
  leaves.table.areWide = leaves.weights.areWide;
  for (size_t i = 0; i < count; ++i) {
    auto found = forest.index.find({trees[i], nodes[i]});
    if (found == forest.index.end() || leaves.ids[i] < 0 || leaves.ids[i] >= outputs) {
      n.fail("a weight is for node " + Twine(nodes[i]) + " of tree " + Twine(trees[i]) +
             " and output " + Twine(leaves.ids[i]) + ", which is not there");
      return std::nullopt;
    }
    double &entry = leaves.table.values[found->second * outputs + leaves.ids[i]];
    entry += leaves.weights.values[i];
    entry = leaves.table.areWide ? entry : float(entry);
  }
  return leaves;
}

/// Sums over all trees: [batch, outputs].
static Value addUp(NodeContext &n, Value x, const Forest &forest, const Leaves &leaves,
                   int64_t outputs) {
  mlir::Type element = leaves.table.areWide ? n.builder.getF64Type() : n.f32();
  Value table = asTable(n, leaves.table, {forest.size(), outputs}, element);
  Value each = n.make<GatherOp>(table, descend(n, x, forest), uint64_t(0));
  return n.reduce<ReduceSumOp>(each, {1}, false);
}

/// What is added to all rows, in the type of the sums; scores are f32.
static Value addBase(NodeContext &n, Value scores, int64_t outputs) {
  Numbers base = readNumbers(n, "base_values");
  if (!scores || base.size() == 0)
    return n.cast(scores, n.f32());
  int64_t count = base.size();
  if (count != 1 && count != outputs)
    return n.fail("base_values needs 1 or " + Twine(outputs) + " entries");
  return n.cast(n.add(scores, asTable(n, base, {count}, n.elementOf(scores))), n.f32());
}

static Values treeRegressor(NodeContext &n) {
  int64_t outputs = n.intAttr("n_targets", 1);
  StringRef aggregate = n.stringAttr("aggregate_function", "SUM");
  StringRef post = n.stringAttr("post_transform", "NONE");
  Value x = rows(n);
  if (!x)
    return {};
  if (outputs < 1 || (aggregate != "SUM" && aggregate != "AVERAGE"))
    return {n.fail("aggregate_function '" + aggregate + "' is not supported; SUM and AVERAGE are")};
  auto forest = readForest(n, n.shapeOf(x)[1]);
  auto leaves = forest ? readLeaves(n, *forest, "target", outputs) : std::nullopt;
  if (!leaves)
    return {};
  Value scores = addUp(n, x, *forest, *leaves, outputs);
  if (scores && aggregate == "AVERAGE")
    scores = n.div(scores, n.scalar(n.elementOf(scores), forest->roots.size()));
  return {transform(n, addBase(n, scores, outputs), post)};
}

/// Two classes of which leaves know one: it is taken where the sum is more than a half, as weights
/// that are never negative are probabilities, else where it is positive.
static Values classifyTwo(NodeContext &n, Value score, const Leaves &leaves, const Ints &labels,
                          StringRef post) {
  bool areProbabilities = llvm::all_of(leaves.weights.values, [](double w) { return w >= 0; });
  if (post != "NONE" && (post != "LOGISTIC" || areProbabilities))
    return {n.fail("post_transform '" + post + "' is not supported for two classes")};
  Value limit = n.scalar(n.f32(), areProbabilities ? 0.5 : 0);
  Value takes = n.compare(CompareDirection::GT, n.sliceAxis(score, 1, 0, 1), limit);
  if (!takes)
    return {};
  Value label = n.select(n.reshape(takes, {n.shapeOf(score)[0]}), n.scalarInt(n.i64(), labels[1]),
                         n.scalarInt(n.i64(), labels[0]));
  Value other = areProbabilities ? n.sub(n.scalar(n.f32(), 1), score) : n.make<NegOp>(score);
  return {label, transform(n, n.concat({other, score}, 1), post)};
}

static Values treeClassifier(NodeContext &n) {
  auto labels = readLabels(n, "classlabels_int64s", "classlabels_strings");
  StringRef post = n.stringAttr("post_transform", "NONE");
  Value x = labels ? rows(n) : Value();
  if (!x)
    return {};
  int64_t classes = labels->size();
  auto forest = readForest(n, n.shapeOf(x)[1]);
  auto leaves = forest ? readLeaves(n, *forest, "class", classes) : std::nullopt;
  if (!leaves)
    return {};
  Value scores = addUp(n, x, *forest, *leaves, classes);
  if (classes > 2)
    return classify(n, addBase(n, scores, classes), *labels, post);
  if (leaves->ids.empty() || !llvm::all_equal(leaves->ids))
    return {n.fail("of two classes, weights for one are supported")};
  Value score = scores ? n.sliceAxis(scores, 1, leaves->ids.front(), 1) : Value();
  return classifyTwo(n, addBase(n, score, 1), *leaves, *labels, post);
}

void gantry::onnx::addTreeOps(OpTable &table) {
  auto add = [&](StringRef op, Handler handler, Arity arity = {}) {
    table.add(op, std::move(handler), arity, kMachineLearning);
  };
  add("TreeEnsembleRegressor", treeRegressor);
  add("TreeEnsembleClassifier", treeClassifier, {1, 1, 2});
}
