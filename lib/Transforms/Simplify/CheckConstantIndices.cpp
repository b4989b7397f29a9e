// Refuses constant indices that are out of range: as constants decide them before anything is
// folded, and once more when folding has made others constant. Of the rest --check-indices makes
// checks in the run (InsertIndexChecks.cpp).
//
// A branch that constants rule out, and the body of a loop that never begins, may hold anything: it
// is written for sizes that this graph does not have.

#include "Indices.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKCONSTANTINDICESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct CheckConstantIndices : gantry::impl::CheckConstantIndicesPassBase<CheckConstantIndices> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool refused = false;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (neverRuns(op->getBlock()))
        return WalkResult::skip();
      auto reader = dyn_cast<IndexingOpInterface>(op);
      if (reader && !marksNothingOutside(reader))
        refused |= judgeIndices(reader) == IndexState::refused;
      return WalkResult::advance();
    });
    if (refused)
      signalPassFailure();
  }
};
} // namespace
