// Products of narrow factors that keep their sums in f32 (docs/decisions/0056).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace gantry {

/// On a product of f16 or bf16, or a convolution: its result is the sums, of f32, and pairs of bf16
/// are added as processors add them. The compiler makes such products of those of f32 (--math); the
/// linalg op that a product becomes carries it, too.
inline constexpr llvm::StringLiteral kWideAttr = "gantry.wide";

inline bool isWide(mlir::DictionaryAttr attributes) {
  return attributes && attributes.contains(kWideAttr);
}
inline bool isWide(mlir::Operation *op) { return op->hasAttr(kWideAttr); }

inline void setWide(mlir::Operation *op) {
  op->setDiscardableAttr(kWideAttr, mlir::UnitAttr::get(op->getContext()));
}

} // namespace gantry
