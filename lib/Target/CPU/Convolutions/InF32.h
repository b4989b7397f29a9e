// Convolutions that are computed in f32.
#pragma once

#include "Reorder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Puts a convolution of f32 between casts in the place of `conv`. `filter` is the filter as f32;
/// null: that is cast, too.
void computeInF32(mlir::OpBuilder &builder, Reorder &reorder, ConvOp conv, mlir::Value filter);

/// Convolutions of f16 and bf16 for which `isOurs` become ones of f32 between casts. That changes
/// no bit: these are sums of f32 that are rounded once (docs/Arithmetic.md).
void computeHalvesInF32(mlir::func::FuncOp func,
                        llvm::function_ref<bool(mlir::Operation *)> isOurs);

} // namespace gantry
