// After Resolve: no scope and no call is left.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYRESOLVEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyResolved : gantry::impl::VerifyResolvedPassBase<VerifyResolved> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
      if (!isa<OnOp, func::CallOp>(op))
        return WalkResult::advance();
      op->emitOpError("is left after Resolve");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
