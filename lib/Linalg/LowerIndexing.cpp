// Reading and writing at computed indices.
//
// Negative indices count from the end and indices outside are clamped, always, so that no index of
// any model reads or writes outside its tensor. Gathers are linalg ops whose body extracts;
// scatters are loops over the updates in row-major order, into a copy of the input.

#include "Patterns.h"
#include "gantry/Linalg/LoopBuilder.h"
#include "gantry/Linalg/Scalars.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

static Value lowerGather(GatherOp op, GatherOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape(), input = shapeOf(in.getInput());
  unsigned axis = op.getAxis(), rank = shape.size();
  unsigned indexRank = typeOf(in.getIndices()).getRank();
  Operand indices{in.getIndices(), b.mapOf(rank, b.dims(axis, axis + indexRank))};
  return b.pick(shape, in.getInput(), indices, [&](Emitter &e, unsigned i, ValueRange x) {
    return i < axis    ? e.loopIndex(i)
           : i == axis ? e.wrapIndex(x[0], input[axis])
                       : e.loopIndex(i - 1 + indexRank);
  });
}

static Value lowerGatherElements(GatherElementsOp op, GatherElementsOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape(), input = shapeOf(in.getInput());
  unsigned axis = op.getAxis();
  Operand indices = b.identity(in.getIndices());
  return b.pick(shape, in.getInput(), indices, [&](Emitter &e, unsigned i, ValueRange x) {
    return i == axis ? e.wrapIndex(x[0], input[axis]) : e.loopIndex(i);
  });
}

/// The indices at one tuple: component j of `indices` at `prefix`, each into its dimension.
static SmallVector<Value> readTuple(Emitter &b, Value indices, ArrayRef<Value> prefix,
                                    ArrayRef<int64_t> sizes) {
  SmallVector<Value> tuple, at(prefix);
  at.emplace_back();
  for (auto [j, size] : llvm::enumerate(sizes)) {
    at.back() = b.index(j);
    tuple.push_back(b.wrapIndex(tensor::ExtractOp::create(b, indices, at), size));
  }
  return tuple;
}

static Value lowerGatherNd(GatherNdOp op, GatherNdOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape(), input = shapeOf(in.getInput());
  ArrayRef<int64_t> indexShape = shapeOf(in.getIndices());
  unsigned batch = op.getBatchDims(), outer = indexShape.size() - 1;
  ArrayRef<int64_t> addressed = input.slice(batch, indexShape.back());
  return b.elementwise(shape, elementOf(in.getInput()), {}, [&](Emitter &e, ValueRange) {
    SmallVector<Value> prefix, at;
    for (unsigned i = 0; i < outer; ++i)
      prefix.push_back(e.loopIndex(i));
    for (unsigned i = 0; i < batch; ++i)
      at.push_back(e.loopIndex(i));
    llvm::append_range(at, readTuple(e, in.getIndices(), prefix, addressed));
    for (unsigned i = outer; i < shape.size(); ++i)
      at.push_back(e.loopIndex(i));
    return Value(tensor::ExtractOp::create(e, in.getInput(), at));
  });
}

