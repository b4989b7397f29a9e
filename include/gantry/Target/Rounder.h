// Factors that targets round to 16 bits (--math), once for all that read them.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace gantry {

class Rounder {
public:
  explicit Rounder(mlir::FloatType element) : builder(element.getContext()), element(element) {}

  /// The value in the short type, for an operand of `user`: a constant, or what only moves the
  /// elements of one, is rounded here and now, others by a cast behind what makes them.
  mlir::Value round(mlir::Value value, mlir::Operation *user, llvm::StringRef suffix);
  /// The same, the cast being in front of moves that are for this use alone: next to what computes
  /// the elements.
  mlir::Value roundBeforeMoves(mlir::Value value, mlir::Operation *user, llvm::StringRef suffix);
  /// Both factors of a product, cast in front of moves; its sums stay f32.
  void narrow(MatmulOp product);

  /// Moves and borders that nobody reads any more. Once nothing else is rounded: a value that is
  /// known here is not erased before.
  static void eraseUnused(mlir::func::FuncOp func);

protected:
  mlir::OpBuilder builder;
  mlir::FloatType element;

private:
  mlir::Value roundConstant(mlir::Value value);
  /// The op again, which only moves elements, of `source`.
  mlir::Value moveAgain(mlir::Operation *move, mlir::Value source);

  llvm::DenseMap<mlir::Value, mlir::Value> rounded;
};

} // namespace gantry
