// Reductions, argmax and argmin, softmax; sums of rows in an order of their own.

#include "Blocks.h"
#include "Patterns.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Linalg/LoopBuilder.h"
#include "gantry/Support/PartsTree.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using utils::IteratorType;

/// Rounds to the element type and brings kept dimensions back, in this order: reading through an
/// added dimension of size 1 is free for an elementwise consumer.
template <typename Op>
static Value finish(Op op, Value reduced, Emitter &b) {
  Value rounded = b.convertTo(reduced, signless(op.getType().getElementType()));
  return b.reshape(rounded, op.getType().getShape());
}

template <typename Op, Combine combine>
static Value lowerReduce(Op op, typename Op::Adaptor in, Emitter &b) {
  bool sign = isUnsigned(op.getInput().getType());
  return finish(op, reduceAxes(b, in.getInput(), op.getAxes(), combine, sign), b);
}

/// Integers divide toward zero, as gantry.div does; the sum wraps.
static Value divideBy(Emitter &b, Value sum, int64_t count, bool sign) {
  Type type = sum.getType();
  if (isa<FloatType>(type))
    return b.div(sum, b.number(double(count), type));
  // A count that the type cannot hold is larger than any sum.
  unsigned width = type.getIntOrFloatBitWidth();
  if (count == 0 || (sign ? !llvm::isUIntN(width, count) : !llvm::isIntN(width, count)))
    return b.integer(0, type);
  Value divisor = b.integer(count, type);
  return sign ? Value(arith::DivUIOp::create(b, sum, divisor))
              : Value(arith::DivSIOp::create(b, sum, divisor));
}

static Value lowerReduceMean(ReduceMeanOp op, ReduceMeanOp::Adaptor in, Emitter &b) {
  auto type = op.getInput().getType();
  Value sum = reduceAxes(b, in.getInput(), op.getAxes(), Combine::Sum);
  int64_t count = 1;
  for (int64_t axis : op.getAxes())
    count *= type.getDimSize(axis);
  Type element = signless(type.getElementType());
  Value mean = b.elementwise(shapeOf(sum), element, b.identity(sum), [&](Emitter &e, ValueRange x) {
    return e.narrow(divideBy(e, x[0], count, isUnsigned(type)), element);
  });
  return b.reshape(mean, op.getType().getShape());
}

/// Whether `x` takes the place of `best`: the first of equal elements stays, or the last one under
/// `last`; NaN beats every number, as in NumPy.
static Value isBetter(Emitter &b, Value x, Value best, bool largest, bool last, bool sign) {
  if (isa<FloatType>(x.getType())) {
    using Predicate = arith::CmpFPredicate;
    // Unordered predicates are also true for a NaN on either side.
    Predicate predicate = largest ? (last ? Predicate::UGE : Predicate::UGT)
                                  : (last ? Predicate::ULE : Predicate::ULT);
    Value keepable = b.compare(Predicate::ORD, best, best);
    if (last)
      keepable = b.either(keepable, b.compare(Predicate::UNO, x, x));
    return b.both(b.compare(predicate, x, best), keepable);
  }
  using Predicate = arith::CmpIPredicate;
  Predicate predicate =
      largest ? (last ? Predicate::sge : Predicate::sgt) : (last ? Predicate::sle : Predicate::slt);
  if (sign)
    predicate = largest ? (last ? Predicate::uge : Predicate::ugt)
                        : (last ? Predicate::ule : Predicate::ult);
  return b.compare(predicate, x, best);
}

/// Best element and its index side by side in one op with two results. The start value never beats
/// an element in a way that matters: index 0 is right when all elements equal it.
template <typename Op, bool largest>
static Value lowerArg(Op op, typename Op::Adaptor in, Emitter &b) {
  auto type = typeOf(in.getInput());
  unsigned rank = type.getRank(), axis = op.getAxis();
  bool sign = isUnsigned(op.getInput().getType());
  Shape shape(type.getShape());
  shape.erase(shape.begin() + axis);
  Type wide = computeType(type.getElementType());
  Value start = largest ? b.lowest(wide, sign) : b.highest(wide, sign);
  Value best = b.filled(shape, start), place = b.filled(shape, b.integer(0, b.getI64Type()));
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators[axis] = IteratorType::reduction;
  AffineMap map = withoutAxes(b, best, rank, int64_t(axis)).map;
  SmallVector<AffineMap> maps{b.identity(in.getInput()).map, map, map};
  auto generic = linalg::GenericOp::create(
      b, TypeRange{best.getType(), place.getType()}, in.getInput(), ValueRange{best, place}, maps,
      iterators, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        Emitter e(loc, builder);
        Value x = e.widen(arguments[0]);
        Value better = isBetter(e, x, arguments[1], largest, op.getLast(), sign);
        Value index = arith::IndexCastOp::create(e, e.getI64Type(), e.loopIndex(axis));
        linalg::YieldOp::create(
            e, {e.select(better, x, arguments[1]), e.select(better, index, arguments[2])});
      });
  return b.reshape(generic.getResult(1), op.getType().getShape());
}

