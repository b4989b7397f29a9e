// Functions of f32 as polynomials, which vectorise where a call of the C library would not.
//
// Most are upstream's. Those here are ours because upstream's lose what models can see: exp gives 0
// where the result is subnormal, log takes subnormals for the least normal number, atan is off by
// 38 units in the last place. expm1 and log1p of f64 are here because upstream's lowering makes
// exp(x) - 1 and log(1 + x) of them. Sine and cosine stay with the C library: upstream's lose
// digits as the argument grows (5e-4 at 1e4), which positional encodings would see.
//
// The coefficients of exp, log and atan are those of Cephes (Moshier, expf.c, logf.c, atanf.c). NaN
// is carried along by the arithmetic: no conversion to an integer sees it, as its result would be
// poison.

#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

using Predicate = arith::CmpFPredicate;

namespace {
/// Arithmetic on numbers or vectors of them, of the type of one argument.
struct Formula {
  ImplicitLocOpBuilder b;
  Type type; ///< of the argument

  Formula(Operation *op, OpBuilder &builder)
      : b(op->getLoc(), builder), type(op->getResult(0).getType()) {}

  Value splat(TypedAttr scalar, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, scalar);
  }
  Type bitsType() {
    Type i32 = b.getI32Type();
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(i32)) : i32;
  }
  Value c(double value) { return splat(b.getFloatAttr(getElementTypeOrSelf(type), value), type); }
  Value i(int32_t value) { return splat(b.getI32IntegerAttr(value), bitsType()); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value is(Predicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, bitsType(), x); }
  Value number(Value bits) { return arith::BitcastOp::create(b, type, bits); }
  /// Highest coefficient first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = c(coefficients.front());
    for (double next : coefficients.drop_front())
      sum = fma(sum, x, c(next));
    return sum;
  }

  Value exp(Value x);
  Value log(Value x);
  Value atan(Value x);
  Value expm1(Value x);
  Value log1p(Value x);
};
} // namespace

/// 2^n e^r with n = round(x / ln 2). The power comes in two factors, since one of them alone would
/// be 0 where the product is subnormal.
Value Formula::exp(Value x) {
  // Beyond these the result is 0 and infinity, which the factors give by themselves.
  x = select(is(Predicate::OLT, x, c(-105)), c(-105), x);
  x = select(is(Predicate::OGT, x, c(89)), c(89), x);
  // Added to 1.5 * 2^23, a number is rounded to an integer, which then stands in the lowest bits.
  // With 254 more, each half of them is an exponent of f32, where a shift by 23 loses all bits
  // above.
  Value shifter = c(12582912 + 254);
  Value shifted = fma(x, c(1.44269504088896341), shifter);
  Value n = sub(shifted, shifter);
  Value r = fma(n, c(-0.693359375), x);
  r = fma(n, c(2.12194440e-4), r);
  Value p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                           1.6666665459e-1, 5.0000001201e-1});
  p = add(fma(p, mul(r, r), r), c(1));
  Value whole = bits(shifted);
  Value half = arith::ShRSIOp::create(b, whole, i(1));
  Value rest = arith::SubIOp::create(b, whole, half);
  auto power = [&](Value exponent) { return number(arith::ShLIOp::create(b, exponent, i(23))); };
  return mul(mul(p, power(half)), power(rest));
}

