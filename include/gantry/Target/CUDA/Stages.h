// How products come to the shared memory of GPUs: `--gpu-stages`.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace gantry {

/// On the module of all: how many parts of a product copies bring to shared memory, 0 for none by
/// copies. Where it is not there, the target chooses.
inline constexpr llvm::StringLiteral kGPUStagesAttr = "gantry.gpu_stages";

/// What a module, or one that it is in, says.
std::optional<int64_t> gpuStagesFor(mlir::ModuleOp module);

} // namespace gantry
