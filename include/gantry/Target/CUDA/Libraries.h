// What libraries of GPUs may compute in the place of kernels of our own: `--libraries`.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace gantry {

/// On the function that a kernel becomes: the product that a library may compute instead
/// (plan::MatrixProduct), as text.
inline constexpr llvm::StringLiteral kLibraryProductAttr = "gantry.library_product";

/// The libraries that --libraries knows.
llvm::ArrayRef<llvm::StringRef> knownGPULibraries();

/// Whether the module that `op` is in asks for a variant of cuBLASLt. Products of matrices stand
/// alone then, so that who computes one does not depend on what follows it (decision 0030).
bool usesMatmulLibrary(mlir::Operation *op);

} // namespace gantry
