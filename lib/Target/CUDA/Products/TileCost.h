// What a tile of a product costs, in cycles of a multiprocessor (docs/designs/gpu-code.md).
#pragma once

#include "Tile.h"

namespace gantry::gpu {

/// Of the GPU that the estimate is fitted to.
inline constexpr double kMultiprocessors = 132;

/// Of a block: what it needs for one round, and how many rounds there are.
struct BlockCost {
  double blocks, rounds, threads, sharedBytes, registersOfThread;
  double work;    ///< cycles of a round in which nobody else of the multiprocessor gets on
  double latency; ///< of a round, however much there is to do beside it
  double start;   ///< before the first round
  double finish;  ///< work behind the last one

  double cycles() const;
};

/// A block for each tile.
BlockCost costOf(const Tile &tile, const ProductSizes &sizes, int64_t bytes);

} // namespace gantry::gpu
