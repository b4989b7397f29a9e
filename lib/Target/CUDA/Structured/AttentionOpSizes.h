// The sizes of the op of attention.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::gpu {

/// Queries [batch..., queries, depth], keys [batch..., keys, depth], values [batch..., keys,
/// width].
struct AttentionOpSizes {
  int64_t batch, queries, keys, depth, width;

  explicit AttentionOpSizes(AttentionOp op) {
    llvm::ArrayRef<int64_t> q = llvm::cast<mlir::ShapedType>(op.getQuery().getType()).getShape();
    llvm::ArrayRef<int64_t> v = llvm::cast<mlir::ShapedType>(op.getValue().getType()).getShape();
    batch = mlir::ShapedType::getNumElements(q.drop_back(2));
    queries = q[q.size() - 2];
    depth = q.back();
    keys = v[v.size() - 2];
    width = v.back();
  }
};

} // namespace gantry::gpu
