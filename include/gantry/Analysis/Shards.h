// How a batch is cut for replicas (spec R1).
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace gantry {

/// A range along an axis.
struct Shard {
  int64_t begin = 0, size = 0;
};

/// Shards in order. Without weights, ceil(size / count) each as far as they go, so that the last
/// ones may be smaller or empty; with weights, in proportion to them, rounded up from the front.
llvm::SmallVector<Shard> cutIntoShards(int64_t size, size_t count,
                                       std::optional<llvm::ArrayRef<int64_t>> weights);

} // namespace gantry
