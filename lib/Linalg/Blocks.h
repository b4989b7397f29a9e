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

/// e^x / sum e^x along `axis`; result in the compute type.
mlir::Value softmaxAlong(Emitter &b, mlir::Value input, int64_t axis);

/// Its logarithm.
mlir::Value logSoftmaxAlong(Emitter &b, mlir::Value input, int64_t axis);

/// How the factors of a contraction become numbers of the type that sums have: bytes i32, by the
/// sign of each, others their compute type.
struct Signs {
  bool isLeftUnsigned = false, isRightUnsigned = false;

  /// Of operands as the op has them, before types lose their sign.
  static Signs of(mlir::Value left, mlir::Value right);
  static mlir::Type sumType(mlir::Type element);
  /// What a contraction of such elements gives.
  static mlir::Type resultType(mlir::Type element);
  mlir::Value product(Emitter &b, mlir::Value left, mlir::Value right) const;
};

/// A contraction: sum of products into `shape` by `resultMap`; result in the type of sums.
mlir::Value sumOfProducts(Emitter &b, llvm::ArrayRef<int64_t> shape, mlir::AffineMap resultMap,
                          llvm::ArrayRef<Operand> inputs, Emitter::Iterators iterators,
                          Signs signs = {});

/// [..., m, k] x [..., k, n], batch dimensions broadcast, operands transposed as asked.
mlir::Value multiplyMatrices(Emitter &b, mlir::Value lhs, mlir::Value rhs, bool transposeLhs,
                             bool transposeRhs, Signs signs = {});

} // namespace gantry
