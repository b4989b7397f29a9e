// Which operand's buffer the result of a launch may have.
#pragma once

#include "Declarations.h"

namespace gantry::schedule {

/// The value, before views, whose place the one result of the launch may take, or null: the kernel
/// keeps to it, nothing reads the value later, and all that reads it is on the launch's queue, so
/// that no other queue has to be waited for.
mlir::Value valueToOverwrite(LaunchOp launch, WorkAttr work);

/// The values of which one would be that if the launch were the last to read it.
llvm::SmallVector<mlir::Value> valuesToOverwrite(LaunchOp launch, WorkAttr work);

/// An op that reads `argument` when `made` has begun to take its place, or null: nothing behind the
/// maker of that reads it, and the maker itself only so that it may write it at the same time.
mlir::Operation *readerBehind(mlir::BlockArgument argument, mlir::OpResult made,
                              const Declarations &state);

} // namespace gantry::schedule
