// Gradients of filters where their operands lie.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// On a filter's gradient, on the convolution that it becomes, and on what goes into its kernel.
inline constexpr llvm::StringLiteral kByTermsAttr = "gantry.by_terms";

/// Those convolutions in `func` that have the channels last read both operands as they lie, in
/// orders that their kernels carry out.
void readFiltersByTerms(mlir::func::FuncOp func);

/// Whether an op gives such a convolution an operand in its order.
bool turnsForTerms(mlir::Operation *op);

} // namespace gantry
