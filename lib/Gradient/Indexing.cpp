// Reading and writing at indices: each is the other's way back, at the same indices, so that a
// clamped index gives to the row that was read. Sums are f32 where elements are narrower: a row
// that is read ten thousand times would stop to grow.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// Zeros like `type`, of the element type of `updates`.
static Value zerosFor(GradientBuilder &b, RankedTensorType type, Value updates) {
  return b.zeros(type.clone(elementOf(updates)));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Indices as tuples of one: [..., 1].
static Term asTuples(GradientBuilder &b, Value indices) {
  Shape shape(shapeOf(indices));
  shape.push_back(1);
  return reshaped({b, indices}, shape);
}

/// At one index a slice is written, else rows are added to; with the axis in front.
static void buildGather(GatherOp op, GradientBuilder &b) {
  RankedTensorType type = typeOf(op.getInput());
  int64_t axis = op.getAxis(), indexRank = rankOf(op.getIndices());
  if (indexRank == 0)
    return b.give(0,
                  b.make<SetSliceOp>(b.zeros(type), b.ofResult(), op.getIndices(), uint64_t(axis)));
  Shape order = llvm::to_vector(llvm::seq<int64_t>(axis, axis + indexRank));
  for (int64_t i = 0; i < rankOf(op.getResult()); ++i)
    if (i < axis || i >= axis + indexRank)
      order.push_back(i);
  Shape own{axis};
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      own.push_back(i);
  Shape front = llvm::map_to_vector(own, [&](int64_t i) { return type.getDimSize(i); });
  Term updates = wideCotangent(b);
  if (axis != 0)
    updates = transposed(updates, order);
  Term sums(b, b.make<ScatterNdOp>(zerosFor(b, type.clone(front), updates),
                                   asTuples(b, op.getIndices()), updates, ScatterReduction::Add));
  b.give(0, axis == 0 ? sums : transposed(sums, inversePermutation(own)));
}

static void buildGatherElements(GatherElementsOp op, GradientBuilder &b) {
  Term updates = wideCotangent(b);
  b.give(0, b.make<ScatterElementsOp>(zerosFor(b, typeOf(op.getInput()), updates), op.getIndices(),
                                      updates, op.getAxis(), ScatterReduction::Add));
}

/// The dimensions of a batch become the first components of the tuples.
static Value withBatch(GradientBuilder &b, Value indices, int64_t batchDims) {
  SmallVector<Value> parts;
  Shape shape(shapeOf(indices));
  shape.back() = 1;
  for (int64_t i = 0; i < batchDims; ++i)
    parts.push_back(b.make<IotaOp>(typeOf(indices).clone(shape), uint64_t(i)));
  parts.push_back(indices);
  return parts.size() == 1 ? indices : Value(joined(b, parts, shape.size() - 1));
}

static void buildGatherNd(GatherNdOp op, GradientBuilder &b) {
  Term updates = wideCotangent(b);
  Value indices = withBatch(b, op.getIndices(), op.getBatchDims());
  b.give(0, b.make<ScatterNdOp>(zerosFor(b, typeOf(op.getInput()), updates), indices, updates,
                                ScatterReduction::Add));
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

template <typename Op>
static std::string refuseScatter(Op op, unsigned) {
  if (op.getReduction() == ScatterReduction::Add || op.getReduction() == ScatterReduction::None)
    return "";
  return "with the reduction '" + stringifyScatterReduction(op.getReduction()).str() +
         "' has no gradient; only 'none' and 'add' have one";
}

namespace {
/// Who wrote an element last, found by scattering the numbers of the updates: of one element only
/// the last update has a gradient, and the input where there was none.
struct Winners {
  Value numbers; ///< of the updates, in their shape
  Value last;    ///< for each element that was written to, else -1

  /// `write` scatters, `shape` is that of the updates that have numbers.
  static Winners of(GradientBuilder &b, ArrayRef<int64_t> target, ArrayRef<int64_t> shape,
                    function_ref<Value(Value none, Value numbers)> write) {
    auto flat = RankedTensorType::get({ShapedType::getNumElements(shape)}, b.getI64Type());
    Term numbers = reshaped({b, b.make<IotaOp>(flat, uint64_t(0))}, shape);
    Value none = b.filled(-1, RankedTensorType::get(target, b.getI64Type()));
    return {numbers, write(none, numbers)};
  }
};
} // namespace

/// Where updates are added: each one's gradient is what is read where it went.
static void giveOfSums(GradientBuilder &b, Term d, function_ref<Term(Value from)> read) {
  if (b.wants(0u))
    b.give(0, d, "input");
  if (b.wants(2u))
    b.give(2, read(d), "updates");
}

static void buildScatterElements(ScatterElementsOp op, GradientBuilder &b) {
  Term d(b, b.ofResult());
  auto read = [&](Value from) -> Term {
    return {b, b.make<GatherElementsOp>(from, op.getIndices(), op.getAxis())};
  };
  if (op.getReduction() == ScatterReduction::Add)
    return giveOfSums(b, d, read);
  auto write = [&](Value none, Value numbers) -> Value {
    return b.make<ScatterElementsOp>(none, op.getIndices(), numbers, op.getAxis(),
                                     ScatterReduction::None);
  };
  Winners winners = Winners::of(b, shapeOf(d), shapeOf(op.getUpdates()), write);
  if (b.wants(0u))
    b.give(0, select(Term(b, winners.last) < 0, d, 0), "input");
  if (b.wants(2u))
    b.give(2, select(read(winners.last) == Term(b, winners.numbers), read(d), 0), "updates");
}

/// Numbers are those of tuples; what follows a tuple is written as one.
static void buildScatterNd(ScatterNdOp op, GradientBuilder &b) {
  Term d(b, b.ofResult());
  auto read = [&](Value from) -> Term {
    return {b, b.make<GatherNdOp>(from, op.getIndices(), uint64_t(0))};
  };
  if (op.getReduction() == ScatterReduction::Add)
    return giveOfSums(b, d, read);
  ArrayRef<int64_t> tuples = shapeOf(op.getIndices()).drop_back();
  int64_t addressed = shapeOf(op.getIndices()).back(), rest = rankOf(d) - addressed;
  auto write = [&](Value none, Value numbers) -> Value {
    return b.make<ScatterNdOp>(none, op.getIndices(), numbers, ScatterReduction::None);
  };
  Winners winners = Winners::of(b, shapeOf(d).take_front(addressed), tuples, write);
  auto wholeSlices = [&](Term flags) {
    Shape shape(shapeOf(flags));
    shape.append(rest, 1);
    return reshaped(flags, shape);
  };
  if (b.wants(0u))
    b.give(0, select(wholeSlices(Term(b, winners.last) < 0), d, 0), "input");
  if (b.wants(2u)) {
    Term isLast = wholeSlices(read(winners.last) == Term(b, winners.numbers));
    b.give(2, select(isLast, read(d), 0), "updates");
  }
}

static void buildSetSlice(SetSliceOp op, GradientBuilder &b) {
  Value d = b.ofResult(), update;
  // Read before it is written over, which is in place then.
  if (b.wants(1u))
    update = b.make<GatherOp>(d, op.getIndex(), op.getAxis());
  if (b.wants(0u))
    b.give(0, b.make<SetSliceOp>(d, b.zeros(typeOf(op.getUpdate())), op.getIndex(), op.getAxis()),
           "input");
  if (update)
    b.give(1, update, "update");
}

/// The scalars get what is added up where they stand.
static void buildOneHot(OneHotOp op, GradientBuilder &b) {
  Term d = wideCotangent(b);
  auto truth = RankedTensorType::get({}, b.getI1Type());
  auto number = [&](bool value) {
    return Value(ConstantOp::create(b, op.getLoc(), DenseElementsAttr::get(truth, value)));
  };
  Term isHot(b, b.make<OneHotOp>(op.getIndices(), number(false), number(true), op.getAxis(),
                                 op.getDepth()));
  if (b.wants(1u))
    b.give(1, select(isHot, 0, d), "off_value");
  if (b.wants(2u))
    b.give(2, select(isHot, d, 0), "on_value");
}

void gantry::addIndexingRules(MLIRContext &context) {
  addRule<GatherOp, buildGather>(context);
  addRule<GatherElementsOp, buildGatherElements>(context);
  addRule<GatherNdOp, buildGatherNd>(context);
  addRule<ScatterElementsOp, buildScatterElements, refuseScatter<ScatterElementsOp>>(context);
  addRule<ScatterNdOp, buildScatterNd, refuseScatter<ScatterNdOp>>(context);
  addRule<SetSliceOp, buildSetSlice>(context);
  addRule<OneHotOp, buildOneHot>(context);
}
