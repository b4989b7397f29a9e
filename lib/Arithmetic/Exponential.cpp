// exp and what is made of it: expm1, the hyperbolic functions, erf.
//
// The argument is cut into n ln 2 + r (Cody and Waite, "Software manual for the elementary
// functions"); with a fused multiply-add x - n ln 2 is exact when ln 2 is given by its leading
// digits, all of them. Polynomials are from tools/dev/fit_arithmetic.py.

#include "Formula.h"

#include <cmath>

using namespace gantry::arithmetic;

/// (e^r - 1 - r) / r^2 for r within ln 2 / 2.
static Value expTail(Formula &f, Value r) {
  return f.polynomial(
      r, {0.000150426335, 0.00139305438, 0.00834151264, 0.0416665114, 0.166666359, 0.5},
      {2.0856018358882662e-09, 2.5110576855113214e-08, 2.7557365510326009e-07,
       2.7557240830810839e-06, 2.4801587305703987e-05, 0.00019841269887883555,
       0.0013888888888871534, 0.0083333333333217054, 0.041666666666666699, 0.16666666666666677,
       0.5});
}

/// `low` is what there is of x below `clamped`, or null.
Power Formula::powerOf(Value clamped, Value low, int64_t added) {
  Value start = c(shifter() + double(bias() + added));
  Value shifted = fma(clamped, c(0x1.715476p+0, 0x1.71547652b82fep+0), start);
  Value n = sub(shifted, start);
  Value r = fma(n, neg(ln2().high), clamped);
  if (!low) {
    r = fma(n, neg(ln2().low), r);
    return {bits(shifted), fma(expTail(*this, r), square(r), r)};
  }
  Pair rest = fastTwoSum(r, fma(n, neg(ln2().low), low));
  r = rest.high;
  return {bits(shifted), add(r, fma(expTail(*this, r), square(r), rest.low))};
}

/// e^x 2^-halvings, as if x was within [least, most]. The power comes in two factors, since one
/// alone would be 0 where the product is subnormal.
Value Formula::scaledExp(Pair x, double least, double most, int64_t halvings) {
  Value clamped = atMost(atLeast(x.high, c(least)), c(most)), low;
  if (x.low)
    low = select(equal(clamped, x.high), x.low, c(0));
  // With twice the bias, each half of the integer is a stored exponent.
  auto [exponent, tail] = powerOf(clamped, low, bias());
  Value whole = subBits(exponent, i(halvings)), half = shiftRight(whole, 1);
  Value rest = subBits(whole, half);
  auto power = [&](Value exponent) { return number(shiftLeft(exponent, mantissa())); };
  return mul(mul(add(tail, c(1)), power(half)), power(rest));
}

Value Formula::exp(Value x) {
  return scaledExp({x, {}}, isWide ? -746 : -105, isWide ? 710 : 89, 0);
}

/// One factor is the power times a constant that keeps it a normal number, for every n that there
/// is; the other takes the constant away again. So the product is rounded once, as above.
Value Formula::expAtMostZero(Value x) {
  int64_t added = isWide ? 512 : 64;
  auto [exponent, tail] = powerOf(atLeast(x, c(isWide ? -746 : -105)), {}, added);
  Value power = number(shiftLeft(exponent, mantissa()));
  return mul(mul(add(tail, c(1)), power), c(std::ldexp(1.0, -int(added))));
}

/// For x where 2^n 2^-halvings is a normal number.
Cut Formula::cut(Value x, int64_t halvings) {
  Value start = c(shifter() + double(bias()));
  Value shifted = fma(x, c(0x1.715476p+0, 0x1.71547652b82fep+0), start);
  Value n = sub(shifted, start);
  Value exact = fma(n, neg(ln2().high), x), low = neg(ln2().low);
  Value rest = fma(n, low, exact);
  Value stored = halvings ? subBits(bits(shifted), i(halvings)) : bits(shifted);
  return {number(shiftLeft(stored, mantissa())), {rest, fma(n, low, sub(exact, rest))}};
}

