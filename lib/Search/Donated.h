// The inputs whose arrays callers may give away.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace gantry {

/// Marks the arguments of public functions that have these names. A name that none has is an error
/// that lists what there is.
llvm::LogicalResult markDonated(mlir::ModuleOp module, llvm::ArrayRef<std::string> names);

} // namespace gantry
