// Ops that go through a dimension in order and carry something along: cumsum and top_k.

#include "Patterns.h"
#include "gantry/Linalg/LoopBuilder.h"
#include "gantry/Linalg/Scalars.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Cumulative sums
//===----------------------------------------------------------------------===//

namespace {
/// Step i along an axis of a tensor, all of the other dimensions.
struct StepSlice {
  SmallVector<OpFoldResult> starts, sizes, steps;

  StepSlice(Emitter &b, ArrayRef<int64_t> shape, unsigned axis, Value i)
      : starts(shape.size(), b.getIndexAttr(0)), steps(shape.size(), b.getIndexAttr(1)) {
    for (int64_t size : shape)
      sizes.push_back(b.getIndexAttr(size));
    starts[axis] = i;
    sizes[axis] = b.getIndexAttr(1);
  }
};
} // namespace

/// The step without the dimension of the axis.
static Value sliceAt(Emitter &b, Value tensor, unsigned axis, Value i) {
  auto type = typeOf(tensor);
  Shape shape(type.getShape());
  StepSlice step(b, shape, axis, i);
  shape.erase(shape.begin() + axis);
  return tensor::ExtractSliceOp::create(b, type.clone(shape), tensor, step.starts, step.sizes,
                                        step.steps);
}

static Value insertAt(Emitter &b, Value slice, Value into, unsigned axis, Value i) {
  StepSlice step(b, shapeOf(into), axis, i);
  return tensor::InsertSliceOp::create(b, slice, into, step.starts, step.sizes, step.steps);
}

/// A loop along the axis that adds slices to running sums of all other dimensions at once.
static Value lowerCumsum(CumsumOp op, CumsumOp::Adaptor in, Emitter &b) {
  Value x = in.getInput();
  Shape shape(shapeOf(x)), rest(shape);
  unsigned axis = op.getAxis();
  int64_t size = shape[axis];
  rest.erase(rest.begin() + axis);
  Type element = elementOf(x), wide = computeType(element);
  Value sums = b.filled(rest, b.number(0, wide));
  auto step = [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value at = op.getReverse() ? b.sub(b.index(size - 1), i) : i;
    auto store = [&](Value sum) {
      return insertAt(b, b.convertTo(sum, element), carried[1], axis, at);
    };
    // An exclusive sum is stored before it is added to, so that adding can happen in place.
    Value running = carried[0], result;
    if (op.getExclusive())
      result = store(running);
    Operand slice = b.identity(sliceAt(b, x, axis, at));
    Value next = b.accumulate(
        running, slice.map, slice,
        SmallVector<utils::IteratorType>(rest.size(), utils::IteratorType::parallel),
        [](Emitter &inner, ValueRange v) { return inner.add(v[1], inner.widen(v[0])); });
    if (!op.getExclusive())
      result = store(next);
    return {next, result};
  };
  return LoopBuilder(b).loop(0, size, 1, {sums, b.empty(shape, element)}, step)[1];
}

//===----------------------------------------------------------------------===//
// Best elements
//===----------------------------------------------------------------------===//

namespace {
/// Keeps the best k of a row in order, inserting one element after the other: linear in the row
/// while newcomers rarely beat the last one kept, and at worst k steps each.
struct Selection {
  TopKOp op;
  Value input;
  unsigned axis = op.getAxis();
  int64_t k = op.getK(), size = shapeOf(input)[axis];

  /// Strictly, so that of equal elements the earlier stays in front.
  Value isBetter(Emitter &b, Value x, Value y) { return isPreferred(b, op, x, y); }

  SmallVector<Value> place(ArrayRef<Value> row, Value i) {
    SmallVector<Value> at(row);
    at.insert(at.begin() + axis, i);
    return at;
  }

  /// Where element `i` of the row goes: counts down from `end` while the neighbour is worse, moving
  /// it up. Carries position, values and indices.
  SmallVector<Value> insert(Emitter &b, ArrayRef<Value> row, Value i, ValueRange carried);
  SmallVector<Value> selectRow(Emitter &b, ArrayRef<Value> row, ValueRange carried);
};
} // namespace

