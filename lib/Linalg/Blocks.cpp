// Reductions, softmax and contractions as linalg ops; see Blocks.h.

#include "Blocks.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;
using utils::IteratorType;

static Value startOf(Emitter &b, Combine combine, Type type, bool isUnsigned) {
  switch (combine) {
  case Combine::Sum:
    return b.number(0, type);
  case Combine::Product:
    return b.number(1, type);
  case Combine::Maximum:
    return b.lowest(type, isUnsigned);
  case Combine::Minimum:
    return b.highest(type, isUnsigned);
  }
  llvm_unreachable("all kinds are listed");
}

static Value combineTwo(Emitter &b, Combine combine, Value x, Value accumulator, bool isUnsigned) {
  switch (combine) {
  case Combine::Sum:
    return b.add(accumulator, x);
  case Combine::Product:
    return b.mul(accumulator, x);
  case Combine::Maximum:
    return b.maximum(accumulator, x, isUnsigned);
  case Combine::Minimum:
    return b.minimum(accumulator, x, isUnsigned);
  }
  llvm_unreachable("all kinds are listed");
}

Operand gantry::withoutAxes(Emitter &b, Value value, unsigned rank, ArrayRef<int64_t> axes) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, int64_t(i)))
      exprs.push_back(b.dim(i));
  return {value, b.mapOf(rank, exprs)};
}

Value gantry::reduceAxes(Emitter &b, Value input, ArrayRef<int64_t> axes, Combine combine,
                         bool isUnsigned, function_ref<Value(Emitter &, Value)> prepare) {
  auto type = typeOf(input);
  unsigned rank = type.getRank();
  Shape shape;
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  for (unsigned i = 0; i < rank; ++i)
    if (llvm::is_contained(axes, int64_t(i)))
      iterators[i] = IteratorType::reduction;
    else
      shape.push_back(type.getDimSize(i));
  Type wide = computeType(type.getElementType());
  Value init = b.filled(shape, startOf(b, combine, wide, isUnsigned));
  AffineMap map = withoutAxes(b, init, rank, axes).map;
  return b.accumulate(init, map, b.identity(input), iterators, [&](Emitter &e, ValueRange x) {
    Value element = e.widen(x[0]);
    if (prepare)
      element = prepare(e, element);
    else // To a negated product LLVM gives the flags of the sum.
      e.mathFlags = arith::bitEnumClear(e.mathFlags, arith::FastMathFlags::contract);
    return combineTwo(e, combine, element, x[1], isUnsigned);
  });
}

/// Several ops over the same outer loops, so that tiling the last one by rows takes the others
/// along. The exponentials are stored rather than computed twice.
Value gantry::softmaxAlong(Emitter &b, Value input, int64_t axis) {
  Shape shape(shapeOf(input));
  unsigned rank = shape.size();
  Type wide = computeType(elementOf(input));
  Value largest = reduceAxes(b, input, axis, Combine::Maximum);
  Operand x = b.identity(input), top = withoutAxes(b, largest, rank, axis);
  Value powers = b.elementwise(shape, wide, {x, top}, [&](Emitter &e, ValueRange v) {
    return e.expAtMostZero(e.sub(e.widen(v[0]), v[1]));
  });
  Value sum = reduceAxes(b, powers, axis, Combine::Sum);
  // One quotient for a row: one for each element would take longer than its exponential.
  Value ofRow = b.elementwise(shapeOf(sum), wide, b.identity(sum), [&](Emitter &e, ValueRange v) {
    return e.div(e.number(1, wide), v[0]);
  });
  Operand factor = withoutAxes(b, ofRow, rank, axis);
  return b.elementwise(shape, wide, {b.identity(powers), factor},
                       [&](Emitter &e, ValueRange v) { return e.mul(v[0], v[1]); });
}

