// A tile of a product on the lanes of a block.
#pragma once

#include "StoreAccumulators.h"

namespace gantry::gpu {

/// All threads of the block, as many as the tile has, compute it and store its sums.
void emitTile(KernelEmitter &kernel, const Product &product, const Tile &tile,
              const TilePlace &place, StoreAccumulators &store);

} // namespace gantry::gpu
