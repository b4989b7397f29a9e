// Elementwise ops on floats, one element at a time. NaN in gives NaN out, but where ONNX says
// otherwise: limits are written as
// selects on ordered comparisons, which let NaN through and cost one instruction.

#include "ElementwiseScalars.h"

#include "gantry/Linalg/Emitter.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

using Predicate = arith::CmpFPredicate;

namespace {
/// The operands of one op with the arithmetic that formulas are written in.
struct Formula {
  Emitter &b;
  Value x; ///< the first operand
  Type type = x.getType();

  Value c(double value) { return b.number(value, type); }
  Value c(const APFloat &value) { return c(value.convertToDouble()); }
  Value abs(Value v) { return b.math<math::AbsFOp>(v); }
  Value exp(Value v) { return b.math<math::ExpOp>(v); }
  Value expm1(Value v) { return b.math<math::ExpM1Op>(v); }
  Value minus(Value v) { return arith::NegFOp::create(b, v, b.mathFlags); }
  /// v < limit ? replacement : v, with NaN staying NaN.
  Value atLeast(Value v, double limit) {
    return b.select(b.compare(Predicate::OLT, v, c(limit)), c(limit), v);
  }
  Value atMost(Value v, double limit) {
    return b.select(b.compare(Predicate::OGT, v, c(limit)), c(limit), v);
  }
  Value isPositive() { return b.compare(Predicate::OGT, x, c(0)); }
  Value isNegative() { return b.compare(Predicate::OLT, x, c(0)); }

  Value sign() {
    // Zero and NaN are their own sign.
    Value below = b.select(isNegative(), c(-1), x);
    return b.select(isPositive(), c(1), below);
  }
  Value sigmoid() { return b.div(c(1), b.add(c(1), exp(minus(x)))); }
  /// max(x, 0) + log(1 + e^-|x|): the exponential never overflows, and nothing is lost below.
  Value softplus() { return b.add(atLeast(x, 0), b.math<math::Log1pOp>(exp(minus(abs(x))))); }
  Value gelu(bool approximate) {
    Value inner;
    if (approximate) {
      Value cube = b.mul(b.mul(x, x), b.mul(x, c(0.044715)));
      inner = b.math<math::TanhOp>(b.mul(c(0.7978845608028654), b.add(x, cube)));
    } else {
      inner = b.math<math::ErfOp>(b.mul(x, c(0.7071067811865476)));
    }
    return b.mul(b.mul(c(0.5), x), b.add(c(1), inner));
  }
  /// x above 0, otherwise alpha (e^x - 1).
  Value elu(Value alpha) { return b.select(isPositive(), x, b.mul(alpha, expm1(x))); }
  Value celu(double alpha) {
    Value low = b.mul(c(alpha), expm1(b.div(x, c(alpha))));
    return b.add(atLeast(x, 0), atMost(low, 0));
  }
  /// NaN is on neither side, as in ONNX.
  Value shrink(double bias, double lambda) {
    Value above = b.select(b.compare(Predicate::OGT, x, c(lambda)), b.sub(x, c(bias)), c(0));
    return b.select(b.compare(Predicate::OLT, x, c(-lambda)), b.add(x, c(bias)), above);
  }
  Value isInf(bool positive, bool negative) {
    double inf = std::numeric_limits<double>::infinity();
    if (positive && negative)
      return b.compare(Predicate::OEQ, abs(x), c(inf));
    if (!positive && !negative)
      return b.integer(0, b.getI1Type());
    return b.compare(Predicate::OEQ, x, c(positive ? inf : -inf));
  }
  /// The remainder with the sign of the divisor, from the one with the sign of the dividend.
  Value floorMod(Value y) {
    Value r = arith::RemFOp::create(b, x, y);
    // Not r * y < 0: the product may underflow.
    Value differ = arith::XOrIOp::create(b, b.compare(Predicate::OLT, r, c(0)),
                                         b.compare(Predicate::OLT, y, c(0)));
    Value wrong = b.both(differ, b.compare(Predicate::ONE, r, c(0)));
    // No remainder has the sign of the divisor, too.
    Value none = b.select(b.compare(Predicate::OLT, y, c(0)), c(-0.0), c(0));
    return b.select(b.compare(Predicate::OEQ, r, c(0)), none, b.select(wrong, b.add(r, y), r));
  }
  Value pow(PowOp op, Value y);
};
} // namespace

