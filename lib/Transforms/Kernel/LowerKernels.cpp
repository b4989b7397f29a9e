// Runs the passes of each target on the module of its kernels.

#include "gantry/Target/Target.h"
#include "gantry/Transforms/LoweredKernels.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static OpPassManager pipelineOf(const Target &target) {
  OpPassManager pm(ModuleOp::getOperationName());
  target.buildKernelPipeline(pm);
  return pm;
}

namespace {
/// Dialects take time to load, so those of GPUs are there when GPUs are.
struct LowerKernels : gantry::impl::LowerKernelsPassBase<LowerKernels> {
  using Base::Base;
  LowerKernels(ArrayRef<std::string> names, LoweredKernels *known) : known(known) {
    targets = names;
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    for (const Target *target : allTargets())
      if (isExpected(target))
        pipelineOf(*target).getDependentDialects(registry);
  }

  bool isExpected(const Target *target) const {
    return targets.empty() || llvm::is_contained(targets, target->getName());
  }

  void runOnOperation() override {
    for (auto [module, name] : kernelModules(getOperation())) {
      const Target *target = findTarget(name);
      if (!target) {
        module.emitError() << "its kernels are for the target '" << name.getName()
                           << "', which this compiler does not have";
        return signalPassFailure();
      }
      if (!isExpected(target)) {
        module.emitError() << "its kernels are for the target '" << name.getName()
                           << "', which is not among those whose dialects were loaded";
        return signalPassFailure();
      }
      if (failed(lower(module, *target)))
        return signalPassFailure();
    }
  }

  LogicalResult lower(ModuleOp module, const Target &target) {
    SmallVector<LoweredKernels::Taken> taken;
    if (known)
      taken = known->take(module);
    if (!known || !module.getOps<KernelOp>().empty()) {
      OpPassManager pm = pipelineOf(target);
      if (failed(runPipeline(pm, module)))
        return failure();
    }
    if (known)
      known->putBack(module, taken);
    return success();
  }

  LoweredKernels *known = nullptr; ///< of those who run the pass again
};
} // namespace

std::unique_ptr<Pass> gantry::createLowerKernelsPass(ArrayRef<std::string> targets,
                                                     LoweredKernels *known) {
  return std::make_unique<LowerKernels>(targets, known);
}
