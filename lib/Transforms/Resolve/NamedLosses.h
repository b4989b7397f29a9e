// Losses that a command line asks for by name: the mean over all rows of what an output and labels
// say, with the formulas of gantry.losses in Python.
//
// `scce`, `cce` and `bce` take logits. Of an output that a softmax or sigmoid gives, its operand is
// taken: the logarithm of a rounded probability would be a worse one.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace gantry {

/// Their names, sorted.
llvm::ArrayRef<llvm::StringRef> namedLosses();

/// What the loss compares an output of this type with; null where it takes no such output, and
/// `why` says what it takes.
mlir::RankedTensorType labelsFor(llvm::StringRef loss, mlir::RankedTensorType output,
                                 std::string &why);

/// The loss, a scalar of floats.
mlir::Value makeLoss(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef loss,
                     mlir::Value output, mlir::Value labels);

} // namespace gantry
