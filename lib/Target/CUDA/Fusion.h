// Which ops share a kernel on GPUs, and which are better two (docs/designs/gpu-code.md).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::gpu {

/// Whether `op` is computed in the kernel of `group`, all its users being there. The group's root
/// comes first; `config` says what kernels are for.
bool fitsGroup(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group, TargetAttr config);

/// Into how many parts each row of a reduction is cut, which then are reduced themselves, so that a
/// few long rows give all of a GPU something to do; 1: into none.
int64_t partsOfRows(mlir::Operation *op);

} // namespace gantry::gpu
