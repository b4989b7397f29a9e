// Which ops the CPU computes in one kernel.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::cpu {

/// Whether `op`, all of whose users are in `group`, may be computed there; the group's root is the
/// first one in it.
bool mayJoin(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> group);

/// Whether two groups may be one kernel with the results of both: all is computed element by
/// element, in one loop. Their roots come first.
bool mayMerge(llvm::ArrayRef<mlir::Operation *> first, llvm::ArrayRef<mlir::Operation *> second);

/// How many rows there are where a reduction of all elements is to go row by row, and then over
/// what these gave; how many parts of the rows where one over very many of them is to go part by
/// part; else 1.
int64_t partsOfReduction(mlir::Operation *op);

} // namespace gantry::cpu
