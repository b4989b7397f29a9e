// int8 products in forms that there are kernels for.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Of those for which `isOurs`, convolutions get whole words of channels, or become convolutions of
/// f32 where those are exact; products with constant weights become convolutions with the channels
/// last.
void putInt8InForm(mlir::func::FuncOp func, llvm::function_ref<bool(mlir::Operation *)> isOurs);

} // namespace gantry
