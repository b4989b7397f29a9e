// Ops that combine the elements of some dimensions: reductions, softmax, searches.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
struct Reduction {
  Ints axes;
  bool keepDims = true;
  bool isIdentity = false; ///< no axes given and none meant
};
} // namespace

/// Axes became an operand with opset 18, for ReduceSum already with 13.
static std::optional<Reduction> readReduction(NodeContext &n, int64_t operandSince) {
  Reduction reduction;
  reduction.keepDims = n.intAttr("keepdims", 1) != 0;
  std::optional<Ints> axes;
  bool emptyIsNone = false;
  if (n.opset() >= operandSince) {
    emptyIsNone = n.intAttr("noop_with_empty_axes", 0) != 0;
    if (n.input(1))
      axes = n.shapeOperand(1, "axes");
  } else {
    axes = n.intsAttr("axes");
  }
  if (n.hasFailed())
    return std::nullopt;
  int64_t rank = n.rankOf(n.input(0));
  if (!axes || axes->empty()) {
    reduction.isIdentity = emptyIsNone;
    reduction.axes = llvm::to_vector(llvm::seq<int64_t>(0, emptyIsNone ? 0 : rank));
    return reduction;
  }
  auto checked = n.axes(*axes, rank);
  if (!checked)
    return std::nullopt;
  reduction.axes = *checked;
  llvm::sort(reduction.axes);
  return reduction;
}

/// Reduces f(x) by Op and then applies g.
using Step = Value (*)(NodeContext &, Value);
template <typename Op, Step before = nullptr, Step after = nullptr, int64_t operandSince = 18>
static Values reduce(NodeContext &n) {
  auto reduction = readReduction(n, operandSince);
  if (!reduction)
    return {};
  Value x = n.input(0);
  if constexpr (before != nullptr)
    x = before(n, x);
  if (!reduction->isIdentity)
    x = n.reduce<Op>(x, reduction->axes, reduction->keepDims);
  if constexpr (after != nullptr)
    x = x ? after(n, x) : x;
  return {x};
}

static Value square(NodeContext &n, Value x) { return n.mul(x, x); }
static Value magnitude(NodeContext &n, Value x) { return n.make<AbsOp>(x); }
/// Of integers in floating point, as the root below.
static Value logarithm(NodeContext &n, Value x) {
  mlir::Type element = n.elementOf(x);
  if (isa<FloatType>(element))
    return n.make<LogOp>(x);
  return n.cast(n.make<LogOp>(n.cast(x, n.builder.getF64Type())), element);
}

/// The square root of integers is taken in floating point.
static Value root(NodeContext &n, Value x) {
  mlir::Type element = n.elementOf(x);
  if (isa<FloatType>(element))
    return n.make<SqrtOp>(x);
  return n.cast(n.make<SqrtOp>(n.cast(x, n.builder.getF64Type())), element);
}

/// Of truth values (opset 20), the largest is "any" and the smallest "all".
template <typename Op>
static Values extreme(NodeContext &n) {
  if (!n.isBool(n.input(0)))
    return reduce<Op>(n);
  auto reduction = readReduction(n, 18);
  Value x = n.input(0);
  if (!reduction || reduction->isIdentity)
    return {reduction ? x : Value()};
  Value bytes = n.cast(x, n.builder.getI8Type());
  return {n.cast(n.reduce<Op>(bytes, reduction->axes, reduction->keepDims), n.i1())};
}

/// max + log(sum(e^(x - max))): the exponentials stay finite. An infinite maximum is left out,
/// since infinity less itself is NaN; then the sum is infinite or 0, and its logarithm right.
static Values reduceLogSumExp(NodeContext &n) {
  auto reduction = readReduction(n, 18);
  if (!reduction)
    return {};
  Value x = n.input(0);
  if (reduction->isIdentity)
    return {x};
  mlir::Type given = n.elementOf(x);
  if (!isa<FloatType>(given))
    x = n.cast(x, n.builder.getF64Type());
  Value most = n.reduce<ReduceMaxOp>(x, reduction->axes, true);
  if (!most)
    return {};
  most = n.select(n.make<IsInfOp>(most, false, false), n.scalar(n.elementOf(x), 0), most);
  Value sum = n.reduce<ReduceSumOp>(n.make<ExpOp>(n.sub(x, most)), reduction->axes, true);
  Value y = n.add(n.make<LogOp>(sum), most);
  y = n.cast(y, given);
  if (reduction->keepDims || !y)
    return {y};
  Ints shape;
  for (int64_t i = 0; i < n.rankOf(x); ++i)
    if (!llvm::is_contained(reduction->axes, i))
      shape.push_back(n.shapeOf(x)[i]);
  return {n.reshape(y, shape)};
}

template <typename Op>
static Values argument(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(n.input(0)));
  bool keep = n.intAttr("keepdims", 1) != 0, last = n.intAttr("select_last_index", 0) != 0;
  return axis ? Values{n.make<Op>(n.input(0), uint64_t(*axis), keep, last)} : Values{};
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

