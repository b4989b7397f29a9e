// pow: e^(y log|x|), the logarithm and the product in pairs of numbers, then the cases of C99's
// annex F.

#include "Formula.h"

#include <limits>

using namespace gantry::arithmetic;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Value Formula::pow(Value x, Value y) {
  Value size = abs(x), zero = c(0), one = c(1);
  Pair logarithm = preciseLog(size);
  Pair exponent = twoProduct(y, logarithm.high);
  exponent.low = fma(y, logarithm.low, exponent.low);
  // The exponent of 1 is 0 for every y, which an infinite one would spoil.
  Value result = scaledExp(exponent, isWide ? -746 : -105, isWide ? 710 : 89, 0);
  result = select(equal(size, one), one, result);

  // 0 and infinity change places where y is negative.
  Value isNegativePower = less(y, zero);
  result = select(equal(size, zero), select(isNegativePower, c(kInf), zero), result);
  result = select(equal(size, c(kInf)), select(isNegativePower, zero, c(kInf)), result);

  // Odd powers keep the sign; of negative finite numbers only whole powers are numbers.
  Value half = mul(y, c(0.5));
  Value isWhole = equal(trunc(y), y), halfIsWhole = equal(trunc(half), half);
  result = select(isWhole, select(halfIsWhole, result, withSignOf(result, x)),
                  select(both(less(x, zero), less(size, c(kInf))), c(kNaN), result));

  result = select(eitherIsNaN(x, y), c(kNaN), result);
  return select(either(equal(y, zero), equal(x, one)), one, result);
}
