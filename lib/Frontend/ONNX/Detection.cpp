// NonMaxSuppression: of boxes that overlap, those with the best scores.
//
// How many are selected depends on data; how many there may be does not, when the number for each
// class is a constant. So the result has a row for each that there may be, and a count (Bounded.h).
//
// All classes of all images take a step together: each finds its best box that is left, and takes
// off those that overlap it. The loop ends when no class has one left, or each has enough. Which
// one comes first of equal scores, and when boxes overlap, is ONNX Runtime's.

#include "Bounded.h"
#include "Regions.h"

#include <limits>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

namespace {
/// Sides and areas of boxes, each value of one shape.
struct Boxes {
  Value top, left, bottom, right, area;

  template <typename Function>
  Boxes map(Function f) const {
    return {f(top), f(left), f(bottom), f(right), f(area)};
  }
};

/// What the op is about.
struct Problem {
  int64_t images = 0, classes = 0, boxes = 0; ///< how many
  int64_t most = 0;                           ///< boxes that a class of an image may select
  Boxes sides;                                ///< [images, boxes]
  Value scores;                               ///< [images, classes, boxes], -inf of what is out
  Value overlap;                              ///< a scalar: more is too much

  int64_t rows() const { return images * classes * most; }
};

/// What a step carries on; of shape [images, classes, ...].
struct Selection {
  Value scores;   ///< of boxes that are left
  Value selected; ///< [..., most]: their numbers in order
  Value counts;   ///< [..., 1]: how many are selected
};
} // namespace

static constexpr double kOut = -std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Of any two corners, or of the middle and the size.
static Boxes readBoxes(NodeContext &n, bool areCentered) {
  Ints shape = n.shapeOf(n.input(0));
  auto part = [&](int64_t i) {
    return n.reshape(n.sliceAxis(n.input(0), 2, i, 1), {shape[0], shape[1]});
  };
  Value a = part(0), b = part(1), c = part(2), d = part(3);
  Boxes boxes{};
  if (areCentered) {
    Value halfWidth = n.mulScalar(c, 0.5), halfHeight = n.mulScalar(d, 0.5);
    boxes = {n.sub(b, halfHeight), n.sub(a, halfWidth), n.add(b, halfHeight), n.add(a, halfWidth),
             Value()};
  } else {
    boxes = {n.make<MinimumOp>(a, c), n.make<MinimumOp>(b, d), n.make<MaximumOp>(a, c),
             n.make<MaximumOp>(b, d), Value()};
  }
  boxes.area = n.mul(n.sub(boxes.bottom, boxes.top), n.sub(boxes.right, boxes.left));
  return boxes;
}

/// A number in an operand of one element.
static Value readNumber(NodeContext &n, size_t i, StringRef what) {
  if (n.typeOf(n.input(i)).getNumElements() == 1 && n.elementOf(n.input(i)).isF32())
    return n.reshape(n.input(i), {});
  return n.fail("operand " + Twine(i) + " (" + what + ") must be one number of f32");
}

/// The scores that may win, finite ones above -inf, and -inf for the others.
static Value readScores(NodeContext &n) {
  Value scores = n.input(1), out = n.scalar(n.f32(), kOut);
  Value above = n.make<MaximumOp>(scores, n.scalar(n.f32(), -std::numeric_limits<float>::max()));
  if (!n.input(4))
    return above;
  Value limit = readNumber(n, 4, "score_threshold");
  return n.select(n.compare(CompareDirection::GT, scores, limit), above, out);
}

