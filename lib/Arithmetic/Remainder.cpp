// The remainder of a division, exact for every quotient, with the sign of the dividend.
//
// Long division with digits of as many bits as a number has: the divisor is scaled to just below
// the dividend, so that the digit and what it leaves are numbers. As quotients are mostly small, a
// loop ends after the first digit or two, where steps for all 2^11 exponents would take a hundred
// times as long.

#include "Formula.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using gantry::arithmetic::Formula;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The exponent as stored, and on below 1 for subnormal numbers.
Value Formula::storedExponent(Value positive) {
  Value isSmall = less(positive, c(0x1p-126, 0x1p-1022));
  Value normal = select(isSmall, mul(positive, c(0x1p23, 0x1p52)), positive);
  return subBits(shiftRight(bits(normal), mantissa()), select(isSmall, i(mantissa()), i(0)));
}

/// What one digit of the quotient leaves; a dividend below the divisor stays.
Value Formula::divideStep(Value dividend, Value divisor, Value divisorExponent) {
  Value shift = subBits(subBits(storedExponent(dividend), divisorExponent), i(mantissa() - 1));
  shift = atLeastBits(shift, 0);
  // In two factors, since the whole may be beyond all powers.
  Value half = shiftRight(shift, 1);
  auto power = [&](Value exponent) {
    return number(shiftLeft(addBits(exponent, i(bias())), mantissa()));
  };
  Value scaled = mul(mul(divisor, power(half)), power(subBits(shift, half)));
  Value digit = trunc(div(dividend, scaled));
  Value rest = fma(neg(digit), scaled, dividend);
  // The quotient may have been rounded up to the next integer.
  return select(less(rest, c(0)), add(rest, scaled), rest);
}

Value Formula::rem(Value x, Value y) {
  Value size = abs(x), divisor = abs(y);
  Value isDefined = both(less(size, c(kInf)), greater(divisor, c(0)));
  Value dividend = select(isDefined, size, c(0));
  divisor = select(isDefined, divisor, c(1));
  Value divisorExponent = storedExponent(divisor);

  auto hasMore = [&](OpBuilder &, Location, ValueRange rest) {
    Value isMore = is(Predicate::OGE, rest[0], divisor);
    if (isa<VectorType>(isMore.getType()))
      isMore = vector::ReductionOp::create(b, vector::CombiningKind::OR, isMore);
    scf::ConditionOp::create(b, isMore, rest);
  };
  auto next = [&](OpBuilder &, Location, ValueRange rest) {
    scf::YieldOp::create(b, divideStep(rest[0], divisor, divisorExponent));
  };
  // The builder itself is handed on, so that the words above work inside the loop.
  auto loop = scf::WhileOp::create(b, TypeRange(type), ValueRange(dividend), hasMore, next);
  return select(isDefined, withSignOf(loop.getResult(0), x), c(kNaN));
}
