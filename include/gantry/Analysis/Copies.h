// The copies of a function as budgets count them (spec X4): asked by the check, and by the search
// for a placement that passes it.
#pragma once

#include "gantry/Analysis/Homes.h"
#include "gantry/Device/CopyBudget.h"

namespace gantry {

struct CountedCopy {
  CopyOp op;
  std::optional<CopyDirection> direction; ///< nothing for what no budget counts
  uint64_t bytes;
  bool inLoop; ///< runs an unknown number of times, so that no budget can hold

  mlir::Location loc() const { return CopyOp(op).getLoc(); }
};

/// All copies of a placed function, in program order. What stays where it is has no direction, and
/// neither have constants, which are copied once.
llvm::SmallVector<CountedCopy> countCopies(mlir::func::FuncOp func, const Homes &homes);

/// The budget of the function itself, else the one that `others` have. Errors as parseCopyBudget.
Expected<CopyBudget> copyBudgetOf(mlir::func::FuncOp func, const CopyBudget &others);

} // namespace gantry
