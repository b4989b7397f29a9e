// sin, cos, tan and their inverses.
//
// Angles of any size are reduced as Payne and Hanek do ("Radian reduction for trigonometric
// functions", 1983): the angle is multiplied by those binary digits of 2/pi alone that matter
// modulo 4, in pairs of numbers. The digits are constants that bits of the exponent choose between,
// so that there is no load and no branch. The polynomials on +-pi/4 are used the way of fdlibm
// (k_sin.c, k_cos.c), asin, acos and atan as in fdlibm and Cephes, with coefficients from
// tools/dev/fit_arithmetic.py.

#include "Formula.h"

using namespace gantry::arithmetic;

/// 2/pi in pieces of 24 and of 53 binary digits, each a fraction below 1.
static constexpr double kTwoOverPi32[] = {
    0x1.45f3060000000p-1, 0x1.b939100000000p-2, 0x1.529fc00000000p-4,
    0x1.3abe880000000p-3, 0x1.ea69ba0000000p-1, 0x1.81b6c40000000p-1,
    0x1.2b32780000000p-1, 0x1.0e41040000000p-2, 0x1.fca2c60000000p-1};
static constexpr double kTwoOverPi64[] = {
    0x1.45f306dc9c882p-1, 0x1.4a7f09d5f47d4p-1, 0x1.a6ee06db14accp-1, 0x1.3c439041fe516p-1,
    0x1.d5ef5de2b0db8p-3, 0x1.2371d2126e970p-2, 0x1.924bba8274600p-8, 0x1.21cfe1deb1cb1p-1,
    0x1.4d39f74411af8p-3, 0x1.4baed1213a671p-1, 0x1.8135a2fbf209cp-1, 0x1.91d639835339fp-1,
    0x1.272117e2ef7e4p-2, 0x1.41d8ffc4bffeep-2, 0x1.02cc07f79788cp-1, 0x1.6b414da3eda6cp-2,
    0x1.fb3c9f2c26dd2p-2, 0x1.d18fd9a797fa8p-1, 0x1.6ba93dd63f5f2p-1, 0x1.f17b3d0739f78p-1,
    0x1.4a525d4d7f6bfp-1, 0x1.88fc6ae842b00p-2, 0x1.98237e3db5d5fp-1};

/// The pieces from number `first` on, in five values: shifted by 16, 8, 4, 2 and 1 as its bits say.
static llvm::SmallVector<Value> chooseDigits(Formula &f, llvm::ArrayRef<double> table, Value first,
                                             size_t last) {
  constexpr size_t kPieces = 5;
  llvm::SmallVector<Value> digits;
  for (double piece : table)
    digits.push_back(f.c(piece));
  size_t most = last;
  for (size_t step = 16; step > 0; step /= 2) {
    if (most < step)
      continue;
    Value isOn = f.isSet(first, int64_t(step));
    // What is left of `first` is less than the step, or than what exceeds it.
    size_t rest = step - 1;
    for (size_t i = 0; i < kPieces + rest && i + step < digits.size(); ++i)
      digits[i] = f.select(isOn, digits[i + step], digits[i]);
    most = rest;
  }
  digits.resize(kPieces);
  return digits;
}

