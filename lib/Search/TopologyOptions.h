// From compile options to the module's topology.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace gantry {

struct CompileOptions;

/// Puts the topology that the options describe on the module (spec D5). Contradictions and mistakes
/// in them are diagnostics.
mlir::LogicalResult setTopologyFromOptions(mlir::ModuleOp module, const CompileOptions &options);

/// The names of the targets that kernels may be for: that of the host, those of the topology's
/// drivers, and those of the drivers that the plan is to run with as well.
std::vector<std::string> findTargets(mlir::ModuleOp module, const CompileOptions &options);

/// The architectures that kernels of GPUs are for: those of --gpu-arch, else those of the
/// topology's GPUs, oldest first; none: the default. Whether they have what --math asks for is
/// checked.
mlir::FailureOr<std::vector<std::string>> findGPUArchs(mlir::ModuleOp module,
                                                       const CompileOptions &options);

/// Whether every driver of --also has a target and devices to stand in at.
mlir::LogicalResult checkAlso(mlir::ModuleOp module, const CompileOptions &options);

} // namespace gantry
