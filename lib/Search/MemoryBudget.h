// Memory-budget repair: what is tried when a plan does not fit (spec M2, --over-limit=fix): above
// the pipeline, which stays a pure function of its options.
#pragma once

#include "gantry/Pipeline/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gantry {

/// Runs the phases after Place.
using RunRest = llvm::function_ref<llvm::LogicalResult(const CompileOptions &)>;

/// Hears how far a search has come.
using TellProgress = llvm::function_ref<void(llvm::StringRef)>;

/// What a run of all functions of a module after Memory is predicted to take, in seconds.
double secondsOfPlan(mlir::ModuleOp module);

/// Bytes that a module after Memory takes of its devices, by number, how many of them are over the
/// limit, and how many more it would take so that nothing waits for memory.
struct PlannedBytes {
  std::vector<int64_t> taken, missing, waitedFor;
};
PlannedBytes bytesOfPlan(mlir::ModuleOp module);

/// Runs them on `module`, which is placed, again and again on copies of it: with what costs nothing
/// by the cost model, then with values computed again, the batch in more and more pieces,
/// values that wait on the host, ops on other devices, and each time more weights on the
/// host. Of what fits, the shortest step wins. Fails with the first errors. What was done is told
/// in remarks, and is in `steps` and `options`.
llvm::LogicalResult runUntilItFits(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                   CompileOptions &options, RunRest run, TellProgress tell,
                                   std::vector<std::string> &steps);

} // namespace gantry
