// Which ops the CPU computes in one kernel.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::cpu {

/// Whether `op`, all of whose users are in `group`, may be computed there; the group's root is the
/// first one in it.
bool mayJoin(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group);

} // namespace gantry::cpu
