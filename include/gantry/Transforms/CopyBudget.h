// What the check of copy budgets (spec X4) knows and the search for a placement has to ask.
#pragma once

#include "gantry/Device/CopyBudget.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace gantry {

/// The pass gantry-check-copy-budget with the budget of functions that have none themselves.
std::unique_ptr<mlir::Pass> createCheckCopyBudgetPass(const CopyBudget &others);

/// The budget of the function itself, else the one that `others` have. Errors as parseCopyBudget.
Expected<CopyBudget> copyBudgetOf(mlir::func::FuncOp func, const CopyBudget &others);

/// Calls `visit` for the copies in loops, which no budget of their direction can hold. The module
/// has been placed and has its copies; constants, which are copied once, are left out.
void forEachCopyInLoop(mlir::func::FuncOp func,
                       llvm::function_ref<void(CopyOp, CopyDirection)> visit);

} // namespace gantry
