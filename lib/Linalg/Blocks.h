// Tensor computations that several lowerings are put together from. All work in the compute type
// (f32 for f16 and bf16) and leave the rounding to the caller.
#pragma once

#include "gantry/Linalg/Emitter.h"

namespace gantry {

/// What a reduction combines with.
enum class Combine { Sum, Product, Maximum, Minimum };

/// Reduces `axes` of `input`, which disappear, after `prepare` (null: as it is) has been applied to
/// each widened element. The result has the compute type of the input.
mlir::Value reduceAxes(Emitter &b, mlir::Value input, llvm::ArrayRef<int64_t> axes, Combine combine,
                       bool isUnsigned = false,
                       llvm::function_ref<mlir::Value(Emitter &, mlir::Value)> prepare = nullptr);

/// Reads a value without dimensions `axes` from loops over the full shape of `rank` dimensions.
Operand withoutAxes(Emitter &b, mlir::Value value, unsigned rank, llvm::ArrayRef<int64_t> axes);

/// e^x / sum e^x, or its logarithm, along `axis`; result in the compute type.
mlir::Value softmaxAlong(Emitter &b, mlir::Value input, int64_t axis, bool logarithm);

/// A contraction over inputs of one type: sum of products into `shape` by `resultMap`; result in
/// the compute type.
mlir::Value sumOfProducts(Emitter &b, llvm::ArrayRef<int64_t> shape, mlir::AffineMap resultMap,
                          llvm::ArrayRef<Operand> inputs, Emitter::Iterators iterators);

/// [..., m, k] x [..., k, n], batch dimensions broadcast, operands transposed as asked.
mlir::Value multiplyMatrices(Emitter &b, mlir::Value lhs, mlir::Value rhs, bool transposeLhs,
                             bool transposeRhs);

} // namespace gantry
