// Which operand's buffer the result of a launch may have.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry::schedule {

/// The value, before views, whose place the one result of the launch may take, or null: the kernel
/// keeps to it, nothing reads the value later, and all that reads it is on the launch's queue, so
/// that no other queue has to be waited for.
mlir::Value valueToOverwrite(LaunchOp launch, WorkAttr work);

/// The values of which one would be that if the launch were the last to read it.
llvm::SmallVector<mlir::Value> valuesToOverwrite(LaunchOp launch, WorkAttr work);

} // namespace gantry::schedule
