#include "gantry/Analysis/Shards.h"

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
