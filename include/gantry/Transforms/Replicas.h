// What makes ops those of a replica: slices of what is shared out, requests, names (spec R1, R2).
#pragma once

#include "gantry/Analysis/Shards.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// The shard of a value along an axis: itself when that is all of it, else a slice, made where an
/// argument is (so that no more than the shards is copied), under `name` when it has one.
mlir::Value sliceShard(mlir::OpBuilder &builder, mlir::Location origin, mlir::Value value,
                       int64_t axis, Shard shard, const llvm::Twine &name);

/// A replica as its ops know it.
struct ReplicaMark {
  unsigned number;              ///< of its device
  std::optional<unsigned> part; ///< of the batch, where it is one of several
  DeviceAttr device;
  mlir::LocationAttr origin; ///< who asked for replicas
  SoftModeAttr soft;         ///< may be null
};

/// What is behind the names of a replica's ops: `/part_i` of a part, else `/replica_i`.
std::string replicaSuffix(unsigned number, std::optional<unsigned> part);

/// Gives an op the request of its replica, under which its own is the inner one; the replica's
/// suffix after its name; and the replica's mirror of a variable.
void markAsReplica(mlir::Operation *op, const ReplicaMark &replica);

} // namespace gantry
