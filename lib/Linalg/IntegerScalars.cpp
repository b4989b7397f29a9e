// Elementwise ops on integers, one element at a time. Arithmetic wraps; nothing traps: divisors are
// replaced before the division where the machine would fault, and shift counts before the shift.

#include "ElementwiseScalars.h"

#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/LoopBuilder.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

using Predicate = arith::CmpIPredicate;

namespace {
struct IntegerFormula {
  Emitter &b;
  ValueRange x;
  bool isUnsigned;
  Type type = x[0].getType();

  Value c(int64_t value) { return b.integer(value, type); }
  Value isZero(Value v) { return b.compare(Predicate::eq, v, c(0)); }
  Value isNegative(Value v) {
    return isUnsigned ? b.integer(0, b.getI1Type()) : b.compare(Predicate::slt, v, c(0));
  }
  Value minus(Value v) { return b.sub(c(0), v); }
  Value abs() { return b.select(isNegative(x[0]), minus(x[0]), x[0]); }
  Value sign() {
    Value one = b.select(isZero(x[0]), c(0), c(1));
    return b.select(isNegative(x[0]), c(-1), one);
  }

  /// The divisor, or 1 where dividing by it would trap: 0, and -1 under the least integer. The
  /// least integer over 1 is the wrapped quotient, and its remainder 0 is the right one.
  Value divisor() {
    Value unsafe = isZero(x[1]);
    if (!isUnsigned) {
      Value overflow = b.both(b.compare(Predicate::eq, x[0], b.lowest(type, false)),
                              b.compare(Predicate::eq, x[1], c(-1)));
      unsafe = b.either(unsafe, overflow);
    }
    return b.select(unsafe, c(1), x[1]);
  }
  Value quotient() {
    Value d = divisor();
    Value q = isUnsigned ? Value(arith::DivUIOp::create(b, x[0], d))
                         : Value(arith::DivSIOp::create(b, x[0], d));
    return b.select(isZero(x[1]), c(0), q);
  }
  /// 0 where the divisor is 0, since then it is divided by 1.
  Value remainder() {
    Value d = divisor();
    return isUnsigned ? Value(arith::RemUIOp::create(b, x[0], d))
                      : Value(arith::RemSIOp::create(b, x[0], d));
  }
  Value floorMod() {
    Value r = remainder();
    if (isUnsigned)
      return r;
    Value differ = arith::XOrIOp::create(b, isNegative(r), isNegative(x[1]));
    Value wrong = b.both(differ, b.compare(Predicate::ne, r, c(0)));
    return b.select(wrong, b.add(r, x[1]), r);
  }

  /// Counts outside [0, width) give 0; the shift itself then gets a count it is defined for.
  Value shift(bool left) {
    Value inside = b.compare(Predicate::ult, x[1], c(type.getIntOrFloatBitWidth()));
    Value count = b.select(inside, x[1], c(0));
    Value shifted = left         ? Value(arith::ShLIOp::create(b, x[0], count))
                    : isUnsigned ? Value(arith::ShRUIOp::create(b, x[0], count))
                                 : Value(arith::ShRSIOp::create(b, x[0], count));
    return b.select(inside, shifted, c(0));
  }

  Value pow();
  /// In f64, since the attributes are real numbers.
  Value shrink(ShrinkOp op);
};
} // namespace

