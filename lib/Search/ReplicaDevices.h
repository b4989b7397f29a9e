// The devices of a graph's gantry.replicate ops, once the topology is known.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace gantry {

struct CompileOptions;

/// Makes lists of the devices that their entries mean: of one without a number, or of a job without
/// a task ("GPU:*", "/job:worker/task:*/GPU:0"), all that the module's topology has. An entry of a
/// job's task that is not there is an error, unless placement is soft.
mlir::LogicalResult findReplicaDevices(mlir::ModuleOp module, const CompileOptions &options);

} // namespace gantry
