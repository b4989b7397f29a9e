// Reshapes cost nothing on a kernel's own buffers: what is behind them is what counts.
#pragma once

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace gantry {

/// The value that has the elements of `value` before any reshape.
inline mlir::Value skipReshapes(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!mlir::isa<mlir::tensor::CollapseShapeOp, mlir::tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

} // namespace gantry
