// Convolutions of rounded factors (--math).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Of those for which `isOurs`, convolutions of f32 that have kernels for pairs of channels get
/// factors of bf16; their sums stay f32.
void narrowConvolutions(mlir::func::FuncOp func,
                        llvm::function_ref<bool(mlir::Operation *)> isOurs);

} // namespace gantry
