// A kernel that is nothing but a product of matrices, in the words of the library that has those.
#pragma once

#include "gantry/Plan/MatrixProduct.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace gantry::gpu {

/// The product that the kernel is, if a library can compute it: its only result is the sums,
/// rounded once to the type of the factors, and both factors are arguments whose rows, columns,
/// terms and batch are each evenly spaced in memory. `tf32`: products of f32 may be.
std::optional<plan::MatrixProduct> findLibraryProduct(mlir::func::FuncOp kernel, bool tf32);

/// The bytes of scratch memory that the library's variant has.
uint64_t scratchFor(const plan::MatrixProduct &product);

/// Says on the kernel, which has become code of threads, that a library can compute it; the scratch
/// memory that it has from then on is the library's workspace.
void addLibraryProduct(mlir::func::FuncOp kernel, const plan::MatrixProduct &product);

} // namespace gantry::gpu
