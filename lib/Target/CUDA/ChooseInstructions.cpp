// Numbers that GPUs limit, or compare, by one instruction.
//
// A maximum that lets NaN through is one instruction from sm_80 on (of older ones LLVM makes what
// they have), where upstream's expansion has two comparisons and two choices. A choice between a
// number and a bound of it is the same thing, as the formulas of functions write it.

#include "gantry/Target/CUDA/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHOOSEINSTRUCTIONSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Of two zeros either may come out (docs/decisions/0016), which is less code for older GPUs.
template <typename Op>
static void replace(IRRewriter &rewriter, Operation *op, Value x, Value y) {
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<Op>(op, x, y, LLVM::FastmathFlags::nsz);
}

/// A constant that is neither zero, of which there are two, nor NaN, which would come through.
static bool isBound(Value v) {
  APFloat value(0.0f);
  return matchPattern(v, m_ConstantFloat(&value)) && !value.isZero() && !value.isNaN();
}

/// x < bound ? bound : x, and x > bound ? bound : x.
static void replaceBounded(IRRewriter &rewriter, arith::SelectOp op) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || !op.getType().isF32() || compare.getLhs() != op.getFalseValue() ||
      compare.getRhs() != op.getTrueValue() || !isBound(op.getTrueValue()))
    return;
  Value x = op.getFalseValue(), bound = op.getTrueValue();
  if (compare.getPredicate() == arith::CmpFPredicate::OLT)
    replace<LLVM::MaximumOp>(rewriter, op, x, bound);
  else if (compare.getPredicate() == arith::CmpFPredicate::OGT)
    replace<LLVM::MinimumOp>(rewriter, op, x, bound);
}

namespace {
struct ChooseInstructions : gantry::impl::ChooseInstructionsPassBase<ChooseInstructions> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto select = dyn_cast<arith::SelectOp>(op))
        return replaceBounded(rewriter, select);
      if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op) || !op->getResult(0).getType().isF32())
        return;
      if (isa<arith::MaximumFOp>(op))
        replace<LLVM::MaximumOp>(rewriter, op, op->getOperand(0), op->getOperand(1));
      else
        replace<LLVM::MinimumOp>(rewriter, op, op->getOperand(0), op->getOperand(1));
    });
  }
};
} // namespace