SmallVector<Value> Selection::insert(Emitter &b, ArrayRef<Value> row, Value i, ValueRange carried) {
  Value x = tensor::ExtractOp::create(b, input, place(row, i));
  Value one = b.index(1), last = b.index(k - 1);
  // While fewer than k are kept there is a free place at i; afterwards the last one may go.
  Value isFree = b.compare(arith::CmpIPredicate::slt, i, b.index(k));
  Value end = b.select(isFree, i, last);
  Value worst = tensor::ExtractOp::create(b, carried[0], place(row, end));
  Value enters = b.either(isFree, isBetter(b, x, worst));
  auto then = [&](OpBuilder &builder, Location loc) {
    Emitter e(loc, builder);
    SmallVector<Value> start{end, carried[0], carried[1]};
    auto loop = scf::WhileOp::create(
        e, TypeRange(ValueRange(start)), start,
        [&](OpBuilder &inner, Location where, ValueRange state) {
          Emitter c(where, inner);
          Value hasNext = c.compare(arith::CmpIPredicate::sgt, state[0], c.index(0));
          // Reading index 0 when there is no neighbour is harmless; the result is not used.
          Value before = c.select(hasNext, c.sub(state[0], c.index(1)), c.index(0));
          Value neighbour = tensor::ExtractOp::create(c, state[1], place(row, before));
          Value more = c.both(hasNext, isBetter(c, x, neighbour));
          scf::ConditionOp::create(c, more, state);
        },
        [&](OpBuilder &inner, Location where, ValueRange state) {
          Emitter c(where, inner);
          Value before = c.sub(state[0], one);
          Value value = tensor::ExtractOp::create(c, state[1], place(row, before));
          Value index = tensor::ExtractOp::create(c, state[2], place(row, before));
          Value values = tensor::InsertOp::create(c, value, state[1], place(row, state[0]));
          Value indices = tensor::InsertOp::create(c, index, state[2], place(row, state[0]));
          scf::YieldOp::create(c, ValueRange{before, values, indices});
        });
    SmallVector<Value> at = place(row, loop.getResult(0));
    Value index = arith::IndexCastOp::create(e, e.getI64Type(), i);
    Value values = tensor::InsertOp::create(e, x, loop.getResult(1), at);
    Value indices = tensor::InsertOp::create(e, index, loop.getResult(2), at);
    scf::YieldOp::create(e, ValueRange{values, indices});
  };
  auto otherwise = [&](OpBuilder &builder, Location loc) {
    scf::YieldOp::create(builder, loc, carried);
  };
  return llvm::to_vector_of<Value>(scf::IfOp::create(b, enters, then, otherwise).getResults());
}

SmallVector<Value> Selection::selectRow(Emitter &b, ArrayRef<Value> row, ValueRange carried) {
  return LoopBuilder(b).loop(0, size, 1, carried,
                             [&](Value i, ValueRange state) { return insert(b, row, i, state); });
}

static SmallVector<Value> lowerTopK(TopKOp op, TopKOp::Adaptor in, Emitter &b) {
  Selection selection{op, in.getInput()};
  Type element = elementOf(in.getInput());
  Shape shape(shapeOf(in.getInput()));
  shape[selection.axis] = selection.k;
  // Filled, because the place that an element goes to is read before it is first written.
  SmallVector<Value> results{b.filled(shape, b.number(0, element)),
                             b.filled(shape, b.integer(0, b.getI64Type()))};
  if (selection.k == 0)
    return results;
  shape.erase(shape.begin() + selection.axis);
  return LoopBuilder(b).nest(shape, results, [&](ValueRange row, ValueRange carried) {
    return selection.selectRow(b, SmallVector<Value>(row), carried);
  });
}

void gantry::populateScanPatterns(SignlessTypeConverter &converter, RewritePatternSet &patterns) {
  addLowering<CumsumOp, lowerCumsum>(converter, patterns);
  addLowering<TopKOp, lowerTopK>(converter, patterns);
}
