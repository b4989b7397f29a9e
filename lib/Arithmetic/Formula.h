// The words that formulas of functions are written in: arithmetic on numbers or vectors of f32 or
// f64.
//
// Each word is one IEEE operation, rounded once and without fast-math flags, so that what a formula
// gives is the same number on every target and for every width of vectors. There are no branches:
// both sides of a choice are computed. A formula serves both formats; where they need other
// constants it names two, f32 first.
//
// No conversion to an integer sees NaN or infinity, whose results would be poison: integers are
// read from the bits of numbers.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace gantry::arithmetic {

using Value = mlir::Value;

/// A number as the sum of two, the second of which is small against the first.
struct Pair {
  Value high, low;
};

/// x = 2^exponent (1 + fraction) with 1 + fraction between sqrt(1/2) and sqrt(2).
struct Binary {
  Value exponent, fraction;
  Value inverse; ///< 2^-exponent
};

/// x = n ln 2 + rest, with rest within ln 2 / 2.
struct Cut {
  Value power; ///< 2^n
  Pair rest;
};

/// e^x = 2^n (1 + tail), with n + `added` + bias in the lowest bits of `exponent`.
struct Power {
  Value exponent, tail;
};

/// An angle within pi/4 of a multiple of pi/2, which is counted modulo 4 in the lowest bits.
struct Angle {
  Pair rest;
  Value quadrant;
};

class Formula {
public:
  using Predicate = mlir::arith::CmpFPredicate;
  using Coefficients = llvm::ArrayRef<double>;

