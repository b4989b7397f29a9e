// Which reductions of a kernel are worth computing once for many elements of its result, and for
// which of them.
//
// A block of threads computes the elements that agree in some dimensions of the result, its *rows*.
// Softmax has one maximum for each row of elements: the dimensions in front are those of the rows,
// and the maximum is *kept*, computed by the whole block before the elements that need it. A matrix
// product is computed for its own element only, and nothing is kept.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace gantry::gpu {

/// An op, mostly a reduction, whose results, as far as a block needs them, are computed before what
/// reads them.
struct Kept {
  mlir::linalg::GenericOp op;
  /// For each dimension of the result: the dimension of the kernel's result whose index it has, or
  /// -1 where the block needs all of them.
  llvm::SmallVector<int64_t> dims;
};

struct Sharing {
  llvm::SmallVector<Kept> kept;     ///< in the order in which they can be computed
  llvm::SmallVector<unsigned> rows; ///< dimensions of the kernel's result that number the blocks
};

/// Looks at everything that `result` is computed from.
Sharing findSharing(mlir::Value result);

/// Where tensors are read on the way to an element of `result`.
class Alignment {
public:
  explicit Alignment(mlir::Value result);
  /// Whether every access to `tensor` is at the element's own indices; they have one shape then.
  bool isAligned(mlir::Value tensor) const;
  /// For each dimension of `tensor`, the one of the result at whose index it is read, or -1; empty
  /// when it is not read.
  llvm::ArrayRef<int64_t> dimsOf(mlir::Value tensor) const;

private:
  mlir::Value result;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> dims;
};

} // namespace gantry::gpu