/// e ln 2 + log(m), with x = m 2^e and m around 1.
Value Formula::log(Value x) {
  constexpr double leastNormal = 1.17549435082228750797e-38, inf = INFINITY;
  // A subnormal number is made normal.
  Value isSmall = is(Predicate::OLT, x, c(leastNormal));
  Value normal = select(isSmall, mul(x, c(8388608)), x);
  Value offset = select(isSmall, c(-23), c(0));
  // Counted from sqrt(1/2), so that m lies between it and sqrt(2).
  Value start = i(0x3f3504f3);
  Value whole = bits(normal);
  Value exponent = arith::ShRSIOp::create(b, arith::SubIOp::create(b, whole, start), i(23));
  Value mantissa = arith::SubIOp::create(b, whole, arith::ShLIOp::create(b, exponent, i(23)));
  Value e = add(arith::SIToFPOp::create(b, type, exponent), offset);
  Value f = sub(number(mantissa), c(1));
  Value square = mul(f, f);
  Value p = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                           1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                           3.3333331174e-1});
  p = mul(mul(p, f), square);
  p = fma(e, c(-2.12194440e-4), p);
  p = fma(square, c(-0.5), p);
  Value result = fma(e, c(0.693359375), add(f, p));
  // Infinity and NaN are their own logarithms; the others are those of no number.
  result = select(is(Predicate::OLT, x, c(inf)), result, x);
  result = select(is(Predicate::OLT, x, c(0)), c(NAN), result);
  return select(is(Predicate::OEQ, x, c(0)), c(-inf), result);
}

/// Around 0, around 1 (as pi/4 + atan((x - 1) / (x + 1))) or around infinity (as pi/2 - atan(1 /
/// x)).
Value Formula::atan(Value x) {
  Value size = math::AbsFOp::create(b, x);
  Value isLarge = is(Predicate::OGT, size, c(2.414213562373095));
  Value isMiddle = is(Predicate::OGT, size, c(0.4142135623730950));
  Value one = c(1), zero = c(0);
  Value above = select(isLarge, c(-1), sub(size, one));
  Value below = select(isLarge, size, add(size, one));
  Value y = select(isMiddle, div(above, below), size);
  Value base = select(isLarge, c(M_PI_2), select(isMiddle, c(M_PI_4), zero));
  Value square = mul(y, y);
  Value p = polynomial(square,
                       {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
  Value result = add(base, fma(mul(p, square), y, y));
  return math::CopySignOp::create(b, result, x);
}

/// (e^x - 1) x / log(e^x), whose errors cancel (Kahan, in Higham, "Accuracy and stability", 1.14).
Value Formula::expm1(Value x) {
  Value u = math::ExpOp::create(b, x), less = sub(u, c(1));
  Value result = mul(less, div(x, Value(math::LogOp::create(b, u))));
  // e^x is 1, 0 or infinity.
  result = select(is(Predicate::OEQ, less, c(-1)), less, result);
  result = select(is(Predicate::OEQ, u, c(INFINITY)), u, result);
  return select(is(Predicate::OEQ, u, c(1)), x, result);
}

/// log(1 + x) x / ((1 + x) - 1), likewise.
Value Formula::log1p(Value x) {
  Value u = add(x, c(1));
  Value result = mul(x, div(Value(math::LogOp::create(b, u)), sub(u, c(1))));
  result = select(is(Predicate::OEQ, u, c(1)), x, result);
  return select(is(Predicate::OEQ, u, c(INFINITY)), u, result);
}

/// Replaces `Op` of one element type by a formula.
template <typename Op, Value (Formula::*compute)(Value), unsigned width>
static LogicalResult expand(Op op, PatternRewriter &rewriter) {
  if (!getElementTypeOrSelf(op.getType()).isF32() && width == 32)
    return failure();
  if (!getElementTypeOrSelf(op.getType()).isF64() && width == 64)
    return failure();
  Formula formula(op, rewriter);
  rewriter.replaceOp(op, (formula.*compute)(op.getOperand()));
  return success();
}

namespace {
struct ApproximateMath : gantry::impl::ApproximateMathPassBase<ApproximateMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(expand<math::ExpOp, &Formula::exp, 32>);
    patterns.add(expand<math::LogOp, &Formula::log, 32>);
    patterns.add(expand<math::AtanOp, &Formula::atan, 32>);
    patterns.add(expand<math::ExpM1Op, &Formula::expm1, 64>);
    patterns.add(expand<math::Log1pOp, &Formula::log1p, 64>);
    auto isUpstreams = [](StringRef name) {
      return !llvm::is_contained({"math.exp", "math.log", "math.atan", "math.sin", "math.cos"},
                                 name);
    };
    populateMathPolynomialApproximationPatterns(patterns, isUpstreams);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