/// Nothing is stored in between: a difference is cheaper computed twice than kept, and a row can be
/// as long as a vocabulary.
Value gantry::logSoftmaxAlong(Emitter &b, Value input, int64_t axis) {
  Shape shape(shapeOf(input));
  unsigned rank = shape.size();
  Type wide = computeType(elementOf(input));
  Value largest = reduceAxes(b, input, axis, Combine::Maximum);
  Operand x = b.identity(input), top = withoutAxes(b, largest, rank, axis);
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators[axis] = IteratorType::reduction;
  Value none = b.filled(shapeOf(largest), b.number(0, wide));
  Value sum =
      b.accumulate(none, top.map, {x, top}, iterators, [&](Emitter &e, ValueRange v) -> Value {
        return e.add(v[2], e.expAtMostZero(e.sub(e.widen(v[0]), v[1])));
      });
  Value ofRow = b.elementwise(shapeOf(sum), wide, b.identity(sum),
                              [&](Emitter &e, ValueRange v) { return e.math<math::LogOp>(v[0]); });
  Operand total = withoutAxes(b, ofRow, rank, axis);
  return b.elementwise(shape, wide, {x, top, total}, [&](Emitter &e, ValueRange v) {
    return e.sub(e.sub(e.widen(v[0]), v[1]), v[2]);
  });
}

Signs Signs::of(Value left, Value right) {
  return {isUnsigned(left.getType()), isUnsigned(right.getType())};
}

Type Signs::sumType(Type element) {
  return element.isInteger(8) ? IntegerType::get(element.getContext(), 32) : computeType(element);
}

Type Signs::resultType(Type element) { return element.isInteger(8) ? sumType(element) : element; }

Value Signs::product(Emitter &b, Value left, Value right) const {
  auto widen = [&](Value x, bool isUnsigned) -> Value {
    if (!x.getType().isInteger(8))
      return b.widen(x);
    return isUnsigned ? Value(arith::ExtUIOp::create(b, b.getI32Type(), x))
                      : Value(arith::ExtSIOp::create(b, b.getI32Type(), x));
  };
  Value x = widen(left, isLeftUnsigned);
  return b.mul(x, widen(right, isRightUnsigned));
}

Value gantry::sumOfProducts(Emitter &b, ArrayRef<int64_t> shape, AffineMap resultMap,
                            ArrayRef<Operand> inputs, Emitter::Iterators iterators, Signs signs) {
  Value init = b.filled(shape, b.number(0, Signs::sumType(elementOf(inputs[0].value))));
  return b.accumulate(init, resultMap, inputs, iterators, [&](Emitter &e, ValueRange x) {
    return e.add(x[2], signs.product(e, x[0], x[1]));
  });
}

Value gantry::multiplyMatrices(Emitter &b, Value lhs, Value rhs, bool transposeLhs,
                               bool transposeRhs, Signs signs) {
  ArrayRef<int64_t> left = shapeOf(lhs), right = shapeOf(rhs);
  Shape shape = *broadcastShapes(left.drop_back(2), right.drop_back(2));
  unsigned batch = shape.size(), loops = batch + 3;
  shape.push_back(left[left.size() - (transposeLhs ? 1 : 2)]);
  shape.push_back(right[right.size() - (transposeRhs ? 2 : 1)]);
  AffineExpr m = b.dim(batch), n = b.dim(batch + 1), k = b.dim(batch + 2);

  auto operand = [&](Value value, AffineExpr first, AffineExpr second) -> Operand {
    ArrayRef<int64_t> own = shapeOf(value).drop_back(2);
    SmallVector<AffineExpr> exprs;
    for (size_t i = 0, skip = batch - own.size(); i < own.size(); ++i) {
      bool stretches = own[i] == 1 && shape[skip + i] != 1;
      exprs.push_back(stretches ? b.getAffineConstantExpr(0) : b.dim(skip + i));
    }
    exprs.append({first, second});
    return {value, b.mapOf(loops, exprs)};
  };
  Operand a = transposeLhs ? operand(lhs, k, m) : operand(lhs, m, k);
  Operand c = transposeRhs ? operand(rhs, n, k) : operand(rhs, k, n);
  SmallVector<IteratorType> iterators(loops, IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  return sumOfProducts(b, shape, b.mapOf(loops, b.dims(0, loops - 1)), {a, c}, iterators, signs);
}
