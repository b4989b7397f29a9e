// Factors of products as bf16 (--math), once for all that read them.
#pragma once

#include "Convolutions/Reorder.h"

namespace gantry::cpu {

class Rounder {
public:
  explicit Rounder(mlir::MLIRContext *context)
      : builder(context), reorder(builder), element(mlir::BFloat16Type::get(context)) {}

  /// The value as bf16, for an operand of `user`: a constant, or what only moves the elements of
  /// one, is rounded here and now, others by a cast behind what makes them.
  mlir::Value round(mlir::Value value, mlir::Operation *user, llvm::StringRef suffix);
  /// The same, the cast being in front of moves that are for this use alone: next to what computes
  /// the elements.
  mlir::Value roundBeforeMoves(mlir::Value value, mlir::Operation *user, llvm::StringRef suffix);

protected:
  mlir::Value roundConstant(mlir::Value value);
  /// The op again, which only moves elements, of `source`.
  mlir::Value moveAgain(mlir::Operation *move, mlir::Value source);

  mlir::OpBuilder builder;
  Reorder reorder;
  mlir::FloatType element;

private:
  llvm::DenseMap<mlir::Value, mlir::Value> rounded;
};

} // namespace gantry::cpu
