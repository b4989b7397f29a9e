// What the module of a graph says of how it is compiled.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace gantry {

/// Whether the graph that `op` is in asks for the library.
bool asksForLibrary(mlir::Operation *op, llvm::StringRef library);

} // namespace gantry
