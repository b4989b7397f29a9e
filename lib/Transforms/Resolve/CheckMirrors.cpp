// Whether mirrors stay equal: what replicas assign to a variable that each of them has a mirror of
// is the same on all of them (Differences.h). Otherwise weights that are told to be one would drift
// apart, run by run, and nothing would say so. Where a batch is cut into parts, a device has one
// value for all of its parts: what each part has for itself is no value of a device.

#include "Differences.h"

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKMIRRORSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// A local variable is its device's, which has several parts.
static LogicalResult checkLocal(Operation *assignment, FlatSymbolRefAttr name) {
  auto region = assignment->getParentOfType<ReplicateOp>();
  if (!region.getParts())
    return success();
  return assignment->emitOpError()
         << "assigns '" << name
         << "', which each device has for itself, a value that may differ between the parts of the "
            "batch, of which a device has several; assign what gantry.all_reduce makes of it, or "
            "leave 'parts' out";
}

/// Results of devices are the same for all of a device's parts.
static LogicalResult checkResults(ReplicateOp op, const Differences &differences) {
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  for (auto [i, mode, value] : llvm::enumerate(op.getOutputModes(), yielded)) {
    if (!op.getParts() || !mode.is(ReplicaKind::PerReplica) || !differences.contains(value))
      continue;
    InFlightDiagnostic error =
        op.emitOpError() << "gives result " << i
                         << " per_replica, one for each device, and it may differ between the "
                            "parts of the batch, of which a device has several; give it as gather, "
                            "sum or mean";
    differences.explain(value, error);
    return error;
  }
  return success();
}

static LogicalResult check(Operation *assignment, const Differences &differences,
                           const SymbolTable &symbols) {
  Value reason = differences.reasonOf(assignment);
  if (!reason)
    return success();
  FlatSymbolRefAttr name = getAccessedVariable(assignment);
  auto variable = symbols.lookup<VariableOp>(name.getAttr());
  if (!variable || variable.getCentral())
    return success();
  if (variable.getLocal())
    return checkLocal(assignment, name);
  InFlightDiagnostic error =
      assignment->emitOpError()
      << "assigns '" << name
      << "', of which each replica has a mirror, a value that may differ between the replicas, so "
         "that the mirrors would; assign what gantry.all_reduce makes of it, or declare the "
         "variable local";
  differences.explain(reason, error);
  return error;
}

namespace {
struct CheckMirrors : gantry::impl::CheckMirrorsPassBase<CheckMirrors> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Differences differences(getOperation());
    const SymbolTable symbols(getOperation());
    auto result = getOperation().walk([&](Operation *op) {
      if (auto region = dyn_cast<ReplicateOp>(op))
        return failed(checkResults(region, differences)) ? WalkResult::interrupt()
                                                         : WalkResult::advance();
      return isa<AssignOp, AssignAddOp>(op) && failed(check(op, differences, symbols))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
