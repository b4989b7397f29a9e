// Whether the replicas of a region meet in every collective: each condition above one has to be the
// same on all of them (Differences.h). A mean is of what replicas have for themselves: what has the
// share of one in it already would be weighed twice.

#include "Differences.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// What decides whether, or how often, a region of `op` runs; null when nothing does.
static Value conditionAt(Operation *op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return branch ? conditionOf(branch) : Value();
}

static LogicalResult check(AllReduceOp op, const Differences &differences) {
  auto replicas = op->getParentOfType<ReplicateOp>();
  if (!replicas)
    return op.getDevices() ? success()
                           : op.emitOpError("outside of gantry.replicate needs devices, one for "
                                            "each value");
  if (op.getDevices())
    return op.emitOpError("in a replicated region takes one value and no devices");
  for (Operation *above = op->getParentOp(); above != replicas; above = above->getParentOp()) {
    Value condition = conditionAt(above);
    if (!condition || !differences.contains(condition))
      continue;
    InFlightDiagnostic error =
        op.emitOpError() << "is inside of a " << above->getName()
                         << " whose condition may differ between the replicas, so that not all of "
                            "them would take part; compute the condition from what they have in "
                            "common: constants, broadcast inputs, results of gantry.all_reduce";
    error.attachNote(condition.getLoc()) << "the condition";
    differences.explain(condition, error);
    return error;
  }
  return success();
}

static LogicalResult refuseMean(Operation *op, Value value, const Differences &shares,
                                StringRef what) {
  if (!shares.contains(value))
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "takes the mean of " << what
                             << " that has the replica's share in it, so that its rows would weigh "
                                "twice; add them up: sum in the place of mean";
  shares.explain(value, error);
  return error;
}

/// Of each all-reduce and each result of a region.
static LogicalResult checkMeans(ModuleOp module, const Differences &shares) {
  auto result = module.walk([&](Operation *op) {
    if (auto reduce = dyn_cast<AllReduceOp>(op))
      return reduce.getKind() == CombineKind::Mean &&
                     failed(refuseMean(op, reduce.getValues().front(), shares, "a value"))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    auto region = dyn_cast<ReplicateOp>(op);
    if (!region || !region.isSplit())
      return WalkResult::advance();
    ValueRange yielded = region.getBody().front().getTerminator()->getOperands();
    for (auto [i, mode, value] : llvm::enumerate(region.getOutputModes(), yielded))
      if (mode.is(ReplicaKind::Mean) &&
          failed(refuseMean(op, value, shares, "result " + std::to_string(i))))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct CheckCollectives : gantry::impl::CheckCollectivesPassBase<CheckCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Differences differences(getOperation());
    auto result = getOperation().walk([&](AllReduceOp op) {
      return failed(check(op, differences)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted() ||
        failed(checkMeans(getOperation(), Differences(getOperation(), Differences::Of::shares))))
      signalPassFailure();
  }
};
} // namespace
