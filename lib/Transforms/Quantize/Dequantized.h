// Values that stand for bytes: how importers write them, found again.
//
//   centred   cast(bytes) - zero point, in i32 or in f32
//   scaled    centred * scale, in f32
#pragma once

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

struct Centred {
  mlir::Value bytes; ///< i8 or ui8, of the same shape; or an i32 constant, where that was folded
  mlir::Value zero;  ///< i32, broadcast to it; null for zero
  llvm::SmallVector<mlir::Operation *, 4> ops; ///< that compute it from them

  static std::optional<Centred> match(mlir::Value value);
};

struct Scaled {
  Centred centred;
  mlir::Value scale; ///< f32, decided by constants

  static std::optional<Scaled> match(mlir::Value value);
};

/// A number of f32 times one that was an integer: integer * scale, the scale decided by constants.
struct ScaledInteger {
  CastOp number;
  mlir::Value scale;

  static std::optional<ScaledInteger> match(mlir::Value value);
};

/// Elements along dimension `dim` of a value of `shape` to which `value` is broadcast, if it is the
/// same along all others: one element for all, or one for each index.
std::optional<KnownElements> elementsAlong(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                                           int64_t dim);

} // namespace gantry
