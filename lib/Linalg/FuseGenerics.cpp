// Makes one generic op of a chain of elementwise ones.
//
// Upstream's pass would also move reshapes through the ops, giving them dimensions that their
// producers do not have; then a convolution could not be tiled together with its bias.

#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"
#include "gantry/Linalg/PackedConvolution.h"
#include "gantry/Linalg/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FUSEGENERICSPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

namespace {
struct FuseGenerics : gantry::impl::FuseGenericsPassBase<FuseGenerics> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // A producer with other users would be computed twice, and one of a convolution once for each
    // place of the window. Products unpack weights of few bits themselves.
    linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand *fused) {
      return fused->get().hasOneUse() &&
             !fused->get().getDefiningOp()->hasAttr(kBlockQuantizedAttr) &&
             !PackedConvolution::match(cast<linalg::LinalgOp>(fused->getOwner()));
    });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