/// The exponents that models write most become multiplications; others call pow.
Value Formula::pow(PowOp op, Value y) {
  double exponent = 0;
  if (ElementsAttr elements = getConstantElements(op.getRhs()))
    if (auto dense = dyn_cast<DenseFPElementsAttr>(elements); dense && dense.isSplat()) {
      APFloat value = dense.getSplatValue<APFloat>();
      bool lossy;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
      exponent = value.convertToDouble();
    }
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return b.mul(x, x);
  if (exponent == 3)
    return b.mul(b.mul(x, x), x);
  if (exponent == -1)
    return b.div(c(1), x);
  if (exponent == 0.5) {
    // pow(-inf, 1/2) is inf, where the square root is NaN.
    double inf = std::numeric_limits<double>::infinity();
    Value isLowest = b.compare(Predicate::OEQ, x, c(-inf));
    return b.select(isLowest, c(inf), b.math<math::SqrtOp>(x));
  }
  return math::PowFOp::create(b, x, y, b.mathFlags);
}

/// Ops that are one op of the math dialect.
static Value emitMath(Operation *op, Emitter &b, Value x) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AbsOp) { return b.math<math::AbsFOp>(x); })
      .Case([&](ExpOp) { return b.math<math::ExpOp>(x); })
      .Case([&](Expm1Op) { return b.math<math::ExpM1Op>(x); })
      .Case([&](LogOp) { return b.math<math::LogOp>(x); })
      .Case([&](Log1pOp) { return b.math<math::Log1pOp>(x); })
      .Case([&](SqrtOp) { return b.math<math::SqrtOp>(x); })
      .Case([&](RsqrtOp) { return b.math<math::RsqrtOp>(x); })
      .Case([&](FloorOp) { return b.math<math::FloorOp>(x); })
      .Case([&](CeilOp) { return b.math<math::CeilOp>(x); })
      .Case([&](RoundOp) { return b.math<math::RoundEvenOp>(x); })
      .Case([&](TruncOp) { return b.math<math::TruncOp>(x); })
      .Case([&](SinOp) { return b.math<math::SinOp>(x); })
      .Case([&](CosOp) { return b.math<math::CosOp>(x); })
      .Case([&](TanOp) { return b.math<math::TanOp>(x); })
      .Case([&](AsinOp) { return b.math<math::AsinOp>(x); })
      .Case([&](AcosOp) { return b.math<math::AcosOp>(x); })
      .Case([&](AtanOp) { return b.math<math::AtanOp>(x); })
      .Case([&](SinhOp) { return b.math<math::SinhOp>(x); })
      .Case([&](CoshOp) { return b.math<math::CoshOp>(x); })
      .Case([&](TanhOp) { return b.math<math::TanhOp>(x); })
      .Case([&](AsinhOp) { return b.math<math::AsinhOp>(x); })
      .Case([&](AcoshOp) { return b.math<math::AcoshOp>(x); })
      .Case([&](AtanhOp) { return b.math<math::AtanhOp>(x); })
      .Case([&](ErfOp) { return b.math<math::ErfOp>(x); })
      .Default([](Operation *) { return Value(); });
}

