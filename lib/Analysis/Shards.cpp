#include "gantry/Analysis/Shards.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace gantry;

SmallVector<Shard> gantry::cutIntoShards(int64_t size, size_t count,
                                         std::optional<ArrayRef<int64_t>> weights) {
  SmallVector<Shard> shards;
  __int128 total = 0, before = 0;
  for (size_t i = 0; i < count; ++i)
    total += weights ? (*weights)[i] : 1;
  int64_t each = (size + int64_t(count) - 1) / int64_t(count), begin = 0;
  for (size_t i = 0; i < count; ++i) {
    before += weights ? (*weights)[i] : 1;
    int64_t end =
        weights ? int64_t((size * before + total - 1) / total) : std::min(size, begin + each);
    shards.push_back({begin, end - begin});
    begin = end;
  }
  return shards;
}

SmallVector<size_t> gantry::dealParts(int64_t parts, size_t count,
                                      std::optional<ArrayRef<int64_t>> weights) {
  // By weights, as those end where they should: 8 parts are 2, 2, 1, 2, 1 of five devices.
  SmallVector<int64_t> equal(count, 1);
  SmallVector<size_t> owners;
  for (auto [i, range] : llvm::enumerate(cutIntoShards(parts, count, weights.value_or(equal))))
    owners.append(range.size, i);
  return owners;
}

void gantry::remarkIdleReplicas(Location loc, ArrayRef<Shard> shards, int64_t size,
                                std::optional<ArrayRef<int64_t>> weights,
                                function_ref<std::string(size_t)> deviceOf) {
  std::string idle;
  unsigned count = 0;
  for (auto [i, shard] : llvm::enumerate(shards))
    if (size > 0 && shard.size == 0 && (!weights || (*weights)[i] != 0)) {
      idle += (count++ ? ", " : "") + deviceOf(i);
    }
  if (count)
    emitRemark(loc) << "a batch of " << size << " over " << shards.size() << " replicas leaves "
                    << idle << " without work; give fewer devices, or a larger batch";
}
