// What makes ops those of a replica: shards of a batch, requests, names (spec R1, R2).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

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

/// The shard of a value along an axis: itself when that is all of it, else a slice, made where an
/// argument is (so that no more than the shards is copied), under `name` when it has one.
mlir::Value sliceShard(mlir::OpBuilder &builder, mlir::Location origin, mlir::Value value,
                       int64_t axis, Shard shard, const llvm::Twine &name);

/// A replica as its ops know it.
struct ReplicaMark {
  unsigned number;
  DeviceAttr device;
  mlir::LocationAttr origin; ///< who asked for replicas
  mlir::Attribute soft;      ///< may be null
};

/// Gives an op the request of its replica, under which its own is the inner one; `/replica_i` after
/// its name; and the replica's mirror of a variable.
void markAsReplica(mlir::Operation *op, const ReplicaMark &replica);

/// The attribute for a device in any spelling that is one.
DeviceAttr makeDeviceAttr(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace gantry
