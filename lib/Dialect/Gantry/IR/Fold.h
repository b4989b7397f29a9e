// Folding of all ops alike; see Fold.cpp.
#pragma once

#include "mlir/Interfaces/FoldInterfaces.h"

namespace gantry {

/// Asked where an op's own folder has nothing to say: gives the result of integer ops on constants.
struct ConstantFolder : mlir::DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  llvm::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

} // namespace gantry
