// After Copy: every op finds its operands on its own device.

#include "gantry/Analysis/Homes.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYCOPIESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyCopies : gantry::impl::VerifyCopiesPassBase<VerifyCopies> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Homes homes(getOperation());
    auto check = [&](Operation *op) {
      for (OpOperand &use : op->getOpOperands()) {
        DeviceAttr needed = homes.neededBy(use), home = homes.homeOf(use.get());
        if (!needed || !home || needed == home)
          continue;
        op->emitOpError() << "needs operand " << use.getOperandNumber() << " on '"
                          << needed.getSpelling() << "' after Copy, it is on '"
                          << home.getSpelling() << "'";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    };
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.walk(check).wasInterrupted())
        return signalPassFailure();
  }
};
} // namespace
