// Gradients of filters where their operands lie.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// On a filter's gradient, and so on the convolution that it becomes, within the pass that makes it
/// one.
inline constexpr llvm::StringLiteral kFilterGradientAttr = "filter_gradient";

/// Those of these convolutions that have the channels last read both operands as they lie, in
/// orders that their kernels carry out.
void readFiltersByTerms(mlir::func::FuncOp func);

} // namespace gantry
