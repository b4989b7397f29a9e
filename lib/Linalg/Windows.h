// What lowerings of windows that slide over images have in common.
#pragma once

#include "Blocks.h"

#include "gantry/Dialect/Gantry/IR/Layout.h"

namespace gantry {

/// Loops that are added one by one, each with its size and kind.
struct Loops {
  Emitter &b;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;

  mlir::AffineExpr add(mlir::utils::IteratorType kind, int64_t size) {
    if (size == 1 && kind == mlir::utils::IteratorType::reduction)
      return b.getAffineConstantExpr(0);
    iterators.push_back(kind);
    return b.dim(iterators.size() - 1);
  }
  mlir::AffineExpr parallel(int64_t size) { return add(mlir::utils::IteratorType::parallel, size); }
  mlir::AffineExpr reduction(int64_t size) {
    return add(mlir::utils::IteratorType::reduction, size);
  }
  llvm::SmallVector<mlir::AffineExpr> reductions(llvm::ArrayRef<int64_t> sizes) {
    return llvm::map_to_vector(sizes, [&](int64_t size) { return reduction(size); });
  }
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return b.mapOf(iterators.size(), exprs);
  }
};

/// Products added up one by one: they may be contracted, never reordered, or the forms of a
/// convolution would differ.
mlir::Value sumOfWindows(Emitter &b, llvm::ArrayRef<int64_t> shape, mlir::AffineMap resultMap,
                         llvm::ArrayRef<Operand> inputs, Emitter::Iterators iterators, Signs signs);

/// Splits dimension `position` of size s into [groups, s / groups].
mlir::Value splitGroups(Emitter &b, mlir::Value value, unsigned position, int64_t groups);

} // namespace gantry
