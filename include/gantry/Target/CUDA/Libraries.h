// What libraries of GPUs may compute in the place of kernels of our own: `--libraries`.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace gantry {

/// On a kernel, and the function that it becomes: the product that a library may compute instead
/// (plan::MatrixProduct), as text.
inline constexpr llvm::StringLiteral kLibraryProductAttr = "gantry.library_product";

/// In `gantry.libraries`: which products a library computes is decided by an estimate.
inline constexpr llvm::StringLiteral kAutomaticLibraries = "auto";

/// The libraries that --libraries knows.
llvm::ArrayRef<llvm::StringRef> knownGPULibraries();

} // namespace gantry
