// Reductions say with flags that a product and a sum may be one operation. Here that is decided:
// where both are next to each other they are, everywhere else nothing is contracted.

#include "gantry/Target/CUDA/Passes.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_WRITEMULTIPLYADDSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

static bool mayContract(arith::ArithFastMathInterface op) {
  return bitEnumContainsAll(op.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::contract);
}

/// The product among the terms of a sum that becomes one operation with it; f16 and bf16 are summed
/// in f32, so a product in between is of that type as well.
static arith::MulFOp productIn(arith::AddFOp sum) {
  for (Value term : {sum.getRhs(), sum.getLhs()})
    if (auto product = term.getDefiningOp<arith::MulFOp>())
      if (product->hasOneUse() && mayContract(product) && mayContract(sum))
        return product;
  return {};
}

namespace {
struct WriteMultiplyAdds : gantry::impl::WriteMultiplyAddsPassBase<WriteMultiplyAdds> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](arith::AddFOp sum) {
      arith::MulFOp product = productIn(sum);
      if (!product)
        return;
      Value other = sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs();
      rewriter.setInsertionPoint(sum);
      rewriter.replaceOpWithNewOp<math::FmaOp>(sum, product.getLhs(), product.getRhs(), other);
      rewriter.eraseOp(product);
    });
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    getOperation().walk(
        [&](arith::ArithFastMathInterface op) { op->setAttr(op.getFastMathAttrName(), none); });
  }
};
} // namespace
