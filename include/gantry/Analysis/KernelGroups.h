// Which ops become one kernel: asked by Fuse, which makes them, and by whoever predicts them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Ops of one kernel in the order of the block; the last one's results are the kernel's.
using KernelGroup = llvm::SmallVector<mlir::Operation *, 4>;

/// The kernels of a block (not of regions in it), in the order of their last ops. `mayJoin(op,
/// root)` says whether `op` may be in the kernel of `root`; what it forbids stays apart.
std::vector<KernelGroup>
groupIntoKernels(mlir::Block &block,
                 llvm::function_ref<bool(mlir::Operation *op, mlir::Operation *root)> mayJoin);

/// A constant that is cheaper inside the kernels that read it than as an argument.
bool belongsInKernel(mlir::Value value);

} // namespace gantry
