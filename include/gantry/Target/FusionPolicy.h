// Which ops share a kernel, where elementwise chains do and nothing is made in between.
#pragma once

#include "mlir/IR/Operation.h"

namespace gantry {

/// Whether a group with `op` is not too long, nor has it too many operands.
bool fitsSizeOfGroup(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group);

/// Whether `op` can be computed in the kernel of `group`, all its users being there. The group's
/// root comes first.
bool fitsElementwiseGroup(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group);

} // namespace gantry
