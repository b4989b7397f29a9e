// Which placement becomes the plan. The search believes to know what a step takes, but memory is
// laid out behind it: so plans of its best candidates are made, and of what a repair
// (--over-limit=fix) makes of placements that have no room, and the fastest plan wins.
#pragma once

#include "MemoryBudget.h"
#include "PlacementSearch.h"

namespace gantry {

/// A plan, or how far it came.
struct TriedPlan {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::LogicalResult ran = llvm::failure();
  bool isPlaced = false;
  bool isOverLimit = false;     ///< failed, and that for want of memory
  double seconds = 0;           ///< of a run, as the plan's own clock has it; 0: not planned so far
  std::vector<int64_t> missing; ///< bytes over the limits, by logical device
  std::vector<int64_t> waitedFor; ///< bytes more that it would have to have, not to wait for memory
  bool isLearnedFrom = false;     ///< the search believes it to take something else now
  std::vector<mlir::Diagnostic> heard;
  std::vector<std::string> limitSteps; ///< of a repair
  std::string lock;                    ///< where it puts each op, if that was asked for
  Predictions predictions;
  std::vector<std::string> findings;           ///< of the search
  CompileOptions options;                      ///< of the phases behind Place
  mlir::OwningOpRef<mlir::ModuleOp> suggested; ///< before Place

  bool isBetter(const TriedPlan &other) const {
    return succeeded(ran) && (failed(other.ran) || seconds < other.seconds * (1 - 1e-9));
  }
};

/// Places a module that has suggestions and runs the phases behind that.
using PlanModule = llvm::function_ref<TriedPlan(mlir::OwningOpRef<mlir::ModuleOp> suggested,
                                                const CompileOptions &options)>;

/// The best plan of a module after Replicate that was found, with what the search has to say; where
/// nothing fits, the plan that misses least. `isPlanned`: the phases go to Memory, so that plans
/// can be compared. Fails where the search does.
llvm::FailureOr<TriedPlan> choosePlan(mlir::ModuleOp module, const CompileOptions &options,
                                      bool isPlanned, LoweredKernels &lowered, PlanModule plan,
                                      TellProgress tell);

} // namespace gantry
