// For devices that are short of memory: copies that come in as late as they can.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

namespace gantry::memory {

/// Moves each copy into a transient buffer of `device` down to where `ahead` launches are left
/// before the first command that uses the buffer (or to the end of its segment), past nothing that
/// writes its source. Tells whether any copy moved. The buffers wait at the other end instead.
bool delayCopies(commands::FuncOp func, mlir::StringAttr device, unsigned ahead);

} // namespace gantry::memory
