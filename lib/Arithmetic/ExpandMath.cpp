// Which op of the math and arith dialects is which formula.

#include "gantry/Arithmetic/Passes.h"

#include "Formula.h"
#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using arithmetic::Formula;

namespace gantry {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "gantry/Arithmetic/Passes.h.inc"
} // namespace gantry

/// What the op computes, written before it; nothing for an op that stays.
static Value expand(Operation *op, Formula f) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp o) {
        Value x = o.getOperand();
        return o->hasAttr(kAtMostZeroAttr) ? f.expAtMostZero(x) : f.exp(x);
      })
      .Case([&](math::ExpM1Op o) { return f.expm1(o.getOperand()); })
      .Case([&](math::SinhOp o) { return f.sinh(o.getOperand()); })
      .Case([&](math::CoshOp o) { return f.cosh(o.getOperand()); })
      .Case([&](math::TanhOp o) { return f.tanh(o.getOperand()); })
      .Case([&](math::ErfOp o) { return f.erf(o.getOperand()); })
      .Case([&](math::LogOp o) { return f.log(o.getOperand()); })
      .Case([&](math::Log1pOp o) { return f.log1p(o.getOperand()); })
      .Case([&](math::AsinhOp o) { return f.asinh(o.getOperand()); })
      .Case([&](math::AcoshOp o) { return f.acosh(o.getOperand()); })
      .Case([&](math::AtanhOp o) { return f.atanh(o.getOperand()); })
      .Case([&](math::SinOp o) { return f.sin(o.getOperand()); })
      .Case([&](math::CosOp o) { return f.cos(o.getOperand()); })
      .Case([&](math::TanOp o) { return f.tan(o.getOperand()); })
      .Case([&](math::AsinOp o) { return f.asin(o.getOperand()); })
      .Case([&](math::AcosOp o) { return f.acos(o.getOperand()); })
      .Case([&](math::AtanOp o) { return f.atan(o.getOperand()); })
      .Case([&](math::RsqrtOp o) { return f.rsqrt(o.getOperand()); })
      .Case([&](math::PowFOp o) { return f.pow(o.getLhs(), o.getRhs()); })
      .Case([&](arith::RemFOp o) { return f.rem(o.getLhs(), o.getRhs()); })
      .Default([](Operation *) { return Value(); });
}

namespace {
struct ExpandMath : gantry::impl::ExpandMathPassBase<ExpandMath> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (op->getNumResults() != 1)
        return;
      Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
      if (!element.isF32() && !element.isF64())
        return;
      rewriter.setInsertionPoint(op);
      if (Value result = expand(op, Formula(rewriter, op->getLoc(), type)))
        rewriter.replaceOp(op, result);
    });
  }
};
} // namespace