static std::optional<Problem> readProblem(NodeContext &n) {
  Value boxes = n.input(0), scores = n.input(1);
  const bool areCentered = n.intAttr("center_point_box", 0) != 0;
  if (n.rankOf(boxes) != 3 || n.rankOf(scores) != 3 || n.shapeOf(boxes)[2] != 4 ||
      n.shapeOf(boxes)[0] != n.shapeOf(scores)[0] || n.shapeOf(boxes)[1] != n.shapeOf(scores)[2] ||
      !n.elementOf(boxes).isF32() || !n.elementOf(scores).isF32()) {
    n.fail("boxes must be f32[images, boxes, 4] and scores f32[images, classes, boxes]");
    return std::nullopt;
  }
  Problem problem;
  problem.images = n.shapeOf(scores)[0];
  problem.classes = n.shapeOf(scores)[1];
  problem.boxes = n.shapeOf(scores)[2];
  if (n.input(2)) {
    const bool isGiven = !n.decidingInputs(n.input(2)).empty();
    auto most = isGiven ? n.knownOperand(2, "max_output_boxes_per_class") : n.decidingElements(2);
    if (!most)
      return std::nullopt;
    if (most->isFloat || most->size() != 1) {
      n.fail("operand 2 (max_output_boxes_per_class) must be one integer");
      return std::nullopt;
    }
    problem.most = std::clamp<int64_t>(most->ints[0], 0, problem.boxes);
  }
  problem.sides = readBoxes(n, areCentered);
  problem.scores = readScores(n);
  problem.overlap = n.input(3) ? readNumber(n, 3, "iou_threshold") : n.scalar(n.f32(), 0);
  return n.hasFailed() ? std::nullopt : std::optional(problem);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Where boxes overlap others by more than the limit: those without an area do not.
static Value overlaps(NodeContext &n, const Boxes &a, const Boxes &b, Value limit) {
  Value zero = n.scalar(n.f32(), 0);
  auto isPositive = [&](Value v) { return n.compare(CompareDirection::GT, v, zero); };
  auto both = [&](Value p, Value q) { return n.make<LogicalAndOp>(p, q); };
  Value height = n.sub(n.make<MinimumOp>(a.bottom, b.bottom), n.make<MaximumOp>(a.top, b.top));
  Value width = n.sub(n.make<MinimumOp>(a.right, b.right), n.make<MaximumOp>(a.left, b.left));
  Value inside = n.mul(width, height), all = n.sub(n.add(a.area, b.area), inside);
  Value meet = both(both(isPositive(width), isPositive(height)), isPositive(inside));
  Value real = both(both(isPositive(a.area), isPositive(b.area)), isPositive(all));
  return both(both(meet, real), n.compare(CompareDirection::GT, n.div(inside, all), limit));
}

/// Each class selects its best box, at place `step`, and takes off what overlaps it. `found` says
/// which ones had a box left: [images, classes, 1].
static Selection selectBest(NodeContext &n, const Problem &p, const Selection &now, Value step,
                            Value &found) {
  Value out = n.scalar(n.f32(), kOut);
  Value best = n.make<ArgmaxOp>(now.scores, uint64_t(2), /*keepDims=*/true, /*last=*/false);
  Value score = n.make<GatherElementsOp>(now.scores, best, uint64_t(2));
  found = n.compare(CompareDirection::NE, score, out);
  Value flat = n.reshape(best, {p.images, p.classes});
  Boxes chosen = p.sides.map([&](Value side) {
    return n.reshape(n.make<GatherElementsOp>(side, flat, uint64_t(1)), {p.images, p.classes, 1});
  });
  Boxes all = p.sides.map([&](Value side) { return n.reshape(side, {p.images, 1, p.boxes}); });
  Value itself = n.compare(CompareDirection::EQ, n.iota({1, 1, p.boxes}, n.i64(), 2), best);
  Value isOff = n.make<LogicalOrOp>(itself, overlaps(n, chosen, all, p.overlap));
  return {n.select(isOff, out, now.scores),
          n.make<SetSliceOp>(now.selected, flat, step, uint64_t(2)),
          n.add(now.counts, n.cast(found, n.i64()))};
}

/// Whether any class had a box left.
static Value any(NodeContext &n, Value found) {
  Value bytes = n.cast(found, n.builder.getI8Type());
  return n.cast(n.reduce<ReduceMaxOp>(bytes, {0, 1, 2}, /*keepDims=*/false), n.i1());
}

static std::optional<Selection> runSelection(NodeContext &n, const Problem &p) {
  Value yes = n.constant(DenseElementsAttr::get(RankedTensorType::get({}, n.i1()), true));
  Value zero = n.scalarInt(n.i64(), 0), limit = n.scalarInt(n.i64(), p.most);
  Values inits{zero, yes, p.scores, n.broadcast(zero, {p.images, p.classes, p.most}),
               n.broadcast(zero, {p.images, p.classes, 1})};
  if (onnx::detail::isMissing(inits))
    return std::nullopt;
  SmallVector<mlir::Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  auto test = buildRegion(n, types, [&](Block &block) -> std::optional<Values> {
    Value isBelow = n.compare(CompareDirection::LT, block.getArgument(0), limit);
    return Values{n.make<LogicalAndOp>(isBelow, block.getArgument(1))};
  });
  auto body = buildRegion(n, types, [&](Block &block) -> std::optional<Values> {
    Value step = block.getArgument(0), found;
    Selection now{block.getArgument(2), block.getArgument(3), block.getArgument(4)};
    Selection next = selectBest(n, p, now, step, found);
    Values yielded{n.addScalar(step, 1), any(n, found), next.scores, next.selected, next.counts};
    return onnx::detail::isMissing(yielded) ? std::nullopt : std::optional(yielded);
  });
  if (!test || !body)
    return std::nullopt;
  Values results = createWithRegions<WhileOp>(n, inits, types, {&test, &body});
  return results.size() == 5 ? std::optional(Selection{results[2], results[3], results[4]})
                             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The rows (image, class, box) of what is selected, one after the other, and zeros behind them.
static Value makeRows(NodeContext &n, const Problem &p, const Selection &s) {
  Ints places{p.images, p.classes, p.most};
  Value first = n.reshape(n.make<CumsumOp>(n.reshape(s.counts, {p.images * p.classes}), uint64_t(0),
                                           /*exclusive=*/true, /*reverse=*/false),
                          {p.images, p.classes, 1});
  Value at = n.iota({1, 1, p.most}, n.i64(), 2);
  Value isSelected = n.compare(CompareDirection::LT, at, s.counts);
  // Places that nothing is selected for write behind the last row.
  Value row = n.select(isSelected, n.add(first, at), n.scalarInt(n.i64(), p.rows()));
  auto column = [&](Value v) { return n.reshape(n.broadcast(v, places), {p.rows(), 1}); };
  Value content = n.concat({column(n.iota({p.images, 1, 1}, n.i64(), 0)),
                            column(n.iota({1, p.classes, 1}, n.i64(), 1)), column(s.selected)},
                           1);
  Value empty = n.broadcast(n.scalarInt(n.i64(), 0), {p.rows() + 1, 3});
  Value all = n.make<ScatterNdOp>(empty, column(row), content, ScatterReduction::None);
  return n.sliceAxis(all, 0, 0, p.rows());
}

static Values nonMaxSuppression(NodeContext &n) {
  auto problem = readProblem(n);
  if (!problem)
    return {};
  if (problem->rows() == 0) {
    Value none = n.reshape(n.ints({}), {0, 3});
    n.setBound(none, {0, n.scalarInt(n.i64(), 0)});
    return {none};
  }
  auto selection = runSelection(n, *problem);
  if (!selection)
    return {};
  Value rows = makeRows(n, *problem, *selection);
  Value count = n.reduce<ReduceSumOp>(selection->counts, {0, 1, 2}, /*keepDims=*/false);
  n.setBound(rows, {0, count});
  return {rows};
}

void gantry::onnx::addDetectionOps(OpTable &table) {
  table.add("NonMaxSuppression", nonMaxSuppression, {2, 5, 1}).shapeOperands = {2};
}
