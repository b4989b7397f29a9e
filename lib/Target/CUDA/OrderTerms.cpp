// Lets a convolution add up its products in the order in which its filter lies in memory.
//
// Convolutions are written with the channels innermost, which is the order of CPUs, where filters
// are packed so (docs/decisions/0033). On GPUs filters stay as they are; in any other order the
// threads that fetch neighbouring terms would fetch elements that are far apart.

#include "gantry/Target/CUDA/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ORDERTERMSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Whether the image is read through a sliding window.
static bool isConvolution(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 && op.getNumReductionLoops() > 1 &&
         !op.getIndexingMapsArray()[0].isProjectedPermutation(/*allowZeroInResults=*/true);
}

/// Where the filter has a loop; behind all others what it does not have.
static unsigned placeInFilter(linalg::GenericOp op, unsigned loop) {
  AffineMap filter = op.getIndexingMapsArray()[1];
  auto at = llvm::find(filter.getResults(), getAffineDimExpr(loop, op.getContext()));
  return at - filter.getResults().begin();
}

/// The loops in the new order: reductions change places with reductions.
static SmallVector<unsigned> orderedLoops(linalg::GenericOp op) {
  SmallVector<unsigned> places, terms;
  op.getReductionDims(places);
  terms = places;
  llvm::stable_sort(
      terms, [&](unsigned a, unsigned b) { return placeInFilter(op, a) < placeInFilter(op, b); });
  auto loops = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
  for (auto [place, term] : llvm::zip(places, terms))
    loops[place] = term;
  return loops;
}

namespace {
struct OrderTerms : gantry::impl::OrderTermsPassBase<OrderTerms> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](linalg::GenericOp op) {
      if (!isConvolution(op))
        return;
      SmallVector<unsigned> loops = orderedLoops(op);
      if (llvm::is_sorted(loops))
        return;
      rewriter.setInsertionPoint(op);
      if (failed(linalg::interchangeGenericOp(rewriter, op, loops)))
        signalPassFailure();
    });
  }
};
} // namespace
