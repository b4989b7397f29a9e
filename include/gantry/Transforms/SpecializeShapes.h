// Sizes for the dimensions that a graph leaves open.
#pragma once

#include "gantry/Support/Status.h"

#include "mlir/Pass/Pass.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

/// A dimension by name, or as "INPUT:AXIS", and its size.
using DimSize = std::pair<std::string, int64_t>;

/// Reads NAME=SIZE. Errors: INVALID_ARGUMENT.
Expected<DimSize> parseDimSize(llvm::StringRef text);

/// The pass gantry-specialize-shapes with these sizes.
std::unique_ptr<mlir::Pass> createSpecializeShapesPass(llvm::ArrayRef<DimSize> sizes);

} // namespace gantry
