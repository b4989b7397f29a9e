// log and what is made of it: log1p and the inverse hyperbolic functions, and the precise log of
// pow.
//
// f32 takes the polynomial in the fraction that Cephes does (Moshier, logf.c), f64 the one in
// s = f / (2 + f) of fdlibm (Sun, e_log.c), with coefficients from tools/dev/fit_arithmetic.py.

#include "Formula.h"

#include <limits>

using namespace gantry::arithmetic;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Of a positive normal number; where `isScaled`, if given, it is 2^mantissa times the one that is
/// meant.
Binary Formula::split(Value x, Value isScaled) {
  // Counted from sqrt(1/2), the number's leading digits are those of the exponent.
  int64_t start = isWide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value counted = subBits(bits(x), i(start - (bias() << mantissa())));
  Value stored = shiftRight(counted, mantissa());
  Value m = number(addBits(andBits(counted, i((int64_t(1) << mantissa()) - 1)), i(start)));
  // As a number: the lowest bits of one whose unit is 1.
  Value exponent = sub(number(addBits(stored, bits(c(shifter())))), c(shifter() + double(bias())));
  if (isScaled)
    exponent = sub(exponent, select(isScaled, c(double(mantissa())), c(0)));
  Value inverse = number(shiftLeft(subBits(i(2 * bias()), stored), mantissa()));
  return {exponent, sub(m, c(1)), inverse};
}

/// exponent ln 2 + log(1 + f)
Value Formula::logOf(const Binary &x) {
  Value f = x.fraction, squared = square(f), rest;
  if (isWide) {
    Value s = div(f, add(f, c(2))), z = square(s), half = mul(squared, c(0.5));
    // R = 2 atanh(s) / s - 2, and 2s = f - s f.
    Value r = mul(z, polynomial(z, {},
                                {0.14798660646708126, 0.15313797909371368, 0.18183573452168098,
                                 0.22222198412753877, 0.28571428743794219, 0.39999999999409108,
                                 0.66666666666667351}));
    rest = sub(fma(x.exponent, ln2().low, mul(s, add(half, r))), half);
  } else {
    Value p = polynomial(f,
                         {0.053162571, -0.109268121, 0.121099606, -0.12546438, 0.142097384,
                          -0.16659534, 0.200022206, -0.250001639, 0.333333135},
                         {});
    rest = fma(squared, c(-0.5), fma(x.exponent, ln2().low, mul(mul(p, f), squared)));
  }
  return fma(x.exponent, ln2().high, add(f, rest));
}

Value Formula::log(Value x) {
  // A subnormal number is made normal.
  Value isSmall = less(x, c(0x1p-126, 0x1p-1022));
  Value normal = select(isSmall, mul(x, c(0x1p23, 0x1p52)), x);
  Value result = logOf(split(normal, isSmall));
  // Infinity and NaN are their own logarithms; the others are those of no number.
  result = select(less(x, c(kInf)), result, x);
  result = select(less(x, c(0)), c(kNaN), result);
  return select(equal(x, c(0)), c(-kInf), result);
}

/// log(1 + v), or log(v) where it is huge, if it can be. What 1 + v loses goes into the fraction.
/// Of no use for v <= -1, infinity and NaN.
Value Formula::logOfOnePlus(Pair v, Value isHuge) {
  Pair u = twoSum(c(1), v.high);
  Value rest = v.low ? add(u.low, v.low) : u.low;
  Binary parts = split(isHuge ? select(isHuge, v.high, u.high) : u.high, {});
  Value fraction = fma(rest, parts.inverse, parts.fraction);
  parts.fraction = isHuge ? select(isHuge, parts.fraction, fraction) : fraction;
  return logOf(parts);
}

Value Formula::log1p(Value x) {
  Value result = logOfOnePlus({x, {}}, greater(x, c(0x1p60)));
  result = select(less(x, c(kInf)), result, x);
  result = select(less(x, c(-1)), c(kNaN), result);
  result = select(equal(x, c(-1)), c(-kInf), result);
  return select(less(abs(x), c(0x1p-60)), x, result);
}

