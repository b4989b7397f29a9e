// The last conversions, by upstream's passes, for a gpu module with indices of its width.

#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"

#include "AsyncCopy.h"
#include "gantry/Target/Optimize.h"
#include "gantry/Target/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_LOWERTONVVMPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// What is left of math becomes calls of libdevice here, which EmitPTX makes instructions of.
static OpPassManager pipelineFor(StringRef bits) {
  OpPassManager pm(::mlir::gpu::GPUModuleOp::getOperationName());
  std::string passes =
      ("convert-scf-to-cf,expand-strided-metadata,lower-affine,"
       "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1 index-bitwidth=" +
       bits +
       "},"
       "convert-math-to-llvm,convert-index-to-llvm{index-bitwidth=" +
       bits + "},convert-arith-to-llvm{index-bitwidth=" + bits + "},reconcile-unrealized-casts")
          .str();
  addPasses(pm, passes);
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");
  return pm;
}

namespace {
struct LowerToNVVM : gantry::impl::LowerToNVVMPassBase<LowerToNVVM> {
  void getDependentDialects(DialectRegistry &registry) const override {
    pipelineFor("64").getDependentDialects(registry);
  }

  void runOnOperation() override {
    bool isNarrow = getOperation().getName().starts_with(kNarrowModule);
    gantry::gpu::lowerPointers(getOperation(), isNarrow ? 32 : 64);
    OpPassManager pm = pipelineFor(isNarrow ? "32" : "64");
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace
