// Products and convolutions of f16 and bf16 that give their accumulators, of f32
// (docs/designs/precision.md).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Of a product or convolution of a graph, or of the linalg op that it becomes: whether its result
/// is the accumulators, of f32, though its operands are narrower.
inline bool givesAccumulators(mlir::Operation *op) {
  if (auto matmul = llvm::dyn_cast<MatmulOp>(op))
    return matmul.getAccumulateTypeAttr() != nullptr;
  if (auto conv = llvm::dyn_cast<ConvOp>(op))
    return conv.getAccumulateTypeAttr() != nullptr;
  return op->hasAttr(kAccumulateWideAttr);
}

/// Makes a product or convolution of a graph one, whose operands are narrow already.
template <typename Op>
void giveAccumulators(Op op) {
  op.setAccumulateTypeAttr(mlir::TypeAttr::get(mlir::Float32Type::get(op->getContext())));
}

} // namespace gantry