/// log(1 + (x + x^2 / (1 + sqrt(1 + x^2)))); from 2^30 on log(2x).
Value Formula::asinh(Value x) {
  Value size = abs(x), isHuge = greater(size, c(0x1p30));
  Value usual = select(isHuge, c(1), size);
  Value z = square(usual);
  Pair v = twoSum(usual, div(z, add(sqrt(add(z, c(1))), c(1))));
  v = {select(isHuge, size, v.high), v.low};
  Value result = logOfOnePlus(v, isHuge);
  result = add(result, select(isHuge, ln2().high, c(0)));
  result = select(less(size, c(0x1p-30)), size, result);
  return withSignOf(select(less(size, c(kInf)), result, size), x);
}

/// log(1 + (t + sqrt(2t + t^2))) with t = x - 1; from 2^30 on log(2x).
Value Formula::acosh(Value x) {
  Value isHuge = greater(x, c(0x1p30));
  Value t = sub(select(isHuge, c(2), x), c(1));
  Value root = sqrt(fma(t, t, add(t, t)));
  Pair v = twoSum(t, root);
  v = {select(isHuge, x, v.high), v.low};
  Value result = logOfOnePlus(v, isHuge);
  result = add(result, select(isHuge, ln2().high, c(0)));
  result = select(less(x, c(kInf)), result, x);
  return select(less(x, c(1)), c(kNaN), result);
}

/// log(1 + 2x / (1 - x)) / 2, the quotient with its rest.
Value Formula::atanh(Value x) {
  Value size = abs(x), isOutside = greater(size, c(1));
  Value d = sub(c(1), size), lost = sub(sub(c(1), d), size);
  Value inverse = div(c(1), d), twice = add(size, size);
  Value quotient = mul(twice, inverse);
  Value rest = fma(neg(quotient), lost, fma(neg(quotient), d, twice));
  Value result = mul(logOfOnePlus({quotient, mul(rest, inverse)}, {}), c(0.5));
  result = select(less(size, c(0x1p-30)), size, result);
  result = select(equal(size, c(1)), c(kInf), result);
  result = select(isOutside, c(kNaN), result);
  return withSignOf(select(eitherIsNaN(x, x), x, result), x);
}

/// Of a positive number, as a sum of two whose error is about 2^-12 units in the last place of the
/// first: e ln 2 + 2 s + 2/3 s^3 + s^5 L(s^2) with s = f / (2 + f), all but the last term in pairs.
Pair Formula::preciseLog(Value x) {
  Value isSmall = less(x, c(0x1p-126, 0x1p-1022));
  Value normal = select(isSmall, mul(x, c(0x1p23, 0x1p52)), x);
  Binary parts = split(normal, isSmall);
  Value f = parts.fraction, e = parts.exponent;
  Value d = add(f, c(2)), dLow = sub(f, sub(d, c(2)));
  Value inverse = div(c(1), d), s = mul(f, inverse);
  Value sLow = mul(fma(neg(s), dLow, fma(neg(s), d, f)), inverse);
  Pair z = twoProduct(s, s);
  z.low = fma(add(s, s), sLow, z.low);
  Value tail =
      mul(z.high, polynomial(z.high, {0.234199002, 0.285470843, 0.400001526},
                             {0.12027106251975428, 0.10279177348487037, 0.11777257093678167,
                              0.13332960176769484, 0.15384622181777985, 0.18181818106048034,
                              0.22222222222716423, 0.28571428571426888, 0.40000000000000002}));
  Pair w = fastTwoSum(c(0x1.555556p-1, 0x1.5555555555555p-1), tail);
  w.low = add(w.low, c(-0x1.555556p-26, 0x1.5555555555555p-55));
  Pair cube = twoProduct(s, z.high);
  cube.low = fma(s, z.low, fma(sLow, z.high, cube.low));
  Pair v = twoProduct(cube.high, w.high);
  v.low = fma(cube.high, w.low, fma(cube.low, w.high, v.low));
  // As many digits of ln 2 as leave the product with e exact.
  Value high = mul(e, c(0x1.62e4p-1, 0x1.62e42fefap-1));
  Pair sum = fastTwoSum(high, add(s, s));
  Pair more = fastTwoSum(sum.high, v.high);
  Value low = add(sum.low, add(more.low, fma(sLow, c(2), v.low)));
  low = fma(e, c(0x1.7f7d1cp-20, 0x1.cf79abc9e3b39p-40), low);
  return fastTwoSum(more.high, low);
}
