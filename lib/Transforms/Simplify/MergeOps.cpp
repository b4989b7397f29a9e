// Makes one op of several that compute the same and ask for the same.
//
// That is CSE, which compares all attributes; but two scopes that ask for one device are one
// request from two places (spec P1). So the places are taken off before and put back behind it.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MERGEOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct MergeOps : gantry::impl::MergeOpsPassBase<MergeOps> {
  void runOnOperation() override {
    // CSE makes no ops, so none can get the address of one that it erased.
    DenseMap<Operation *, Attribute> origins;
    getOperation()->walk([&](Operation *op) {
      if (Attribute origin = op->removeAttr(kOriginAttr))
        origins[op] = origin;
    });
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), getOperation());
    getOperation()->walk([&](Operation *op) {
      if (Attribute origin = origins.lookup(op))
        op->setAttr(kOriginAttr, origin);
    });
  }
};
} // namespace
