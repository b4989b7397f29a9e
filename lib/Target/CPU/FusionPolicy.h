// Which ops share a kernel on CPUs.
#pragma once

#include "mlir/IR/Operation.h"

namespace gantry {

/// Whether `op` can be computed in the kernel of `group`, all its users being there. The group's
/// root comes first.
bool fitsGroup(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group);

} // namespace gantry
