// How products come to the shared memory of GPUs: `--gpu-stages`.
#pragma once

#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace gantry {

/// What a module, or one that it is in, says.
std::optional<int64_t> gpuStagesFor(mlir::ModuleOp module);

} // namespace gantry
