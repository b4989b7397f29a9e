// Brings the evaluator of constants to a registry; see Dialect/Gantry/IR/Evaluator.h.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace gantry {

/// Contexts of the registry evaluate ops of known operands by kernels of the CPU target.
void registerEvaluator(mlir::DialectRegistry &registry);

} // namespace gantry
