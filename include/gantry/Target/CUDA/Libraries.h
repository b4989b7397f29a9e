// What libraries of GPUs may compute in the place of kernels of our own: `--libraries`.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace gantry {

/// In the libraries of `gantry.targets`: which products a library computes is decided by an
/// estimate.
inline constexpr llvm::StringLiteral kAutomaticLibraries = "auto";

/// The libraries that --libraries knows.
llvm::ArrayRef<llvm::StringRef> knownGPULibraries();

} // namespace gantry