/// Compares before any bits are cut: an index beyond the depth on either side matches no position.
static Value lowerOneHot(OneHotOp op, OneHotOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  unsigned axis = op.getAxis(), rank = shape.size();
  SmallVector<AffineExpr> exprs = b.dims(0, rank);
  exprs.erase(exprs.begin() + axis);
  SmallVector<Operand> inputs{{in.getIndices(), b.mapOf(rank, exprs)},
                              {in.getOffValue(), b.mapOf(rank, {})},
                              {in.getOnValue(), b.mapOf(rank, {})}};
  Type element = elementOf(in.getOnValue());
  return b.elementwise(shape, element, inputs, [&](Emitter &e, ValueRange x) {
    Value index = e.countFromEnd(x[0], op.getDepth());
    Value place = e.loopIndex(axis);
    if (!index.getType().isIndex())
      place = arith::IndexCastOp::create(e, index.getType(), place);
    Value here = e.compare(arith::CmpIPredicate::eq, index, place);
    return e.select(here, x[2], x[1]);
  });
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Loops over all elements of `updates`; `place` gives where in the input an update at the loops'
/// indices goes.
static Value scatter(Emitter &b, Value input, Value updates, ScatterReduction reduction, bool sign,
                     function_ref<SmallVector<Value>(Emitter &, ArrayRef<Value>)> place) {
  // By extraction: a copy through maps would be taken for the input itself and removed, and then
  // the updates could not be made where the result belongs.
  Value copy = b.pick(shapeOf(input), input, {},
                      [](Emitter &e, unsigned i, ValueRange) { return e.loopIndex(i); });
  auto body = [&](ValueRange loops, ValueRange carried) -> SmallVector<Value> {
    SmallVector<Value> indices(loops);
    SmallVector<Value> at = place(b, indices);
    Value update = tensor::ExtractOp::create(b, updates, indices);
    if (reduction != ScatterReduction::None) {
      Value old = tensor::ExtractOp::create(b, carried[0], at);
      update = meetUpdate(b, reduction, old, update, sign);
    }
    return {tensor::InsertOp::create(b, update, carried[0], at)};
  };
  return LoopBuilder(b).nest(shapeOf(updates), copy, body)[0];
}

static Value lowerScatterElements(ScatterElementsOp op, ScatterElementsOp::Adaptor in, Emitter &b) {
  unsigned axis = op.getAxis();
  int64_t size = shapeOf(in.getInput())[axis];
  return scatter(b, in.getInput(), in.getUpdates(), op.getReduction(),
                 isUnsigned(op.getInput().getType()), [&](Emitter &e, ArrayRef<Value> loops) {
                   SmallVector<Value> at(loops);
                   Value index = tensor::ExtractOp::create(e, in.getIndices(), at);
                   at[axis] = e.wrapIndex(index, size);
                   return at;
                 });
}

static Value lowerScatterNd(ScatterNdOp op, ScatterNdOp::Adaptor in, Emitter &b) {
  unsigned outer = typeOf(in.getIndices()).getRank() - 1;
  ArrayRef<int64_t> addressed = shapeOf(in.getInput()).take_front(shapeOf(in.getIndices()).back());
  return scatter(b, in.getInput(), in.getUpdates(), op.getReduction(),
                 isUnsigned(op.getInput().getType()), [&](Emitter &e, ArrayRef<Value> loops) {
                   SmallVector<Value> at =
                       readTuple(e, in.getIndices(), loops.take_front(outer), addressed);
                   llvm::append_range(at, loops.drop_front(outer));
                   return at;
                 });
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A copy, by extraction as in scatters, and the update into it.
static Value lowerSetSlice(SetSliceOp op, SetSliceOp::Adaptor in, Emitter &b) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  unsigned axis = op.getAxis(), rank = shape.size();
  Value copy = b.pick(shape, in.getInput(), {},
                      [](Emitter &e, unsigned i, ValueRange) { return e.loopIndex(i); });
  if (llvm::is_contained(shape, 0))
    return copy;
  SmallVector<OpFoldResult> starts(rank, b.getIndexAttr(0)), steps(rank, b.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(b.getContext(), shape);
  starts[axis] = b.wrapIndex(b.scalarOf(in.getIndex()), shape[axis]);
  sizes[axis] = b.getIndexAttr(1);
  return tensor::InsertSliceOp::create(b, in.getUpdate(), copy, starts, sizes, steps);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Of index `i`: the size of all, or that of its component.
static Value sizeFor(Emitter &b, Value i, ArrayRef<int64_t> sizes) {
  Type type = b.getI64Type();
  Value size = b.integer(sizes.front(), type);
  if (sizes.size() == 1)
    return size;
  Value component = arith::RemUIOp::create(b, i, b.index(sizes.size()));
  for (auto [j, other] : llvm::enumerate(sizes.drop_front())) {
    Value here = b.compare(arith::CmpIPredicate::eq, component, b.index(j + 1));
    size = b.select(here, b.integer(other, type), size);
  }
  return size;
}

/// One loop over all indices, which keeps the first that is out of range.
static Value lowerFirstBadIndex(FirstBadIndexOp op, FirstBadIndexOp::Adaptor in, Emitter &b) {
  Type type = b.getI64Type();
  int64_t count = typeOf(in.getIndices()).getNumElements();
  Value indices = b.reshape(in.getIndices(), {count});
  Value none = b.integer(-1, type), zero = b.integer(0, type);
  auto body = [&](Value i, ValueRange found) -> SmallVector<Value> {
    Value x = tensor::ExtractOp::create(b, indices, i);
    if (!x.getType().isInteger(64))
      x = arith::ExtSIOp::create(b, type, x);
    Value size = sizeFor(b, i, op.getSizes());
    Value below = b.compare(arith::CmpIPredicate::slt, x, b.sub(zero, size));
    Value above = b.compare(arith::CmpIPredicate::sge, x, size);
    Value isFirst = b.compare(arith::CmpIPredicate::eq, found[0], none);
    Value take = b.both(isFirst, b.either(below, above));
    Value position = arith::IndexCastOp::create(b, type, i);
    return {b.select(take, position, found[0]), b.select(take, x, found[1])};
  };
  Value result = b.empty({2}, type);
  for (auto [i, part] : llvm::enumerate(LoopBuilder(b).loop(0, count, 1, {none, zero}, body)))
    result = tensor::InsertOp::create(b, part, result, b.index(i));
  return result;
}

void gantry::populateIndexingPatterns(SignlessTypeConverter &converter,
                                      RewritePatternSet &patterns) {
  addLowering<GatherOp, lowerGather>(converter, patterns);
  addLowering<GatherElementsOp, lowerGatherElements>(converter, patterns);
  addLowering<GatherNdOp, lowerGatherNd>(converter, patterns);
  addLowering<OneHotOp, lowerOneHot>(converter, patterns);
  addLowering<SetSliceOp, lowerSetSlice>(converter, patterns);
  addLowering<ScatterElementsOp, lowerScatterElements>(converter, patterns);
  addLowering<ScatterNdOp, lowerScatterNd>(converter, patterns);
  addLowering<FirstBadIndexOp, lowerFirstBadIndex>(converter, patterns);
}