/// 2 ((2^(n-1) - 1/2) + 2^(n-1) (e^r - 1)), with what the sum of the first two terms loses. Half of
/// the power, since the last powers would overflow.
Value Formula::expm1(Value x) {
  Value clamped = atMost(atLeast(x, c(isWide ? -40 : -20)), c(isWide ? 710 : 89));
  auto [power, r] = cut(clamped, 1);
  Value tail = fma(expTail(*this, r.high), square(r.high), r.low);
  Pair sum = fastTwoSum(sub(power, c(0.5)), mul(power, r.high));
  Value result = mul(add(sum.high, fma(power, tail, sum.low)), c(2));
  // Halves of the smallest numbers would be rounded, and -0 would be lost.
  return select(less(abs(x), c(0x1p-60)), x, result);
}

/// Near 0 a polynomial, elsewhere (e^x - e^-x) / 2.
Value Formula::sinh(Value x) {
  Value size = abs(x), z = square(size);
  Value tail = polynomial(z, {2.78221319e-06, 0.000198428956, 0.00833331048, 0.166666672},
                          {7.7766089225458514e-13, 1.6056659030637682e-10, 2.5052130999462052e-08,
                           2.7557319106754762e-06, 0.00019841269841593413, 0.0083333333333329117,
                           0.16666666666666669});
  Value near = fma(mul(tail, z), size, size);
  Value half = scaledExp({size, c(0)}, 0, isWide ? 711 : 90, 1);
  Value far = sub(half, div(c(0.25), half));
  return withSignOf(select(less(size, c(1)), near, far), x);
}

Value Formula::cosh(Value x) {
  Value half = scaledExp({abs(x), c(0)}, 0, isWide ? 711 : 90, 1);
  return add(half, div(c(0.25), half));
}

/// (e^2x - 1) / (e^2x + 1), both from 2^n - 1 and 2^n (e^r - 1).
Value Formula::tanh(Value x) {
  auto [power, r] = cut(atMost(mul(abs(x), c(2)), c(isWide ? 40 : 20)), 0);
  Value tail = fma(expTail(*this, r.high), square(r.high), r.low);
  Value above = fma(power, tail, fma(power, r.high, sub(power, c(1))));
  return withSignOf(div(above, add(above, c(2))), x);
}

/// Below 1 an odd polynomial, above 1 - e^-xB(x), where the exponent is the logarithm of erfc.
Value Formula::erf(Value x) {
  Value size = abs(x), z = square(size);
  Value near =
      fma(polynomial(z,
                     {7.80690316e-05, -0.00079978531, 0.0051871622, -0.0268533472, 0.112835787,
                      -0.37612626, 0.128379166},
                     {-3.6504282841142611e-10, 2.4454873566728035e-09, -8.0381838946179788e-09,
                      2.628754451027342e-08, -1.7614689311978815e-07, 1.6553857051449176e-06,
                      -1.4930279350749026e-05, 0.00012055492945576216, -0.00085483307308217556,
                      0.0052239776806590563, -0.026866170650032904, 0.11283791670977776,
                      -0.37612638903184165, 0.12837916709551259}),
          size, size);
  Value far = atMost(size, c(isWide ? 6 : 4));
  Value exponent = mul(
      far, polynomial(far,
                      {0.000210630154, -0.00318684801, 0.0227981713, -0.105115719, -0.635831773,
                       -1.12847996},
                      {1.122259598099919e-14,   -7.1163574544248681e-13, 2.0801490737747763e-11,
                       -3.7521460366308694e-10, 4.70428982323809e-09,    -4.3683044756533336e-08,
                       3.1185730099733957e-07,  -1.7485609236196538e-06, 7.7621448504376709e-06,
                       -2.7056192581311195e-05, 7.1172894990505456e-05,  -0.00012285702681242311,
                       4.0510617507032219e-05,  0.00052940625567210345,  -0.0016521339993003446,
                       0.00018437629330253554,  0.019138900572634433,    -0.10277570145209237,
                       -0.63661919640965425,    -1.1283792175942735}));
  auto [power, r] = cut(exponent, 0);
  // At most a sixth of the result: f32 needs no more digits.
  Value shortTail =
      polynomial(r.high, {0.00812486093, 0.0418933332, 0.166689858, 0.499992311}, {0});
  Value tail = isWide ? expTail(*this, r.high) : shortTail;
  Value p = add(fma(tail, square(r.high), r.high), c(1));
  far = fma(neg(power), p, c(1));
  return withSignOf(select(less(size, c(1)), near, far), x);
}
