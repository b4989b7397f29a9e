// Convolutions of pairs of channels (--math=bf16).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Whether a convolution of f32 has a kernel for operands rounded to bf16: by shapes alone, so that
/// what is rounded does not depend on what a reorder costs.
bool hasPairs(ConvOp conv);

/// Fills channels of convolutions of bf16 up with zeros where they are no pairs.
void fillPairs(mlir::func::FuncOp func, llvm::function_ref<bool(mlir::Operation *)> isOurs);

} // namespace gantry
