// After Fuse: functions consist of launches, views, constants and control flow.

#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyKernels : gantry::impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto kernels = getOperation().lookupSymbol<ModuleOp>("kernels");
    auto check = [&](Operation *op) -> LogicalResult {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        auto kernel = kernels ? kernels.lookupSymbol<KernelOp>(launch.getKernel()) : KernelOp();
        if (!kernel)
          return op->emitOpError()
                 << "names the kernel '" << launch.getKernel() << "', which does not exist";
        if (kernel.getBody().getArgumentTypes() != launch->getOperandTypes() ||
            kernel.getBody().front().getTerminator()->getOperandTypes() != launch->getResultTypes())
          return op->emitOpError() << "does not fit the kernel '" << launch.getKernel() << "'";
        return success();
      }
      if (isa<KernelOpInterface>(op) && !isView(op))
        return op->emitOpError("is left outside a kernel after Fuse");
      return success();
    };
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.walk([&](Operation *op) {
                return failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted())
        return signalPassFailure();
  }
};
} // namespace
