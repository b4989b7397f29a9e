// After Resolve: no scope and no call is left, and functions are lists of ops that a plan can hold.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYRESOLVEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Names that plans give to devices, constants and the like themselves: d0, c12, kernels_cpu, ...
static bool isReserved(StringRef name) {
  for (StringRef prefix : {"constants_", "variables_", "transient_", "kernels_"})
    if (name.starts_with(prefix))
      return true;
  unsigned number;
  return name == "kernels" ||
         ((name.consume_front("d") || name.consume_front("c") || name.consume_front("v")) &&
          !name.getAsInteger(10, number));
}

static LogicalResult checkFunction(func::FuncOp func) {
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitError() << "'@" << func.getSymName()
                            << "' has several blocks; branches are gantry.if, loops gantry.while";
  if (isReserved(func.getSymName()))
    return func.emitError() << "'@" << func.getSymName()
                            << "' is a name that plans use themselves; rename the function";
  return success();
}

namespace {
struct VerifyResolved : gantry::impl::VerifyResolvedPassBase<VerifyResolved> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk([](Operation *op) {
      if (!isa<OnOp, func::CallOp, ReadOp, AssignOp, AssignAddOp>(op))
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
