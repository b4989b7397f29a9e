// Attention in a kernel: a product whose left operand is computed from the rows of another product.
//
//   scores  = queries * keys            and what follows from them element by element
//   weights = what rows of scores give  a softmax, most of the time
//   result  = weights * values          and what follows from that
//
// What stands between the products is not named: ops over rows of scores, each element by element
// or a reduction along the row. So scales, masks, caps and causal attention need no case.
#pragma once

#include "gantry/Linalg/Product.h"

namespace gantry {

struct AttentionForm {
  Product scores, context;
  mlir::Value root;                                  ///< what the kernel stores
  mlir::Value inner;                                 ///< the same before it is put in another order
  mlir::Value first;                                 ///< the scores as ops over rows read them
  mlir::Value weights;                               ///< what they make
  llvm::SmallVector<mlir::linalg::GenericOp> rowOps; ///< in their order
};

/// What `root` is, if that is attention. Both products have one matrix for each index of the
/// leading dimensions, with rows and columns in the last two.
std::optional<AttentionForm> findAttention(mlir::Value root);

/// What a reduction begins with, if that is a constant, else null.
mlir::TypedAttr startOf(mlir::linalg::GenericOp op);

} // namespace gantry
