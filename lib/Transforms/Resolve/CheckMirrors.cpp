// Whether mirrors stay equal: what replicas assign to a variable that each of them has a mirror of
// is the same on all of them (Differences.h). Otherwise weights that are told to be one would drift
// apart, run by run, and nothing would say so.

#include "Differences.h"

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKMIRRORSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static LogicalResult check(Operation *assignment, const Differences &differences,
                           const SymbolTable &symbols) {
  Value reason = differences.reasonOf(assignment);
  if (!reason)
    return success();
  FlatSymbolRefAttr name = getAccessedVariable(assignment);
  auto variable = symbols.lookup<VariableOp>(name.getAttr());
  if (!variable || variable.getCentral() || variable.getLocal())
    return success();
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
      return isa<AssignOp, AssignAddOp>(op) && failed(check(op, differences, symbols))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
