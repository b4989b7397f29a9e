// A product of matrices in the words of the library that has those.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Plan/MatrixProduct.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace gantry::gpu {

/// The buffers of a launch.
struct ProductBuffers {
  uint32_t left = 0, right = 1, result = 2;
};

/// The product that the op is, if a library has such: factors of one type of f32, f16 or bf16, a
/// result of that type or, for sums of rounded factors, of f32, and rows, columns, terms and batch
/// that are each evenly spaced in memory; and if it is worth tiles. `tf32`: products of f32 are.
std::optional<plan::MatrixProduct> describeProduct(MatmulOp op, bool tf32,
                                                   ProductBuffers buffers = {});

/// The bytes of scratch memory that the library's variant has.
uint64_t scratchFor(const plan::MatrixProduct &product);

/// Gives a kernel that a library can compute, and that has become code of threads, the library's
/// workspace as scratch memory. It must have none of its own.
void addWorkspace(mlir::func::FuncOp kernel, const plan::MatrixProduct &product);

} // namespace gantry::gpu