template <typename Op, Value (*rowsOf)(Emitter &, Value, int64_t)>
static Value lowerSoftmax(Op op, typename Op::Adaptor in, Emitter &b) {
  Value result = rowsOf(b, in.getInput(), op.getAxis());
  return b.convertTo(result, elementOf(in.getInput()));
}

//===----------------------------------------------------------------------===//
// Sums of rows
//===----------------------------------------------------------------------===//

/// Most rows that are added by an op each, in a body without loops: that has vectors.
static constexpr int64_t kMostWritten = 16;

namespace {
/// Each element is added up by itself: loops that reduce would join partial sums, and may not here.
struct RowSum {
  Value rows;
  Shape shape = Shape(shapeOf(rows).drop_front());
  Type element = elementOf(rows), wide = computeType(element);

  Operand row(Emitter &b, int64_t i) const {
    Shape starts(shape.size() + 1, 0), sizes(shapeOf(rows));
    starts.front() = i;
    sizes.front() = 1;
    return b.identity(b.reshape(b.extractSlice(rows, starts, sizes), shape));
  }

  /// As an op of its own rounds it.
  Value rounded(Emitter &e, Value sum) const { return e.widen(e.narrow(sum, element)); }

  Value addInOrder(Emitter &e, ValueRange x) const {
    Value sum = e.widen(x[0]);
    for (Value next : x.drop_front())
      sum = e.add(sum, e.widen(next));
    return sum;
  }

  /// The sum of a subtree, whose rows are taken from the front.
  Value addSubtree(Emitter &e, ValueRange &x, ArrayRef<int64_t> &parts, PartRange range) const {
    if (parts.front() == int64_t(range.size)) {
      Value row = e.widen(x.front());
      x = x.drop_front();
      parts = parts.drop_front();
      return row;
    }
    Value left = addSubtree(e, x, parts, range.first());
    return rounded(e, e.add(left, addSubtree(e, x, parts, range.second())));
  }

  Value addInLoop(Emitter &e, int64_t count) const {
    SmallVector<Value> at(shape.size() + 1);
    for (unsigned d = 0; d < shape.size(); ++d)
      at[d + 1] = e.loopIndex(d);
    auto next = [&](Value i) {
      at.front() = i;
      return e.widen(tensor::ExtractOp::create(e, rows, at));
    };
    return LoopBuilder(e).loop(e.index(1), e.index(count), e.index(1), next(e.index(0)),
                               [&](Value i, Value sum) { return e.add(sum, next(i)); });
  }
};
} // namespace

static Value lowerAddRows(AddRowsOp op, AddRowsOp::Adaptor in, Emitter &b) {
  const RowSum sum{in.getRows()};
  const int64_t count = shapeOf(in.getRows()).front();
  const bool isWritten = op.getParts() || count <= kMostWritten;
  SmallVector<Operand> operands;
  for (int64_t i = 0; isWritten && i < count; ++i)
    operands.push_back(sum.row(b, i));
  return b.elementwise(sum.shape, sum.element, operands, [&](Emitter &e, ValueRange x) {
    if (!isWritten)
      return e.narrow(sum.addInLoop(e, count), sum.element);
    if (!op.getParts())
      return e.narrow(sum.addInOrder(e, x.take_front(count)), sum.element); // not the result
    ArrayRef<int64_t> parts = *op.getParts();
    size_t all = 0;
    for (int64_t part : parts)
      all += part;
    return e.narrow(sum.addSubtree(e, x, parts, {0, all}), sum.element);
  });
}

void gantry::populateReductionPatterns(SignlessTypeConverter &converter,
                                       RewritePatternSet &patterns) {
  addLowering<ReduceSumOp, lowerReduce<ReduceSumOp, Combine::Sum>>(converter, patterns);
  addLowering<ReduceProdOp, lowerReduce<ReduceProdOp, Combine::Product>>(converter, patterns);
  addLowering<ReduceMaxOp, lowerReduce<ReduceMaxOp, Combine::Maximum>>(converter, patterns);
  addLowering<ReduceMinOp, lowerReduce<ReduceMinOp, Combine::Minimum>>(converter, patterns);
  addLowering<ReduceMeanOp, lowerReduceMean>(converter, patterns);
  addLowering<AddRowsOp, lowerAddRows>(converter, patterns);
  addLowering<ArgmaxOp, lowerArg<ArgmaxOp, true>>(converter, patterns);
  addLowering<ArgminOp, lowerArg<ArgminOp, false>>(converter, patterns);
  addLowering<SoftmaxOp, lowerSoftmax<SoftmaxOp, softmaxAlong>>(converter, patterns);
  addLowering<LogSoftmaxOp, lowerSoftmax<LogSoftmaxOp, logSoftmaxAlong>>(converter, patterns);
}
