// Which ops become one kernel: asked by Fuse, which makes them, and by whoever predicts them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Ops of one kernel in the order of the block; the last one's results are the kernel's.
using KernelGroup = llvm::SmallVector<mlir::Operation *, 4>;

/// Whether `op`, all of whose users are in `group`, may be computed there: a target's answer
/// (gantry/Target/Target.h), and what else forbids it. The group's root comes first.
using MayJoin =
    llvm::function_ref<bool(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group)>;

/// The kernels of a block (not of regions in it), in the order of their last ops.
std::vector<KernelGroup> groupIntoKernels(mlir::Block &block, MayJoin mayJoin);

/// A constant that is cheaper inside the kernels that read it than as an argument.
bool belongsInKernel(mlir::Value value);

} // namespace gantry
