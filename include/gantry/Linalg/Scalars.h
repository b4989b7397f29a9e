// What ops that go through elements in order do to two of them. How they go through is their
// lowering's own: a loop on a CPU, many threads on a GPU.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Linalg/Emitter.h"

namespace gantry {

/// What an element becomes when a scattered update meets it.
mlir::Value meetUpdate(Emitter &b, ScatterReduction reduction, mlir::Value old, mlir::Value update,
                       bool isUnsigned);

/// Whether top_k prefers `x` to `y`: a strict order, in which NaN counts as larger than every
/// number.
mlir::Value isPreferred(Emitter &b, TopKOp op, mlir::Value x, mlir::Value y);

} // namespace gantry
