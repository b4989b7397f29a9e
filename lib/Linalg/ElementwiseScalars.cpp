// Chooses how an element is computed, and the ops whose operands are of several types: compare,
// select and cast.

#include "ElementwiseScalars.h"

#include "gantry/Linalg/Emitter.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// To an integer of 16 bits or fewer by one of 32, which fits all that is left between its ends.
static Value floatToShort(Emitter &b, Value x, IntegerType to, bool isUnsigned) {
  using Predicate = arith::CmpFPredicate;
  const int64_t bits = to.getWidth();
  Value low = b.number(isUnsigned ? 0 : -std::ldexp(1.0, bits - 1), x.getType());
  Value high = b.number(std::ldexp(1.0, isUnsigned ? bits : bits - 1) - 1, x.getType());
  // NaN is below no number, so it becomes the lower end: 0, unless there are signs.
  if (!isUnsigned)
    x = b.select(b.compare(Predicate::UNO, x, x), b.number(0, x.getType()), x);
  x = b.select(b.compare(Predicate::OGT, x, low), x, low);
  x = b.select(b.compare(Predicate::OLT, x, high), x, high);
  Value number = arith::FPToSIOp::create(b, b.getI32Type(), x);
  return arith::TruncIOp::create(b, signless(to), number);
}

/// Rounds toward zero, saturates at the ends of the type, and gives 0 for NaN. Only numbers that
/// fit reach the conversion, whose result is undefined for others.
static Value floatToInteger(Emitter &b, Value x, IntegerType to, bool isUnsigned) {
  using Predicate = arith::CmpFPredicate;
  Type storage = signless(to);
  unsigned width = to.getWidth();
  if (width <= 16 && width > 1)
    return floatToShort(b, x, to, isUnsigned);
  // Both are powers of two, so exact in f32 and f64; the upper one is the first that is too large.
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double end = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Value tooHigh = b.compare(Predicate::OGE, x, b.number(end, x.getType()));
  Value tooLow = b.compare(Predicate::OLE, x, b.number(low, x.getType()));
  Value isNan = b.compare(Predicate::UNO, x, x);
  Value outside = b.either(b.either(tooHigh, tooLow), isNan);
  Value safe = b.select(outside, b.number(0, x.getType()), x);
  Value result = isUnsigned ? Value(arith::FPToUIOp::create(b, storage, safe))
                            : Value(arith::FPToSIOp::create(b, storage, safe));
  result = b.select(tooHigh, b.highest(storage, isUnsigned), result);
  return b.select(tooLow, b.lowest(storage, isUnsigned), result);
}

static Value integerToFloat(Emitter &b, Value x, bool isUnsigned, Type to) {
  Type wide = computeType(to);
  Value result = isUnsigned ? Value(arith::UIToFPOp::create(b, wide, x))
                            : Value(arith::SIToFPOp::create(b, wide, x));
  return wide == to ? result : Value(arith::TruncFOp::create(b, to, result));
}

/// Through f32 where f16 or bf16 take part.
static Value floatToFloat(Emitter &b, Value x, Type to) {
  auto step = [&](Type next) {
    unsigned from = x.getType().getIntOrFloatBitWidth(), width = next.getIntOrFloatBitWidth();
    if (x.getType() != next)
      x = from < width ? Value(arith::ExtFOp::create(b, next, x))
                       : Value(arith::TruncFOp::create(b, next, x));
  };
  step(computeType(x.getType()));
  step(computeType(to));
  step(to);
  return x;
}

static Value integerToInteger(Emitter &b, Value x, bool isUnsigned, Type to) {
  unsigned from = x.getType().getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  if (from > width)
    return arith::TruncIOp::create(b, to, x);
  if (from == width)
    return x;
  return isUnsigned ? Value(arith::ExtUIOp::create(b, to, x))
                    : Value(arith::ExtSIOp::create(b, to, x));
}

Value gantry::emitCast(Emitter &b, Value x, Type from, Type to) {
  if (from == to)
    return x;
  bool toFloat = isa<FloatType>(to);
  if (isa<FloatType>(from)) {
    if (toFloat)
      return floatToFloat(b, x, to);
    x = b.widen(x);
    if (to.isInteger(1))
      return b.compare(arith::CmpFPredicate::UNE, x, b.number(0, x.getType()));
    return floatToInteger(b, x, cast<IntegerType>(to), isUnsigned(to));
  }
  if (toFloat)
    return integerToFloat(b, x, isUnsigned(from), to);
  if (to.isInteger(1))
    return b.compare(arith::CmpIPredicate::ne, x, b.integer(0, x.getType()));
  return integerToInteger(b, x, isUnsigned(from), signless(to));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static arith::CmpFPredicate floatPredicate(CompareDirection direction) {
  using Predicate = arith::CmpFPredicate;
  switch (direction) {
  case CompareDirection::EQ:
    return Predicate::OEQ;
  case CompareDirection::NE:
    return Predicate::UNE;
  case CompareDirection::LT:
    return Predicate::OLT;
  case CompareDirection::LE:
    return Predicate::OLE;
  case CompareDirection::GT:
    return Predicate::OGT;
  case CompareDirection::GE:
    return Predicate::OGE;
  }
  llvm_unreachable("all directions are listed");
}

static arith::CmpIPredicate integerPredicate(CompareDirection direction, bool isUnsigned) {
  using Predicate = arith::CmpIPredicate;
  switch (direction) {
  case CompareDirection::EQ:
    return Predicate::eq;
  case CompareDirection::NE:
    return Predicate::ne;
  case CompareDirection::LT:
    return isUnsigned ? Predicate::ult : Predicate::slt;
  case CompareDirection::LE:
    return isUnsigned ? Predicate::ule : Predicate::sle;
  case CompareDirection::GT:
    return isUnsigned ? Predicate::ugt : Predicate::sgt;
  case CompareDirection::GE:
    return isUnsigned ? Predicate::uge : Predicate::sge;
  }
  llvm_unreachable("all directions are listed");
}

static Value emitCompare(CompareOp op, Emitter &b, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return b.compare(floatPredicate(op.getDirection()), b.widen(lhs), b.widen(rhs));
  bool sign = isUnsigned(op.getLhs().getType());
  return b.compare(integerPredicate(op.getDirection(), sign), lhs, rhs);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

Value gantry::emitScalar(Operation *op, OpBuilder &builder, Location loc, ValueRange scalars) {
  Emitter b(loc, builder);
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<CastOp>(op))
    return emitCast(b, scalars[0], from, to);
  if (isa<DropoutOp, UpdateOp>(op))
    return scalars[0];
  if (isa<SelectOp>(op))
    return b.select(scalars[0], scalars[1], scalars[2]);
  if (auto compare = dyn_cast<CompareOp>(op))
    return emitCompare(compare, b, scalars[0], scalars[1]);
  if (!isa<FloatType>(from))
    return emitIntegerScalar(op, b, scalars, isUnsigned(from));
  auto wide = llvm::map_to_vector(scalars, [&](Value x) { return b.widen(x); });
  Value result = emitFloatScalar(op, b, wide);
  return result && isa<FloatType>(to) ? b.narrow(result, to) : result;
}
