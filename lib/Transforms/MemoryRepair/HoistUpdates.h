// Where updates of variables stand while memory is estimated.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Moves what serves updates of variables alone, gradients among it, to where all that it reads is
/// there, and updates behind the readers of the old value: as launches are ordered later
/// (gantry-order-launches). The ops of a step of training stand as they were traced, all updates at
/// the end, so that all gradients would be held there at a time.
void hoistUpdates(mlir::func::FuncOp func);

} // namespace gantry