/// |x| = (quadrant + 4k) pi/2 + rest, rest within pi/4. For an infinity rest is NaN.
Angle Formula::reduce(Value x) {
  const int64_t precision = mantissa() + 1;
  Value size = abs(x);
  // Multiples of 4 times the pieces before `first` are whole turns.
  Value over =
      atLeastBits(subBits(shiftRight(bits(size), mantissa()), i(bias() + precision + 1)), 0);
  Value first =
      isWide ? shiftRight(mulBits(over, i(1237)), 16) : shiftRight(mulBits(over, i(171)), 12);
  Value scale = subBits(i(bias()), mulBits(first, i(precision)));
  Value scaled = mul(size, number(shiftLeft(scale, mantissa())));
  auto digits = isWide ? chooseDigits(*this, kTwoOverPi64, first, 18)
                       : chooseDigits(*this, kTwoOverPi32, first, 4);
  Value down = c(0x1p-24, 0x1p-53);
  llvm::SmallVector<Pair> products;
  for (Value piece : digits) {
    products.push_back(twoProduct(scaled, piece));
    scaled = mul(scaled, down);
  }
  auto modulo4 = [&](Value v) { return fma(roundEven(mul(v, c(0.25))), c(-4), v); };

  // Terms of about 1, what their sum loses together with the next terms, and what that loses.
  Pair sum = fastTwoSum(modulo4(products[0].high), modulo4(products[0].low));
  Pair second = twoSum(sum.high, modulo4(products[1].high));
  Pair third = twoSum(products[1].low, products[2].high);
  Pair whole = twoSum(second.high, third.high);
  Pair lost1 = twoSum(sum.low, second.low), lost2 = twoSum(third.low, whole.low);
  Pair next = twoSum(products[2].low, products[3].high);
  Pair lost = twoSum(lost1.high, lost2.high);
  Pair small = twoSum(lost.high, next.high);
  Value least = add(add(add(lost1.low, lost2.low), add(next.low, lost.low)),
                    add(small.low, add(products[3].low, products[4].high)));

  // Rounded to an integer in the lowest bits.
  Value shifted = add(whole.high, c(shifter()));
  Pair turn = twoSum(sub(whole.high, sub(shifted, c(shifter()))), small.high);
  turn = fastTwoSum(turn.high, add(turn.low, least));
  Pair rest = twoProduct(turn.high, halfPi().high);
  rest.low = fma(turn.high, halfPi().low, fma(turn.low, halfPi().high, rest.low));
  Value isSmall = less(size, c(0x1.921fb6p-1, 0x1.921fb54442d18p-1));
  return {{select(isSmall, size, rest.high), select(isSmall, c(0), rest.low)},
          select(isSmall, i(0), bits(shifted))};
}

/// r + r^3 S(r^2), and the low part times the derivative.
Value Formula::sinOf(Pair r) {
  Value z = square(r.high);
  Value tail =
      mul(mul(polynomial(z, {2.83253962e-06, -0.000198530659, 0.0083333794, -0.166666672},
                         {1.5895443183330613e-10, -2.5050734544253071e-08, 2.7557313539384399e-06,
                          -0.00019841269829360591, 0.0083333333333218424, -0.1666666666666663}),
              z),
          r.high);
  Value low = fma(mul(r.low, c(-0.5)), z, r.low);
  return add(r.high, add(tail, low));
}

/// 1 - r^2 / 2 + r^4 C(r^2) - r low, with what 1 - r^2 / 2 loses.
Value Formula::cosOf(Pair r) {
  Value z = square(r.high), half = mul(z, c(0.5));
  Value start = sub(c(1), half), lost = sub(sub(c(1), start), half);
  Value tail =
      mul(polynomial(z, {2.44323273e-05, -0.00138873095, 0.0416666456},
                     {-1.1358617831623059e-11, 2.0875703151627899e-09, -2.7557314203137351e-07,
                      2.4801587288965321e-05, -0.0013888888888873307, 0.041666666666666595}),
          square(z));
  return add(start, add(lost, fma(neg(r.high), r.low, tail)));
}

Value Formula::sin(Value x) {
  Angle angle = reduce(x);
  Value result = select(isSet(angle.quadrant, 1), cosOf(angle.rest), sinOf(angle.rest));
  // The lower half of the circle turns the sign, and so does a negative angle.
  Value turn = shiftLeft(shiftRight(angle.quadrant, 1), isWide ? 63 : 31);
  Value sign = flipBits(turn, andBits(bits(x), i(isWide ? INT64_MIN : INT32_MIN)));
  return number(flipBits(bits(result), sign));
}

Value Formula::cos(Value x) {
  Angle angle = reduce(x);
  Value result = select(isSet(angle.quadrant, 1), sinOf(angle.rest), cosOf(angle.rest));
  Value isLeft = addBits(angle.quadrant, i(1));
  Value sign = shiftLeft(shiftRight(isLeft, 1), isWide ? 63 : 31);
  return number(flipBits(bits(result), sign));
}

