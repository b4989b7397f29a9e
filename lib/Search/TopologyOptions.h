// From compile options to the module's topology and what its targets are asked for.
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

/// Puts what the options ask of targets on the module, as `gantry.targets`. Of libraries and stages
/// the file may say what flags do not; architectures that no flag names are those of the topology's
/// GPUs. It is checked that every driver of --also has a target and devices to stand in at, and
/// that the architectures have what --math asks for.
mlir::LogicalResult setTargetsFromOptions(mlir::ModuleOp module, const CompileOptions &options);

} // namespace gantry
