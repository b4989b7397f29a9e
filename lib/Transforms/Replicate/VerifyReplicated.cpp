// After Replicate: each op runs once, on one device. What a library may do for several devices is
// an op for each of them.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYREPLICATEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyReplicated : gantry::impl::VerifyReplicatedPassBase<VerifyReplicated> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
      // Parts of a collective are ops of their devices.
      if (!isa<ReplicateOp, AllReduceOp>(op) || op->hasAttr(kRankAttr))
        return WalkResult::advance();
      op->emitOpError("is left after Replicate");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
