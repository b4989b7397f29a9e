#include "Replica.h"

using namespace mlir;
using namespace gantry;

/// All inputs that are split are cut in the same way; none where nothing is split.
static FailureOr<std::optional<int64_t>> sizeOfBatch(ReplicateOp op) {
  size_t next = 0;
  std::optional<int64_t> size;
  for (ReplicaModeAttr mode : op.getInputModes()) {
    if (mode.is(ReplicaKind::Split)) {
      int64_t own =
          cast<RankedTensorType>(op.getValues()[next].getType()).getDimSize(mode.getAxis());
      if (ShapedType::isDynamic(own))
        return op.emitOpError() << "splits " << op.getValues()[next].getType() << " along axis "
                                << mode.getAxis() << ", whose size is not known";
      if (size && *size != own)
        return op.emitOpError() << "splits inputs of " << *size << " and of " << own
                                << " rows; they need to be the same batch";
      size = own;
    }
    next += mode.countValues(op.getDevices().size());
  }
  return size;
}

/// Devices without a part come behind all parts.
static SmallVector<Replica> cutIntoParts(ReplicateOp op, std::optional<int64_t> size) {
  SmallVector<Replica> replicas;
  auto shards = cutIntoShards(size.value_or(0), *op.getParts(), std::nullopt);
  while (size && shards.size() > 1 && shards.back().size == 0) // those without rows are the last
    shards.pop_back();
  SmallVector<Shard> ofDevices(op.getDevices().size());
  llvm::SmallDenseSet<size_t> busy;
  for (auto [part, owner] :
       llvm::enumerate(dealParts(shards.size(), op.getDevices().size(), op.getWeights()))) {
    replicas.push_back({unsigned(owner),
                        unsigned(part),
                        busy.insert(owner).second,
                        op.getDevice(owner),
                        shards[part],
                        false,
                        {}});
    ofDevices[owner].size += shards[part].size;
  }
  for (size_t i = 0; i < op.getDevices().size(); ++i)
    if (!busy.contains(i))
      replicas.push_back({unsigned(i), {}, true, op.getDevice(i), {}, true, {}});
  if (size)
    remarkIdleReplicas(op.getLoc(), ofDevices, *size, op.getWeights(),
                       [&](size_t i) { return op.getDevice(i).getName().shortStr(); });
  return replicas;
}

FailureOr<SmallVector<Replica>> gantry::cutIntoReplicas(ReplicateOp op) {
  FailureOr<std::optional<int64_t>> found = sizeOfBatch(op);
  if (failed(found))
    return failure();
  std::optional<int64_t> size = *found;
  if (op.getParts())
    return cutIntoParts(op, size);
  SmallVector<Replica> replicas;
  auto shards = cutIntoShards(size.value_or(0), op.getDevices().size(), op.getWeights());
  if (size)
    remarkIdleReplicas(op.getLoc(), shards, *size, op.getWeights(),
                       [&](size_t i) { return op.getDevice(i).getName().shortStr(); });
  for (auto [i, shard] : llvm::enumerate(shards)) {
    replicas.push_back({unsigned(i), {}, true, op.getDevice(i), shard, false, {}});
    replicas.back().isEmpty = size && shard.size == 0;
  }
  // Of an empty batch somebody has to make the empty results.
  if (llvm::all_of(replicas, [](const Replica &replica) { return replica.isEmpty; }))
    replicas.front().isEmpty = false;
  return replicas;
}
