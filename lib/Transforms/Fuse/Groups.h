// Which ops of a block become one kernel, as the targets of their devices let them.
#pragma once

#include "gantry/Analysis/KernelGroups.h"

namespace gantry {

class TargetMap;

/// The kernels of a block in the order of their places. Without `fuse` each op is one.
std::vector<KernelGroup> kernelGroupsOf(mlir::Block &block, const TargetMap &targets,
                                        bool fuse = true);

/// Whether `op`, all of whose users are in `group`, may be computed there for all targets that have
/// to share the kernel. The group's root comes first.
bool mayJoinGroup(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group,
                  const TargetMap &targets);

} // namespace gantry
