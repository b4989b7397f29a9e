// Functions of one operand: Unary.def, and those that are flat.

#include "Rules.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace gantry;

static Term square(Term x) { return x * x; }

/// s(x) + x s(x) (1 - s(x)), s the sigmoid.
static Term siluSlope(Term x) {
  Term s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

static Term mishSlope(Term x) {
  Term t = tanhyp(softplus(x));
  return t + x * sigmoid(x) * (1 - t * t);
}

/// Of x P(x), P the normal distribution, p its density: P(x) + x p(x).
static Term geluSlope(Term x) {
  Term distribution = 0.5 * (1 + errorFunction(x * std::sqrt(0.5)));
  Term density = exponential(-0.5 * (x * x)) * (1 / std::sqrt(2 * std::numbers::pi));
  return distribution + x * density;
}

/// Of x (1 + tanh(u(x))) / 2 with u(x) = sqrt(2/pi) (x + 0.044715 x^3).
static Term tanhGeluSlope(Term x) {
  const double scale = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  Term x2 = x * x;
  Term t = tanhyp(scale * (x + cubic * (x2 * x)));
  Term slope = scale * (1 + 3 * cubic * x2);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

/// Attributes of functions, 0 where an op has none of that name.
namespace {
template <typename Op>
struct Parameters {
  Op op;
  double alpha() {
    if constexpr (requires { op.getAlpha(); })
      return op.getAlpha().convertToDouble();
    return 0;
  }
  double gamma() {
    if constexpr (requires { op.getGamma(); })
      return op.getGamma().convertToDouble();
    return 0;
  }
  double lambda() {
    if constexpr (requires { op.getLambda(); })
      return op.getLambda().convertToDouble();
    return 0;
  }
};
} // namespace

// A function for each op. What a formula does not read is not made: casts of f16 alone would be.
#define GANTRY_UNARY_GRADIENT(name, Op, reads, formula)                                            \
  static void build_##name(Op op, GradientBuilder &b) {                                            \
    [[maybe_unused]] const double alpha = Parameters<Op>{op}.alpha(),                              \
                                  gamma = Parameters<Op>{op}.gamma(),                              \
                                  lambda = Parameters<Op>{op}.lambda();                            \
    Term d = wideCotangent(b);                                                                     \
    [[maybe_unused]] Term x = wide(b, op.getInput());                                              \
    [[maybe_unused]] Term y = wide(b, op.getResult());                                             \
    b.give(0, formula);                                                                            \
  }
#include "gantry/Gradient/Unary.def"

void gantry::addUnaryRules(MLIRContext &context) {
#define GANTRY_UNARY_GRADIENT(name, Op, reads, formula) addRule<Op, build_##name>(context);
#include "gantry/Gradient/Unary.def"
  SignOp::attachInterface<NoSlope<SignOp>>(context);
  FloorOp::attachInterface<NoSlope<FloorOp>>(context);
  CeilOp::attachInterface<NoSlope<CeilOp>>(context);
  RoundOp::attachInterface<NoSlope<RoundOp>>(context);
  TruncOp::attachInterface<NoSlope<TruncOp>>(context);
}
