// Machine code in parts, which threads share.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace gantry {

/// Calls `emit` for 0 … count-1, in parallel where the context has threads. How code is cut into
/// parts must not depend on how many there are. Each part is an action: whoever handles the
/// context's actions may skip it, which fails without a word.
llvm::LogicalResult emitParts(mlir::MLIRContext *context, size_t count,
                              llvm::function_ref<llvm::LogicalResult(size_t)> emit);

} // namespace gantry