/// Activations and the other functions of one operand.
static Value emitUnary(Operation *op, Formula f) {
  Emitter &b = f.b;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](NegOp) { return f.minus(f.x); })
      .Case([&](SignOp) { return f.sign(); })
      .Case([&](ReciprocalOp) { return b.div(f.c(1), f.x); })
      .Case([&](ReluOp) { return f.atLeast(f.x, 0); })
      .Case([&](SigmoidOp) { return f.sigmoid(); })
      .Case([&](SiluOp) { return b.mul(f.x, f.sigmoid()); })
      .Case([&](SoftplusOp) { return f.softplus(); })
      .Case([&](SoftsignOp) { return b.div(f.x, b.add(f.c(1), f.abs(f.x))); })
      .Case([&](MishOp) { return b.mul(f.x, b.math<math::TanhOp>(f.softplus())); })
      .Case([&](HardSwishOp) {
        Value line = b.add(b.mul(f.x, f.c(1.0 / 6)), f.c(0.5));
        return b.mul(f.x, f.atMost(f.atLeast(line, 0), 1));
      })
      .Case([&](HardSigmoidOp o) {
        Value line = b.add(b.mul(f.x, f.c(o.getAlpha())), f.c(o.getBeta()));
        return f.atMost(f.atLeast(line, 0), 1);
      })
      .Case([&](GeluOp o) { return f.gelu(o.getApproximate()); })
      .Case([&](EluOp o) { return f.elu(f.c(o.getAlpha())); })
      .Case([&](CeluOp o) { return f.celu(o.getAlpha().convertToDouble()); })
      .Case([&](SeluOp o) { return b.mul(f.c(o.getGamma()), f.elu(f.c(o.getAlpha()))); })
      .Case([&](LeakyReluOp o) {
        return b.select(f.isNegative(), b.mul(f.c(o.getAlpha()), f.x), f.x);
      })
      .Case([&](ThresholdedReluOp o) {
        // NaN is not above alpha, and ONNX says "otherwise 0".
        return b.select(b.compare(Predicate::OGT, f.x, f.c(o.getAlpha())), f.x, f.c(0));
      })
      .Case([&](ShrinkOp o) {
        return f.shrink(o.getBias().convertToDouble(), o.getLambda().convertToDouble());
      })
      .Case([&](IsNanOp) { return b.compare(Predicate::UNO, f.x, f.x); })
      .Case([&](IsInfOp o) { return f.isInf(!o.getNoPositive(), !o.getNoNegative()); })
      .Default([](Operation *) { return Value(); });
}

/// Functions of two or more operands.
static Value emitMore(Operation *op, Formula f, ValueRange x) {
  Emitter &b = f.b;
  return TypeSwitch<Operation *, Value>(op)
      .Case<AddOp, UpdateAddOp>([&](auto) { return b.add(x[0], x[1]); })
      .Case([&](SubOp) { return b.sub(x[0], x[1]); })
      .Case([&](MulOp) { return b.mul(x[0], x[1]); })
      .Case([&](DivOp) { return b.div(x[0], x[1]); })
      .Case([&](RemOp) { return arith::RemFOp::create(b, x[0], x[1]).getResult(); })
      .Case([&](ModOp) { return f.floorMod(x[1]); })
      .Case([&](PowOp o) { return f.pow(o, x[1]); })
      .Case([&](MaximumOp) { return b.maximum(x[0], x[1]); })
      .Case([&](MinimumOp) { return b.minimum(x[0], x[1]); })
      .Case([&](PreluOp) { return b.select(f.isNegative(), b.mul(x[0], x[1]), x[0]); })
      .Case([&](ClampOp) { return b.minimum(b.maximum(x[0], x[1]), x[2]); })
      .Case([&](AddNOp) {
        Value sum = x[0];
        for (Value next : x.drop_front())
          sum = b.add(sum, next);
        return sum;
      })
      .Default([](Operation *) { return Value(); });
}

Value gantry::emitFloatScalar(Operation *op, Emitter &b, ValueRange x) {
  if (Value value = emitMath(op, b, x[0]))
    return value;
  Formula formula{b, x[0]};
  if (Value value = emitUnary(op, formula))
    return value;
  return emitMore(op, formula, x);
}