Value Formula::tan(Value x) {
  Angle angle = reduce(x);
  Value sine = sinOf(angle.rest), cosine = cosOf(angle.rest);
  Value isOdd = isSet(angle.quadrant, 1);
  Value result = div(select(isOdd, cosine, sine), select(isOdd, sine, cosine));
  Value turn = shiftLeft(angle.quadrant, isWide ? 63 : 31);
  Value sign = flipBits(turn, andBits(bits(x), i(isWide ? INT64_MIN : INT32_MIN)));
  return number(flipBits(bits(result), sign));
}

/// asin(x) - x, with z = x^2.
Value Formula::asinTail(Value x, Value z) {
  return mul(
      mul(polynomial(
              z,
              {0.0375773571, 0.0143735697, 0.0318303369, 0.0445137471, 0.0750052184, 0.166666597},
              {0.032626198654131675, -0.020995017066867953, 0.021704453593137892,
               0.0037077028801173612, 0.010779890463038686, 0.011398981037131, 0.013980811518807604,
               0.01735161283169721, 0.022372214937343086, 0.030381942709804832,
               0.044642857174562359, 0.074999999999708647, 0.1666666666666676}),
          z),
      x);
}

/// Up to 1/2 a polynomial, above pi/2 - 2 asin(sqrt((1 - x) / 2)).
Value Formula::asin(Value x) {
  Value size = abs(x), isNear = less(size, c(0.5));
  Value z = select(isNear, square(size), mul(sub(c(1), size), c(0.5)));
  Value y = select(isNear, size, sqrt(z));
  Value tail = asinTail(y, z);
  Pair far = fastTwoSum(halfPi().high, mul(y, c(-2)));
  Value low = add(far.low, fma(tail, c(-2), halfPi().low));
  return withSignOf(select(isNear, add(y, tail), add(far.high, low)), x);
}

/// pi/2 - asin(x) up to 1/2; beyond, 2 asin(sqrt((1 - x) / 2)) or pi less that of -x.
Value Formula::acos(Value x) {
  Value size = abs(x), isNear = less(size, c(0.5)), isLeft = less(x, c(0));
  Value z = select(isNear, square(size), mul(sub(c(1), size), c(0.5)));
  Value y = select(isNear, x, sqrt(z));
  Value tail = asinTail(y, z);
  // start - factor (y + tail)
  Value factor = select(isNear, c(-1), select(isLeft, c(-2), c(2)));
  Value quarters = select(isNear, c(1), select(isLeft, c(2), c(0)));
  Value start = mul(quarters, halfPi().high);
  Pair sum = fastTwoSum(start, mul(factor, y));
  Value low = fma(quarters, halfPi().low, sum.low);
  return add(sum.high, fma(factor, tail, low));
}

/// Around 0, around 1 (as pi/4 + atan((x - 1) / (x + 1))) or around infinity (as pi/2 - atan(1 /
/// x)).
Value Formula::atan(Value x) {
  Value size = abs(x);
  Value isLarge = greater(size, c(2.414213562373095));
  Value isMiddle = greater(size, c(0.4142135623730950));
  Value above = select(isLarge, c(-1), sub(size, c(1)));
  Value below = select(isLarge, size, add(size, c(1)));
  Value y = select(isMiddle, div(above, below), size);
  Value quarters = select(isLarge, c(1), select(isMiddle, c(0.5), c(0)));
  Value z = square(y);
  Value tail =
      mul(mul(polynomial(z, {0.0805417299, -0.138778508, 0.199777305, -0.333329499},
                         {0.014901645372683675, -0.033182691914335365, 0.044908931565533598,
                          -0.052152600727026502, 0.058765281965700342, -0.066661758048500025,
                          0.076922792700129305, -0.090909079885056629, 0.11111111083804746,
                          -0.14285714285317069, 0.19999999999997098, -0.33333333333333326}),
              z),
          y);
  Value low = fma(quarters, halfPi().low, tail);
  Value base = mul(quarters, halfPi().high);
  return withSignOf(add(base, add(y, low)), x);
}
