// The program that replicas are compared with (spec R5): every replicated region on the first of
// its devices only, with the whole batch.
//
// The regions stay: what becomes of one replica is the same code as for several, so that the
// comparison is about the replicas and not about two ways to compile.

#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_KEEPFIRSTREPLICAPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Values for each replica say what every one of several gets or gives; no one device has them all.
static LogicalResult checkModes(ReplicateOp op, ArrayAttr modes, StringRef what) {
  for (auto [i, mode] : llvm::enumerate(modes.getAsRange<ReplicaModeAttr>()))
    if (op.getDevices().size() > 1 && mode.is(ReplicaKind::PerReplica))
      return op.emitOpError() << "has a value for each of " << op.getDevices().size()
                              << " replicas (" << what << " " << i
                              << " is per_replica), so there is no program for one device to "
                                 "compare it with";
  return success();
}

static LogicalResult keepFirst(ReplicateOp op) {
  if (failed(checkModes(op, op.getInputs(), "input")) ||
      failed(checkModes(op, op.getOutputs(), "output")))
    return failure();
  Builder builder(op.getContext());
  op.setDevicesAttr(builder.getArrayAttr(op.getDevices()[0]));
  op.removeWeightsAttr(); // the first one's may be zero
  return success();
}

namespace {
struct KeepFirstReplica : gantry::impl::KeepFirstReplicaPassBase<KeepFirstReplica> {
  void runOnOperation() override {
    bool any = false;
    auto result = getOperation().walk([&](ReplicateOp op) {
      any = true;
      return failed(keepFirst(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!any) {
      getOperation().emitError("the graph has no gantry.replicate, so there are no replicas to "
                               "compare with one device; give --replicate to make some");
      return signalPassFailure();
    }
    for (auto variable : llvm::make_early_inc_range(getOperation().getOps<VariableOp>()))
      if (variable.getMirrorOf() && SymbolTable::symbolKnownUseEmpty(variable, getOperation()))
        variable.erase();
  }
};
} // namespace
