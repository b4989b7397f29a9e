// After Fuse: functions consist of launches, views, constants and control flow.

#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static LogicalResult checkKernel(LaunchOp launch, SymbolRefAttr name,
                                 SymbolTableCollection &symbols) {
  auto module = launch->getParentOfType<ModuleOp>();
  auto kernel = symbols.lookupSymbolIn<KernelOp>(module, name);
  if (!kernel)
    return launch.emitOpError() << "names the kernel '" << name.getLeafReference().getValue()
                                << "', which does not exist";
  if (!kernel->getParentOp()->hasAttr(kTargetAttr))
    return launch.emitOpError() << "names the kernel '" << name.getLeafReference().getValue()
                                << "', whose module says no target";
  if (kernel.getBody().getArgumentTypes() != launch->getOperandTypes() ||
      kernel.getBody().front().getTerminator()->getOperandTypes() != launch->getResultTypes())
    return launch.emitOpError() << "does not fit the kernel '" << name.getLeafReference().getValue()
                                << "'";
  return success();
}

namespace {
struct VerifyKernels : gantry::impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    SymbolTableCollection symbols;
    auto check = [&](Operation *op) -> LogicalResult {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        if (failed(checkKernel(launch, launch.getKernelAttr(), symbols)))
          return failure();
        for (auto other : launch.getAlso().getAsRange<SymbolRefAttr>())
          if (failed(checkKernel(launch, other, symbols)))
            return failure();
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
