// Which operand's buffer a result of a launch may have.
#pragma once

#include "Declarations.h"

namespace gantry::schedule {

/// The values, before views, whose place a result of a launch may take: the kernel keeps to it,
/// nothing reads the value later, and all that reads it is on the launch's queue, so that no other
/// queue has to be waited for.
llvm::SmallVector<mlir::Value> endingValues(mlir::OpResult result, WorkAttr work);

/// The values that would be among those if the launch were the last to read them.
llvm::SmallVector<mlir::Value> valuesToOverwrite(mlir::OpResult result, WorkAttr work);

/// An op that reads `argument` when `made` has begun to take its place, or null: nothing behind the
/// maker of that reads it, and the maker itself only so that it may write it at the same time.
mlir::Operation *readerBehind(mlir::BlockArgument argument, mlir::OpResult made,
                              const Declarations &state);

} // namespace gantry::schedule
