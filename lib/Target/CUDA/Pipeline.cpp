// The passes from kernels to the LLVM dialect for GPUs, in order, with the reason for each.

#include "gantry/Arithmetic/Passes.h"
#include "gantry/Linalg/Passes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace gantry;

/// Upstream passes by name: their headers are the most expensive ones of all.
static void add(OpPassManager &pm, StringRef passes) {
  if (failed(parsePassPipeline(passes, pm)))
    llvm::report_fatal_error("internal error: unknown pass in '" + Twine(passes) + "'");
}

void gantry::buildCUDAKernelPipeline(OpPassManager &pm) {
  // What has an order of its own, before it becomes loops over whole tensors.
  pm.addPass(createEmitLinesPass());
  pm.addPass(createLowerKernelsToLinalgPass());
  add(pm, "func.func(linalg-generalize-named-ops),canonicalize,cse");
  // Fewer bodies, and what shares a kernel for the last time looks the same.
  pm.addPass(createEmitThreadsPass());
  add(pm, "canonicalize,cse");
}

void gantry::buildNVVMPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createWriteMultiplyAddsPass());
  // What bf16 is rounded to, and what functions are, is the same arithmetic as on the CPU.
  add(pm, "func.func(lower-affine,arith-expand{include-bf16=true})");
  pm.addNestedPass<func::FuncOp>(createExpandMathPass());
  add(pm, "canonicalize,cse,func.func(loop-invariant-code-motion)");
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createLowerToNVVMPass());
}
