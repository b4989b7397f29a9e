// What one element of an elementwise op's result is, as scalar ops.
//
// Apart from the patterns so that every emitter of fused code (linalg bodies, GPU kernels,
// epilogues of contractions) computes the same thing.
#pragma once

#include "mlir/IR/Builders.h"

namespace gantry {

class Emitter;

/// One element of the result of `op` from one element of each operand; null when there is no such
/// formula. `scalars` and the value
/// returned have signless storage types; the op's own types tell signed from unsigned. f16 and bf16
/// are computed in f32.
mlir::Value emitScalar(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::ValueRange scalars);

/// Converts one element as gantry.cast does. `from` and `to` are element types with signs.
mlir::Value emitCast(Emitter &b, mlir::Value scalar, mlir::Type from, mlir::Type to);

/// Parts of emitScalar: null when the op is not one of theirs. `x` are widened floats.
mlir::Value emitFloatScalar(mlir::Operation *op, Emitter &b, mlir::ValueRange x);
mlir::Value emitIntegerScalar(mlir::Operation *op, Emitter &b, mlir::ValueRange x, bool isUnsigned);

} // namespace gantry
