// What a gantry.replicate runs its region for: shards of the batch on devices.
#pragma once

#include "gantry/Analysis/Shards.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/IR/IRMapping.h"

namespace gantry {

/// One replica in the making.
struct Replica {
  unsigned number; ///< of its device
  std::optional<unsigned> part;
  bool isFirst; ///< of its device
  DeviceAttr device;
  Shard shard;
  bool isEmpty = false;
  mlir::IRMapping values; ///< of the region: what they are in this one
};

/// One for each device, or for each part that has rows, in their order; devices without a part come
/// behind, and are empty. An error where inputs are no batch of one size.
mlir::FailureOr<llvm::SmallVector<Replica>> cutIntoReplicas(ReplicateOp op);

} // namespace gantry
