// Tensors that are an argument of the kernel in another order: transposes, reshapes and slices of
// it, which nobody has to carry out.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace gantry::cpu {

/// Where the elements of a tensor lie in an argument, in elements.
struct Strided {
  mlir::BlockArgument argument;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< for each dimension of the tensor
};

/// Nothing when they lie nowhere, or not at a fixed step in each dimension.
std::optional<Strided> findStrided(mlir::Value tensor);

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace gantry::cpu
