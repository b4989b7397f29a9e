// How a batch is cut for replicas (spec R1).
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gantry {

/// A range along an axis.
struct Shard {
  int64_t begin = 0, size = 0;
};

/// Shards in order. Without weights, ceil(size / count) each as far as they go, so that the last
/// ones may be smaller or empty; with weights, in proportion to them, rounded up from the front.
llvm::SmallVector<Shard> cutIntoShards(int64_t size, size_t count,
                                       std::optional<llvm::ArrayRef<int64_t>> weights);

/// For each of so many parts, which of `count` devices has it: ranges, equal ones or in proportion
/// to weights.
llvm::SmallVector<size_t> dealParts(int64_t parts, size_t count,
                                    std::optional<llvm::ArrayRef<int64_t>> weights);

/// A remark that names the devices that a batch of `size` leaves without rows. A device whose
/// weight is 0 was meant to have none, and nobody expects work of an empty batch.
void remarkIdleReplicas(mlir::Location loc, llvm::ArrayRef<Shard> shards, int64_t size,
                        std::optional<llvm::ArrayRef<int64_t>> weights,
                        llvm::function_ref<std::string(size_t)> deviceOf);

} // namespace gantry
