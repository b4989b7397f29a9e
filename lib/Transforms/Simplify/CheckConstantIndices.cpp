// Refuses constant indices that are out of range, where constants decide them before anything is
// folded. What folding makes constant later on is judged with the run-time checks
// (InsertIndexChecks.cpp).

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
    getOperation().walk(
        [&](IndexingOpInterface op) { refused |= judgeIndices(op) == IndexState::refused; });
    if (refused)
      signalPassFailure();
  }
};
} // namespace
