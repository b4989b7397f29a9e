// Which ops become one kernel: asked by Fuse, which makes them, and by whoever predicts them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/DenseMap.h"

namespace gantry {

/// Ops of one kernel.
struct KernelGroup {
  llvm::SmallVector<mlir::Operation *, 4> ops;   ///< in the order of the block
  llvm::SmallVector<mlir::Operation *, 1> roots; ///< whose results are the kernel's, in that order
  mlir::Operation *place; ///< the op of the group in whose place the kernel can run
};

/// Whether `op`, all of whose users are in `group`, may be computed there: a target's answer
/// (gantry/Target/Target.h), and what else forbids it. The group's root comes first.
using MayJoin =
    llvm::function_ref<bool(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group)>;

/// Whether two groups may be one kernel, which then has the results of both.
using MayMerge =
    llvm::function_ref<bool(llvm::ArrayRef<mlir::Operation *>, llvm::ArrayRef<mlir::Operation *>)>;

/// The kernels of a block (not of regions in it), in the order of their places.
std::vector<KernelGroup> groupIntoKernels(mlir::Block &block, MayJoin mayJoin, MayMerge mayMerge);

/// The ops of a kernel as targets are asked of them.
llvm::SmallVector<mlir::Operation *> rootsFirst(const KernelGroup &group);

/// Where the ops of a block stand, and where they run; `groups` may change and have to outlive it.
struct KernelPlaces {
  mlir::Block &block;
  const std::vector<KernelGroup> &groups;
  llvm::DenseMap<mlir::Operation *, size_t> placeOf; ///< of the ops of the block
  llvm::DenseMap<mlir::Operation *, size_t> groupOf;

  KernelPlaces(mlir::Block &block, const std::vector<KernelGroup> &groups);

  /// The place of an op's kernel; of an op in a region, or without a kernel, that of the block's
  /// op.
  size_t runsAt(mlir::Operation *op) const;
};

/// A constant that is cheaper inside the kernels that read it than as an argument.
bool belongsInKernel(mlir::Value value);

} // namespace gantry
