// What becomes of variables in a function.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// A variable that a function updates.
struct VariableUpdate {
  mlir::BlockArgument old; ///< its value at the start; null where the function does not have it
  mlir::OpOperand *next;   ///< operand of the terminator: its value at the end
};

/// In the order of the results. Of a function with a body of one block.
llvm::SmallVector<VariableUpdate> variableUpdatesOf(mlir::func::FuncOp func);

} // namespace gantry
