// Which values are zeros, whatever the input.
#pragma once

#include "mlir/IR/Value.h"

namespace gantry {

/// Whether all elements of a value of floats are +0: a constant, or one number for many elements.
bool isZeros(mlir::Value value);

} // namespace gantry
