// What is said of plans that were made to fit, and of those that cannot be.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Pipeline/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace gantry::memorybudget {

/// "GPU:0: 12 weights of 3.4 MiB in all stay on the host and are copied to the device in each run",
/// by device.
std::string describeStreamed(mlir::ModuleOp module);
/// "GPU:0: 3 values of 12 MiB in all wait on the host for their next use", by device.
std::string describeOffloaded(mlir::ModuleOp module);
/// "GPU:0: 5 ops run again for values that are read late", by device.
std::string describeRematerialized(mlir::ModuleOp module);
/// "GPU:1: 5 ops move there, since there is room", by device.
std::string describeMoved(mlir::ModuleOp module);
/// Whether operands are packed by kernels of their own, beside being there as they are.
bool packsOperands(mlir::ModuleOp module);
/// "GPU:0: where most memory is in use the batch runs in 4 pieces", by device.
std::string describePieces(mlir::ModuleOp module, const MemoryRepair &repair);

/// What a step brought: "saves 12 MiB, adds 34 µs per run".
std::string compare(int64_t saved, double seconds);
/// "predicted 1 ms -> 2 ms per run (2.00x)"
std::string compareAll(double before, double after);

/// What stands in the way of the plan that misses least.
struct Refusal {
  int64_t missing;
  mlir::Location loc;
  std::string text;
};

/// Of a plan that needs `bytes` on the device of that number, its shortest, and misses `missing` on
/// all of them.
Refusal refusalOf(mlir::ModuleOp module, size_t device, int64_t bytes, int64_t missing);

} // namespace gantry::memorybudget
