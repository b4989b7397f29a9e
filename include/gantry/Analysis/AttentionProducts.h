// Which products of a graph are attention: what exporters write as ops.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace gantry {

/// The products of softmax with the values, and those that softmax is made of element by element.
llvm::SetVector<MatmulOp> productsOfAttention(mlir::func::FuncOp func);

} // namespace gantry
