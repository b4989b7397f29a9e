// Result types anew, after operands got other shapes.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Gives the op, and what is in its regions, the result types that follow from its operands. Fails
/// with an error at an op whose operands do not fit any more.
llvm::LogicalResult inferTypesAgain(mlir::Operation &op);

/// The same for every op of a region of one block, in program order: operands come first.
llvm::LogicalResult inferTypesAgain(mlir::Region &region);

} // namespace gantry
