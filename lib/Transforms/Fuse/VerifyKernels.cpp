// After Fuse: functions consist of launches, views, constants and control flow.

#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Whether a kernel takes the operand as this argument: a tensor of its type, or the panels of one
/// (gantry-pack-operands).
static bool fits(KernelOp kernel, unsigned argument, Type operand) {
  auto type = cast<RankedTensorType>(kernel.getBody().getArgument(argument).getType());
  if (type == operand)
    return true;
  auto layout = PanelLayout::ofArgument(kernel, argument);
  return layout && operand == type.clone({layout->elements()});
}

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
  TypeRange operands = launch->getOperandTypes();
  const bool fitsAll = kernel.getBody().getNumArguments() == operands.size() &&
                       llvm::all_of(llvm::enumerate(operands), [&](auto operand) {
                         return fits(kernel, operand.index(), operand.value());
                       });
  if (!fitsAll ||
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
