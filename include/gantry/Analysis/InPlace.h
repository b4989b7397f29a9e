// Which arguments of a kernel its result may overwrite, by what the ops in it mean.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// The arguments that the kernel needs nothing of but element i for element i of its one result,
/// and that are of the result's type: elementwise uses, or those of what is updated, all the way
/// through the body. Whether the code of a target reads each before it writes is the target's to
/// know.
llvm::SmallVector<int64_t> argumentsToOverwrite(KernelOp kernel);

/// The arguments of the type of the kernel's one result: for a target that proves on its code what
/// may be overwritten, whatever the ops mean.
llvm::SmallVector<int64_t> argumentsLikeResult(KernelOp kernel);

} // namespace gantry
