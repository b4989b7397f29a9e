// Reading and writing at computed indices.

#include "AttentionParts.h"

#include "gantry/Support/BadIndex.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Of arithmetic with shapes, which is evaluated here: a wrong index would make a wrong shape, and
/// whatever comes of that would be told instead.
static bool checkShapeIndices(NodeContext &n) {
  if (n.rankOf(n.input(0)) != 1 || n.isFloat(n.input(0)) || !evaluateValue(n.input(0)))
    return true;
  const auto indices = evaluateValue(n.input(1));
  const int64_t sizes[] = {n.shapeOf(n.input(0)).front()};
  const auto bad = indices ? findBadIndex(indices->ints, sizes) : std::nullopt;
  if (bad)
    n.fail(describeBadIndex(*bad, "indices", n.shapeOf(n.input(1)), sizes));
  return !bad;
}

static Values gather(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(n.input(0)));
  if (axis && !checkShapeIndices(n))
    return {};
  return axis ? Values{n.make<GatherOp>(n.input(0), n.input(1), uint64_t(*axis))} : Values{};
}

static Values gatherElements(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(n.input(0)));
  return axis ? Values{n.make<GatherElementsOp>(n.input(0), n.input(1), uint64_t(*axis))}
              : Values{};
}

static Values gatherNd(NodeContext &n) {
  int64_t batch = n.intAttr("batch_dims", 0);
  return {n.make<GatherNdOp>(n.input(0), n.input(1), uint64_t(batch))};
}

static std::optional<ScatterReduction> reductionOf(NodeContext &n) {
  StringRef name = n.opset() < 16 ? "none" : n.stringAttr("reduction", "none");
  for (auto [text, value] : {std::pair<StringRef, ScatterReduction>("none", ScatterReduction::None),
                             {"add", ScatterReduction::Add},
                             {"mul", ScatterReduction::Mul},
                             {"max", ScatterReduction::Max},
                             {"min", ScatterReduction::Min}})
    if (name == text)
      return value;
  n.fail("reduction '" + name + "' is not supported; none, add, mul, max and min are");
  return std::nullopt;
}

static Values scatterElements(NodeContext &n) {
  auto axis = n.axis(n.intAttr("axis", 0), n.rankOf(n.input(0)));
  auto reduction = reductionOf(n);
  if (!axis || !reduction)
    return {};
  return {
      n.make<ScatterElementsOp>(n.input(0), n.input(1), n.input(2), uint64_t(*axis), *reduction)};
}

static Values scatterNd(NodeContext &n) {
  auto reduction = reductionOf(n);
  return reduction ? Values{n.make<ScatterNdOp>(n.input(0), n.input(1), n.input(2), *reduction)}
                   : Values{};
}

Value gantry::onnx::writeSteps(NodeContext &n, Value cache, Value update, Value places,
                               int64_t axis, bool circular) {
  if (!cache || !update)
    return {};
  Ints shape = n.shapeOf(cache);
  int64_t rank = n.rankOf(cache), length = shape[axis], steps = n.shapeOf(update)[axis];
  if (steps == 0 || length == 0)
    return cache;
  Ints along(rank, 1), perBatch(rank, 1);
  along[axis] = length;
  perBatch[0] = shape[0];
  Value step = n.iota(along, n.i64(), axis);
  if (places)
    step = n.sub(step, n.reshape(n.cast(places, n.i64()), perBatch));
  if (circular)
    step = n.make<ModOp>(step, n.scalarInt(n.i64(), length));
  Value last = n.scalarInt(n.i64(), steps - 1), first = n.scalarInt(n.i64(), 0);
  Value isNew = n.make<LogicalAndOp>(n.compare(CompareDirection::GE, step, first),
                                     n.compare(CompareDirection::LE, step, last));
  Value index = n.broadcast(n.make<ClampOp>(step, first, last), shape);
  Value written = n.make<GatherElementsOp>(update, index, uint64_t(axis));
  return n.select(isNew, written, cache);
}

static Values tensorScatter(NodeContext &n) {
  Value cache = n.input(0), update = n.input(1), places = n.input(2);
  int64_t rank = n.rankOf(cache);
  auto axis = n.axis(n.intAttr("axis", -2), rank);
  StringRef mode = n.stringAttr("mode", "linear");
  if (!axis)
    return {};
  Ints shape = n.shapeOf(cache), like = shape;
  int64_t steps = n.rankOf(update) == rank ? n.shapeOf(update)[*axis] : 0;
  like[*axis] = steps;
  if (mode != "linear" && mode != "circular")
    return {n.fail("mode '" + mode + "' is not supported; linear and circular are")};
  if (n.shapeOf(update) != like || steps > shape[*axis] || *axis == 0 ||
      (places && n.shapeOf(places) != Ints{shape[0]}))
    return {n.fail("cache, update and write_indices do not fit each other")};
  return {writeSteps(n, cache, update, places, *axis, mode == "circular")};
}

static Values oneHot(NodeContext &n) {
  Value indices = n.input(0), values = n.input(2);
  auto depth = n.knownOperand(1, "depth");
  auto axis = n.axis(n.intAttr("axis", -1), n.rankOf(indices) + 1);
  if (!depth || !axis)
    return {};
  double size = depth->size() != 1 ? -1
                : depth->isFloat   ? depth->floats[0]
                                   : double(depth->ints[0]);
  if (!(size >= 0 && size <= 0x1p40) || n.rankOf(values) != 1 || n.shapeOf(values)[0] != 2)
    return {n.fail("depth must be one number and values a pair")};
  mlir::Type index = n.elementOf(indices);
  if (!index.isSignlessInteger(32) && !index.isSignlessInteger(64))
    indices = n.cast(indices, n.i64());
  Value off = n.reshape(n.slice(values, {0}, {1}), {}),
        on = n.reshape(n.slice(values, {1}, {1}), {});
  return {n.make<OneHotOp>(indices, off, on, uint64_t(*axis), uint64_t(size))};
}

void gantry::onnx::addIndexingOps(OpTable &table) {
  table.add("Gather", gather, {2, 2, 1});
  table.add("GatherElements", gatherElements, {2, 2, 1});
  table.add("GatherND", gatherNd, {2, 2, 1});
  table.add("GatherND", gatherNd, {2, 2, 1}, kMicrosoft);
  table.setRowByRow({"Gather", "GatherElements", "GatherND"});
  table.add("ScatterElements", scatterElements, {3, 3, 1});
  table.add("Scatter", scatterElements, {3, 3, 1});
  table.add("ScatterND", scatterNd, {3, 3, 1});
  table.add("TensorScatter", tensorScatter, {2, 3, 1});
  table.add("OneHot", oneHot, {3, 3, 1}).shapeOperands = {1};
}
