// The passes from kernels to the LLVM dialect, in order, with the reason for each.

#include "gantry/Arithmetic/Passes.h"
#include "gantry/Linalg/Passes.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/Optimize.h"
#include "gantry/Target/Passes.h"

using namespace mlir;
using namespace gantry;

void gantry::buildCPUKernelPipeline(OpPassManager &pm) {
  pm.addPass(createLowerKernelsToLinalgPass());

  addPasses(pm, "func.func(linalg-generalize-named-ops)");
  // While ops over rows of scores are one by one.
  pm.addPass(createEmitAttentionPass());

  // One generic for a chain of elementwise ops: a single pass over memory.
  pm.addNestedPass<func::FuncOp>(createFuseGenericsPass());
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");
  // And one for all results of a kernel that go through the same elements.
  pm.addNestedPass<func::FuncOp>(createMergeGenericsPass());

  // Products: panels, tiles and items of their own.
  pm.addPass(createEmitGEMMPass());

  // Work items, with producers inside, so that intermediate values are as small as a tile.
  pm.addNestedPass<func::FuncOp>(createTileKernelsPass());
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");

  // Buffers: results are computed where they belong.
  pm.addNestedPass<func::FuncOp>(createAddDestinationsPass());
  addPasses(pm,
            "eliminate-empty-tensors,func.func(empty-tensor-to-alloc-tensor),one-shot-bufferize");
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");

  // Loops: reductions in blocks of registers, the rest as LLVM's vectoriser likes it.
  addPasses(pm, "func.func(linalg-generalize-named-ops)");
  pm.addPass(createEmitConvolutionsPass());
  pm.addNestedPass<func::FuncOp>(createCollapseLoopsPass());
  pm.addNestedPass<func::FuncOp>(createEmitTransposesPass());
  pm.addNestedPass<func::FuncOp>(createEmitRegisterTilesPass());
  pm.addNestedPass<func::FuncOp>(createFinishKernelBuffersPass());
  addPasses(pm, "func.func(convert-linalg-to-loops)");
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse,func.func(loop-invariant-code-motion)");
  pm.addNestedPass<func::FuncOp>(createLowerWorkItemsPass());
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "cse");
  pm.addNestedPass<func::FuncOp>(createCheckInPlaceSafetyPass());
}

void gantry::buildLLVMPipeline(OpPassManager &pm) {
  // Kernels call nothing: functions are arithmetic, which vectorises, and the same on every target.
  addPasses(pm, "func.func(arith-expand{include-bf16=true})");
  pm.addNestedPass<func::FuncOp>(createExpandMathPass());
  pm.addPass(createCanonicalizePass());
  // What needs no options goes in one conversion: each looks at every op, whatever it converts.
  addPasses(pm, "cse,func.func(lower-affine,convert-scf-to-cf),expand-strided-metadata,"
                "func.func(lower-affine),convert-vector-to-llvm{reassociate-fp-reductions=1},"
                "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},"
                "convert-to-llvm");
  pm.addPass(createCanonicalizePass());
  addPasses(pm, "reconcile-unrealized-casts");
}