  /// For results of `type`.
  Formula(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : b(loc, builder), type(type), isWide(mlir::getElementTypeOrSelf(type).isF64()) {}

  //===--- The functions ---------------------------------------------------------------------===//

  Value exp(Value x);
  /// The same bits for x that is at most 0, or NaN.
  Value expAtMostZero(Value x);
  Value expm1(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value rsqrt(Value x) { return div(c(1), sqrt(x)); }
  Value pow(Value x, Value y);
  Value rem(Value x, Value y);

  //===--- Constants -------------------------------------------------------------------------===//

  Value c(double value) {
    return splat(b.getFloatAttr(mlir::getElementTypeOrSelf(type), value), type);
  }
  Value c(double narrow, double wide) { return c(isWide ? wide : narrow); }
  Value i(int64_t value) {
    return splat(b.getIntegerAttr(mlir::getElementTypeOrSelf(bitsType()), value), bitsType());
  }
  Pair ln2() {
    return {c(0x1.62e43p-1, 0x1.62e42fefa39efp-1), c(-0x1.05c61p-29, 0x1.abc9e3b39803fp-56)};
  }
  Pair halfPi() {
    return {c(0x1.921fb6p+0, 0x1.921fb54442d18p+0), c(-0x1.777a5cp-25, 0x1.1a62633145c07p-54)};
  }
  /// Binary digits after the leading one, and what exponents are stored with.
  int64_t mantissa() const { return isWide ? 52 : 23; }
  int64_t bias() const { return isWide ? 1023 : 127; }
  /// 3 * 2^(mantissa - 1): added to it, a number becomes an integer that stands in the lowest bits.
  double shifter() const { return isWide ? 0x1.8p52 : 0x1.8p23; }

  //===--- One operation ---------------------------------------------------------------------===//

  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value fma(Value x, Value y, Value z) { return mlir::math::FmaOp::create(b, x, y, z); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value trunc(Value x) { return mlir::math::TruncOp::create(b, x); }
  Value roundEven(Value x) { return mlir::math::RoundEvenOp::create(b, x); }
  Value withSignOf(Value x, Value sign) { return mlir::math::CopySignOp::create(b, x, sign); }
  /// All false for NaN.
  Value less(Value x, Value y) { return is(Predicate::OLT, x, y); }
  Value greater(Value x, Value y) { return is(Predicate::OGT, x, y); }
  Value equal(Value x, Value y) { return is(Predicate::OEQ, x, y); }
  Value eitherIsNaN(Value x, Value y) { return is(Predicate::UNO, x, y); }
  Value both(Value p, Value q) { return mlir::arith::AndIOp::create(b, p, q); }
  Value either(Value p, Value q) { return mlir::arith::OrIOp::create(b, p, q); }
  Value differ(Value p, Value q) { return mlir::arith::XOrIOp::create(b, p, q); }
  Value select(Value condition, Value x, Value y) {
    return mlir::arith::SelectOp::create(b, condition, x, y);
  }

  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, bitsType(), x); }
  Value number(Value bits) { return mlir::arith::BitcastOp::create(b, type, bits); }
  Value addBits(Value x, Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  Value subBits(Value x, Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  Value mulBits(Value x, Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  Value andBits(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  Value flipBits(Value x, Value y) { return mlir::arith::XOrIOp::create(b, x, y); }
  Value shiftLeft(Value x, int64_t by) { return mlir::arith::ShLIOp::create(b, x, i(by)); }
  Value shiftRight(Value x, int64_t by) { return mlir::arith::ShRUIOp::create(b, x, i(by)); }
  Value atLeastBits(Value x, int64_t least) { return mlir::arith::MaxSIOp::create(b, x, i(least)); }
  Value isSet(Value bits, int64_t mask) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ne, andBits(bits, i(mask)),
                                       i(0));
  }

  //===--- Some operations -------------------------------------------------------------------===//

  Value square(Value x) { return mul(x, x); }
  /// NaN stays NaN.
  Value atLeast(Value x, Value least) { return select(less(x, least), least, x); }
  Value atMost(Value x, Value most) { return select(greater(x, most), most, x); }
  /// Highest coefficient first.
  Value polynomial(Value x, Coefficients narrow, Coefficients wide) {
    Coefficients coefficients = isWide ? wide : narrow;
    Value sum = c(coefficients.front());
    for (double next : coefficients.drop_front())
      sum = fma(sum, x, c(next));
    return sum;
  }
  /// x + y and what rounding took, for any x and y (Knuth).
  Pair twoSum(Value x, Value y) {
    Value sum = add(x, y), part = sub(sum, x);
    return {sum, add(sub(x, sub(sum, part)), sub(y, part))};
  }
  /// Likewise where x is 0 or not smaller than y (Dekker).
  Pair fastTwoSum(Value x, Value y) {
    Value sum = add(x, y);
    return {sum, sub(y, sub(sum, x))};
  }
  /// x y and what rounding took.
  Pair twoProduct(Value x, Value y) {
    Value product = mul(x, y);
    return {product, fma(x, y, neg(product))};
  }

private:
  mlir::ImplicitLocOpBuilder b;
  mlir::Type type;
  bool isWide;

  mlir::Type bitsType() {
    mlir::Type integer = isWide ? b.getI64Type() : b.getI32Type();
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(integer)) : integer;
  }
  Value splat(mlir::TypedAttr scalar, mlir::Type type) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return mlir::arith::ConstantOp::create(
          b, mlir::DenseElementsAttr::get(vector, mlir::Attribute(scalar)));
    return mlir::arith::ConstantOp::create(b, scalar);
  }
  Value is(Predicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }

  // Parts that several functions share, each in the file of its subject.
  Value scaledExp(Pair x, double least, double most, int64_t halvings);
  Power powerOf(Value clamped, Value low, int64_t added);
  Cut cut(Value x, int64_t halvings);
  Binary split(Value x, Value isScaled);
  Value logOf(const Binary &x);
  Value logOfOnePlus(Pair v, Value isHuge);
  Pair preciseLog(Value x);
  Angle reduce(Value x);
  Value sinOf(Pair r);
  Value cosOf(Pair r);
  Value asinTail(Value x, Value z);
  Value storedExponent(Value positive);
  Value divideStep(Value dividend, Value divisor, Value divisorExponent);
};

} // namespace gantry::arithmetic