/// Square and multiply over the bits of the exponent; negative exponents give 1 / a^|b| rounded
/// toward zero, which is 0 unless a is 1 or -1.
Value IntegerFormula::pow() {
  unsigned width = type.getIntOrFloatBitWidth();
  auto round = [&](Value, ValueRange carried) -> SmallVector<Value> {
    Value power = carried[0], base = carried[1], rest = carried[2];
    Value odd = b.compare(Predicate::ne, b.both(rest, c(1)), c(0));
    power = b.select(odd, b.mul(power, base), power);
    return {power, b.mul(base, base), arith::ShRUIOp::create(b, rest, c(1))};
  };
  Value power = LoopBuilder(b).loop(0, width, 1, {c(1), x[0], x[1]}, round)[0];
  if (isUnsigned)
    return power;
  Value isOne = b.compare(Predicate::eq, x[0], c(1));
  Value isMinusOne = b.compare(Predicate::eq, x[0], c(-1));
  Value odd = b.compare(Predicate::ne, b.both(x[1], c(1)), c(0));
  Value inverse = b.select(isMinusOne, b.select(odd, c(-1), c(1)), b.select(isOne, c(1), c(0)));
  return b.select(isNegative(x[1]), inverse, power);
}

Value IntegerFormula::shrink(ShrinkOp op) {
  Type from = getElementTypeOrSelf(op.getInput().getType()), wide = b.getF64Type();
  Value v = emitCast(b, x[0], from, wide);
  Value lambda = b.number(op.getLambda().convertToDouble(), wide);
  Value bias = b.number(op.getBias().convertToDouble(), wide);
  Value low =
      b.compare(arith::CmpFPredicate::OLT, v, b.number(-op.getLambda().convertToDouble(), wide));
  Value high = b.compare(arith::CmpFPredicate::OGT, v, lambda);
  Value result = b.select(high, b.sub(v, bias), b.number(0, wide));
  return emitCast(b, b.select(low, b.add(v, bias), result), wide, from);
}

Value gantry::emitIntegerScalar(Operation *op, Emitter &b, ValueRange x, bool isUnsigned) {
  IntegerFormula f{b, x, isUnsigned};
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AbsOp) { return f.abs(); })
      .Case([&](NegOp) { return f.minus(x[0]); })
      .Case([&](SignOp) { return f.sign(); })
      .Case([&](ReluOp) { return b.select(f.isNegative(x[0]), f.c(0), x[0]); })
      .Case([&](ShrinkOp o) { return f.shrink(o); })
      .Case([&](BitwiseNotOp) { return arith::XOrIOp::create(b, x[0], f.c(-1)).getResult(); })
      .Case<AddOp, UpdateAddOp>([&](auto) { return b.add(x[0], x[1]); })
      .Case([&](SubOp) { return b.sub(x[0], x[1]); })
      .Case([&](MulOp) { return b.mul(x[0], x[1]); })
      .Case([&](DivOp) { return f.quotient(); })
      .Case([&](RemOp) { return f.remainder(); })
      .Case([&](ModOp) { return f.floorMod(); })
      .Case([&](PowOp) { return f.pow(); })
      .Case([&](MaximumOp) { return b.maximum(x[0], x[1], isUnsigned); })
      .Case([&](MinimumOp) { return b.minimum(x[0], x[1], isUnsigned); })
      .Case([&](PreluOp) { return b.select(f.isNegative(x[0]), b.mul(x[0], x[1]), x[0]); })
      .Case([&](ClampOp) { return b.minimum(b.maximum(x[0], x[1], isUnsigned), x[2], isUnsigned); })
      .Case([&](AddNOp) {
        Value sum = x[0];
        for (Value next : x.drop_front())
          sum = b.add(sum, next);
        return sum;
      })
      .Case<LogicalAndOp, BitwiseAndOp>([&](auto) { return b.both(x[0], x[1]); })
      .Case<LogicalOrOp, BitwiseOrOp>([&](auto) { return b.either(x[0], x[1]); })
      .Case<LogicalXorOp, BitwiseXorOp>(
          [&](auto) { return arith::XOrIOp::create(b, x[0], x[1]).getResult(); })
      .Case([&](LogicalNotOp) { return b.negate(x[0]); })
      .Case([&](ShiftLeftOp) { return f.shift(/*left=*/true); })
      .Case([&](ShiftRightOp) { return f.shift(/*left=*/false); })
      .Default([](Operation *) { return Value(); });
}
