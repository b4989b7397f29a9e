// After Resolve: no scope and no call is left, and functions are lists of ops that a plan can hold.

#include "gantry/Dialect/Gantry/IR/Optimizers.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYRESOLVEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static LogicalResult checkFunction(func::FuncOp func) {
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitError() << "'@" << func.getSymName()
                            << "' has several blocks; branches are gantry.if, loops gantry.while";
  return success();
}

namespace {
struct VerifyResolved : gantry::impl::VerifyResolvedPassBase<VerifyResolved> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
      if (!isa<OnOp, func::CallOp, ReadOp, AssignOp, AssignAddOp, OptimizerStepOp>(op))
        return WalkResult::advance();
      op->emitOpError("is left after Resolve");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted() || failed(checkFunctions()))
      signalPassFailure();
  }

  LogicalResult checkFunctions() {
    bool any = false;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      any |= func.isPublic();
      if (failed(checkFunction(func)))
        return failure();
    }
    if (!any)
      return getOperation().emitError(
          "the graph has no public function with a body, so there is nothing to run");
    return success();
  }
};
} // namespace
