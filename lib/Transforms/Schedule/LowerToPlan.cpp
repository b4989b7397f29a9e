// Turns launches of values into commands over buffers.
//
// Each value gets a buffer: a place in the caller's input or output, a constant's, or a transient
// one that Memory will place. Views share the buffer of their source. Control flow has no values
// any more: results of a branch and the carried values of a loop are buffers, written by copies; or
// by what makes the value, when nothing else needs what was there before, so that a loop that fills
// an array a row a step moves only the rows.

#include "FunctionLowering.h"
#include "JoinOutputs.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace gantry {
#define GEN_PASS_DEF_LOWERTOPLANPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct LowerToPlan : gantry::impl::LowerToPlanPassBase<LowerToPlan> {
  using LowerToPlanPassBase::LowerToPlanPassBase;

  void runOnOperation() override {
    if (!getOperation()->hasAttr(kTopologyAttr)) {
      getOperation().emitError("the module has no topology");
      return signalPassFailure();
    }
    Declarations declarations(getOperation());
    declarations.declareDevices();
    declarations.declareKernels();
    Homes homes(getOperation());
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    // First what runs at load: the others tell of its ops, too.
    llvm::stable_sort(funcs, [](func::FuncOp a, func::FuncOp b) {
      return a->hasAttr(kAtLoadAttr) > b->hasAttr(kAtLoadAttr);
    });
    plan::ir::FuncOp atLoad;
    for (func::FuncOp func : funcs) {
      if (!func.isPublic() || func.isExternal())
        continue;
      FunctionLowering lowering(declarations, homes, func, {inPlace, messages});
      if (failed(lowering.lower()))
        return signalPassFailure();
      if (func->hasAttr(kAtLoadAttr)) {
        atLoad = lowering.getTarget();
        continue;
      }
      if (atLoad)
        lowering.addPlaced(atLoad);
      if (inPlace)
        joinOutputs(lowering.getTarget());
    }
    declarations.declareOtherVariables();
    // Only now: declarations are inserted in front of the first one.
    for (func::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
