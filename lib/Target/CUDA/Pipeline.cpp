// The passes from kernels to the LLVM dialect for GPUs, in order, with the reason for each.

#include "gantry/Arithmetic/Passes.h"
#include "gantry/Linalg/Passes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/Optimize.h"
#include "gantry/Target/Passes.h"

using namespace mlir;
using namespace gantry;

void gantry::buildCUDAKernelPipeline(OpPassManager &pm) {
  // In the words of the graph: what is computed below is our own variant of it.
  pm.addPass(createNameLibraryProductsPass());
  // What has an order of its own, before it becomes loops over whole tensors.
  pm.addPass(createEmitStructuredKernelsPass());
  pm.addPass(createLowerKernelsToLinalgPass());
  addPasses(pm, "func.func(linalg-generalize-named-ops)");
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");
  // Fewer bodies, and what shares a kernel for the last time looks the same.
  pm.addPass(createEmitThreadsPass());
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");
}

void gantry::buildNVVMPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createWriteMultiplyAddsPass());
  // What functions are is the same arithmetic as on the CPU; rounding to bf16 is an instruction.
  pm.addNestedPass<func::FuncOp>(createExpandMathPass());
  pm.addNestedPass<func::FuncOp>(createChooseInstructionsPass());
  addPasses(pm, "func.func(lower-affine,arith-expand)");
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse,func.func(loop-invariant-code-motion)");
  // Where indices are still sums.
  pm.addNestedPass<func::FuncOp>(createMergeAccessesPass());
  pm.addPass(createOutlineKernelsPass());
  pm.addNestedPass<gpu::GPUModuleOp>(createLowerToNVVMPass());
}
