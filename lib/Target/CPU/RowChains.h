// Layer norms and their like as exporters write them: chains of means, sums or maxima along the
// last dimension and of what is computed from them, element by element.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::cpu {

using RowChain = llvm::SmallVector<mlir::Operation *, 16>;

/// The ops of such a chain that ends with `root`, which is not in it: all of them are for it alone.
/// None if `root` ends no chain.
RowChain findRowChain(mlir::Operation *root);

} // namespace gantry::cpu
