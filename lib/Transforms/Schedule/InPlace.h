// Whether a kernel may write its result over one of its operands.
#pragma once

#include "mlir/IR/Value.h"

namespace gantry::schedule {

/// Arguments of a kernel on buffers: it reads each element of `source` right before it writes the
/// one at its place in `target`, and never later. Kernels write no element twice.
bool isReadBeforeWritten(mlir::BlockArgument source, mlir::BlockArgument target);

} // namespace gantry::schedule
