// How values flow through branches and loops, by MLIR's interfaces alone: which operand may become
// which result or argument of a region, and which operands only steer.
#pragma once

#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace gantry {

/// Calls `visit` for each operand, of `op` or of the end of one of its regions, and each result of
/// `op` or argument of a region that it may become; operands of `op` first, then region by region.
void forEachFlow(mlir::RegionBranchOpInterface op,
                 llvm::function_ref<void(mlir::OpOperand &source, mlir::Value input)> visit);

/// The operand of `op` itself that may become `input`, a result or an argument of a region; null
/// when none does.
mlir::OpOperand *initialSource(mlir::RegionBranchOpInterface op, mlir::Value input);

/// The operands of the regions' ends that may, in the order of the regions.
llvm::SmallVector<mlir::OpOperand *> yieldedSources(mlir::RegionBranchOpInterface op,
                                                    mlir::Value input);

/// The result that the value of `use` may become; null for one that steers, and for a use by
/// anything else than a branch, a loop or the end of a region of these.
mlir::OpResult resultOf(mlir::OpOperand &use);

/// The result that gets the same values as an argument of a region: what a loop carries.
mlir::OpResult resultOf(mlir::BlockArgument argument);

/// The value that decides which way control goes; null where it can go in one way alone.
mlir::Value conditionOf(mlir::RegionBranchOpInterface op);

/// Whether no region runs in the same run of the op as another.
bool runsOneRegion(mlir::RegionBranchOpInterface op);

} // namespace gantry