/// Before opset 13 these ops saw a matrix: dimensions before `axis` are its rows, the others its
/// columns.
static Values alongAxis(NodeContext &n, llvm::function_ref<Value(Value, int64_t)> build) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x);
  if (n.opset() >= 13) {
    auto axis = n.axis(n.intAttr("axis", -1), rank);
    return axis && !n.hasFailed() ? Values{build(x, *axis)} : Values{};
  }
  int64_t given = n.intAttr("axis", 1);
  if (n.hasFailed())
    return {};
  if (given < -rank || given > rank)
    return {n.fail("axis " + Twine(given) + " is outside the " + Twine(rank) +
                   " dimensions of the operand")};
  int64_t axis = given < 0 ? given + rank : given;
  // Of the last dimension, both readings are the same.
  if (axis == rank - 1)
    return {build(x, axis)};
  int64_t rows = 1, columns = 1;
  for (auto [i, size] : llvm::enumerate(n.shapeOf(x)))
    (int64_t(i) < axis ? rows : columns) *= size;
  return {n.reshape(build(n.reshape(x, {rows, columns}), 1), n.shapeOf(x))};
}

static Values softmax(NodeContext &n) {
  return alongAxis(n, [&](Value x, int64_t axis) { return n.make<SoftmaxOp>(x, uint64_t(axis)); });
}

static Values logSoftmax(NodeContext &n) {
  return alongAxis(n,
                   [&](Value x, int64_t axis) { return n.make<LogSoftmaxOp>(x, uint64_t(axis)); });
}

/// One where the index is that of the first largest element.
static Values hardmax(NodeContext &n) {
  return alongAxis(n, [&](Value x, int64_t axis) -> Value {
    if (n.shapeOf(x)[axis] == 0)
      return x;
    Value best = n.make<ArgmaxOp>(x, uint64_t(axis), true, false);
    if (!best)
      return {};
    Ints along(n.rankOf(x), 1);
    along[axis] = n.shapeOf(x)[axis];
    return n.cast(n.compare(CompareDirection::EQ, n.iota(along, n.i64(), axis), best),
                  n.elementOf(x));
  });
}

static Values cumSum(NodeContext &n) {
  bool exclusive = n.intAttr("exclusive", 0) != 0, reverse = n.intAttr("reverse", 0) != 0;
  auto given = n.shapeScalar(1, "axis");
  auto axis = given ? n.axis(*given, n.rankOf(n.input(0))) : std::nullopt;
  return axis ? Values{n.make<CumsumOp>(n.input(0), uint64_t(*axis), exclusive, reverse)}
              : Values{};
}

/// What stands `by` places before along `axis` (behind, when `reverse`), and 1 where nothing does.
static Value shifted(NodeContext &n, Value v, int64_t axis, int64_t by, bool reverse) {
  if (!v)
    return {};
  Ints low(n.rankOf(v), 0), high(n.rankOf(v), 0);
  (reverse ? high : low)[axis] = by;
  Value kept = n.sliceAxis(v, axis, reverse ? by : 0, n.shapeOf(v)[axis] - by);
  return n.make<PadOp>(kept, n.scalar(n.elementOf(v), 1), IntsRef(low), IntsRef(high),
                       PadMode::Constant);
}

/// Products of the last 1, 2, 4, ... elements, until they reach back to the first.
static Values cumProd(NodeContext &n) {
  bool exclusive = n.intAttr("exclusive", 0) != 0, reverse = n.intAttr("reverse", 0) != 0;
  auto given = n.shapeScalar(1, "axis");
  auto axis = given ? n.axis(*given, n.rankOf(n.input(0))) : std::nullopt;
  if (!axis)
    return {};
  Value y = n.input(0);
  int64_t size = n.shapeOf(y)[*axis];
  if (exclusive && size > 0)
    y = shifted(n, y, *axis, 1, reverse);
  for (int64_t reach = 1; reach < size; reach *= 2)
    y = n.mul(y, shifted(n, y, *axis, reach, reverse));
  return {y};
}

static Values topK(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(n.input(0)));
  bool smallest = n.opset() >= 11 && n.intAttr("largest", 1) == 0;
  n.ignoreAttrs({"sorted"}); // sorted is one of the orders that unsorted may have
  std::optional<int64_t> k =
      n.opset() < 10 ? std::optional(n.intAttr("k", 0)) : n.shapeScalar(1, "k");
  if (!axis || !k)
    return {};
  return n.makeAll<TopKOp>(n.input(0), uint64_t(*axis), uint64_t(*k), smallest);
}

void gantry::onnx::addReductionOps(OpTable &table) {
  auto add = [&](StringRef op, Handler handler) {
    table.add(op, std::move(handler), {1, 2, 1}).shapeOperands = {1};
  };
  add("ReduceSum", reduce<ReduceSumOp, nullptr, nullptr, 13>);
  add("ReduceMean", reduce<ReduceMeanOp>);
  add("ReduceMax", extreme<ReduceMaxOp>);
  add("ReduceMin", extreme<ReduceMinOp>);
  add("ReduceProd", reduce<ReduceProdOp>);
  add("ReduceL1", reduce<ReduceSumOp, magnitude>);
  add("ReduceL2", reduce<ReduceSumOp, square, root>);
  add("ReduceLogSum", reduce<ReduceSumOp, nullptr, logarithm>);
  add("ReduceSumSquare", reduce<ReduceSumOp, square>);
  add("ReduceLogSumExp", reduceLogSumExp);
  table.add("ArgMax", argument<ArgmaxOp>);
  table.add("ArgMin", argument<ArgminOp>);
  table.add("Softmax", softmax);
  table.add("LogSoftmax", logSoftmax);
  table.add("Hardmax", hardmax);
  table.add("CumSum", cumSum, {2, 2, 1}).shapeOperands = {1};
  table.add("CumProd", cumProd, {2, 2, 1}).shapeOperands = {1};
  table.add("TopK", topK, {1, 2, 2}).shapeOperands = {1};
}
