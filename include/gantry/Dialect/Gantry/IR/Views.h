// Views: ops that give the bytes of their operand under another shape, and so cost nothing, have no
// device and need no copy of their own.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Whether the op is a view of its first operand; null is none.
bool isView(mlir::Operation *op);

/// The value whose bytes `value` has, before views.
mlir::Value skipViews(mlir::Value value);

} // namespace gantry
