// An estimate in cycles of a multiprocessor: each round of a block takes the latency of reading its
// part of the terms, or the time in which the blocks that share a multiprocessor issue their
// instructions, read and write shared memory and wait for memory, whichever is more. The numbers
// are fitted to the times of 880 tiles of 16 products on an H100 (docs/designs/gpu-code.md).
#include "CoreTiles.h"

#include "Launch.h"

using namespace gantry::gpu;

static constexpr int64_t kMostTileBytes = 47 * 1024;
static constexpr int64_t kFewestTileRows = 8, kFewestTileColumns = 16, kFewestAccumulators = 8;

double BlockCost::cycles() const {
  // What all tiles share of a multiprocessor.
  constexpr double mostShared = 220 * 1024, sharedOfBlock = 1024;
  constexpr double mostThreads = 2048, registers = 65536;
  double perProcessor = std::ceil(blocks / kMultiprocessors);
  double room = std::min({mostShared / (sharedBytes + sharedOfBlock), mostThreads / threads,
                          registers / (registersOfThread * threads)});
  double resident = std::max(1.0, std::min(perProcessor, std::floor(room)));
  return std::ceil(perProcessor / resident) *
         (rounds * std::max(latency, resident * work) + start + resident * finish);
}

static int64_t sharedBytes(const Tile &tile, int64_t bytes) {
  int64_t lines = (tile.rows + tile.columns) * bytes + 2 * kMostPadding;
  int64_t accumulators =
      tile.slices > 1 ? tile.slices * tile.rows * (tile.columns + kMostJoinPadding) * bytes : 0;
  return 2 * tile.k * lines + accumulators;
}

/// How often sums are written and read when slices join them.
static double passesOfAccumulators(int64_t slices) {
  return slices > 1 ? 1 + 2.0 * double(slices) : 1;
}

BlockCost gantry::gpu::costOf(const Tile &tile, const ProductSizes &sizes, int64_t bytes) {
  const double words = double(bytes) / 4, threads = double(tile.threads()), warps = threads / kWarp;
  const double accumulators = double(tile.threadRows * tile.threadColumns);
  const double rowReads = std::ceil(double(tile.threadRows) * words / 4);
  const double columnReads = std::ceil(double(tile.threadColumns) * words / 4);
  const double sizeK = double(tile.k / tile.slices);
  const double filled = double((tile.rows + tile.columns) * tile.k);
  const double fill = 3.6 * filled / kWarp;
  const double issue = warps * sizeK * (accumulators * words + rowReads + columnReads) + fill;
  const double access = warps * sizeK * (2.1 * rowReads + 4.8 * columnReads) + 0.5 * fill * words;
  BlockCost cost;
  cost.blocks = double(TileGrid(sizes, tile.rows, tile.columns).blocks());
  cost.rounds = double(llvm::divideCeil(sizes.k, tile.k));
  cost.threads = threads;
  cost.sharedBytes = double(sharedBytes(tile, bytes));
  cost.registersOfThread =
      30 +
      words * (accumulators + 2 * double(tile.threadRows + tile.threadColumns) + filled / threads);
  cost.work = std::max({issue / 4.7, access, filled * double(bytes) / 21});
  cost.latency = 590 + sizeK * (0.8 * accumulators * words + 22);
  cost.start = 300;
  cost.finish = 8.4 * double(tile.rows * tile.columns) * passesOfAccumulators(tile.slices) / kWarp;
  return cost;
}

Tile gantry::gpu::chooseTile(const ProductSizes &sizes, int64_t bytes) {
  const int64_t rows = sizes.rows, columns = sizes.columns, sizeK = sizes.k;
  Tile best{};
  double least = 0;
  auto consider = [&](const Tile &tile) {
    // No smaller ones than have been measured, where the product has as much.
    int64_t accumulators =
        std::min(kFewestAccumulators, std::max<int64_t>(1, tile.rows * tile.columns / kWarp));
    if (tile.threads() < kWarp || tile.threads() > kMostThreads ||
        tile.threadRows * tile.threadColumns < accumulators ||
        sharedBytes(tile, bytes) > kMostTileBytes)
      return;
    double cycles = costOf(tile, sizes, bytes).cycles();
    if (!best.rows || cycles < least) {
      best = tile;
      least = cycles;
    }
  };
  int64_t mostPerThread = bytes > 4 ? 4 : 8;
  int64_t mostDepth = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizeK))), 8, 64);
  int64_t mostRows = std::min<int64_t>(128, int64_t(llvm::PowerOf2Ceil(uint64_t(rows))));
  int64_t mostColumns = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(columns))), 4, 128);
  int64_t leastRows = std::min(kFewestTileRows, mostRows);
  int64_t leastColumns = std::min(kFewestTileColumns, mostColumns);
  for (int64_t tileRows = leastRows; tileRows <= mostRows; tileRows *= 2)
    for (int64_t tileColumns = leastColumns; tileColumns <= mostColumns; tileColumns *= 2)
      for (int64_t own = 1; own <= std::min(mostPerThread, tileRows); own *= 2)
        for (int64_t across = 1; across <= std::min(mostPerThread, tileColumns); across *= 2)
          for (int64_t slices = 1; slices <= 16; slices *= 2)
            for (int64_t depth = std::max<int64_t>(8, slices); depth <= mostDepth; depth *= 2)
              if (slices == 1 || sizeK >= 2 * slices)
                consider({tileRows, tileColumns, depth, own, across, slices});
  return best;
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

/// Of memory, and of a barrier with the first reads behind it, in cycles; and what of the latter no
/// other block fills. Of tiles in stages nothing was measured (docs/designs/gpu-code.md).
static constexpr double kLatency = 570, kBarrier = 60, kUnfilled = 40;

BlockCost gantry::gpu::costOf(const CoreTile &tile, const ProductSizes &sizes,
                              const CoreShape &shape, int64_t bytes) {
  const double threads = double(tile.threads()), warps = threads / kWarp;
  const double steps = double(tile.k / tile.slices / shape.k);
  const double multiplies = double(tile.warpRows / shape.rows * (tile.warpColumns / shape.columns));
  // tf32 has no instruction that reads four matrices.
  const double reads = double(tile.warpRows + tile.warpColumns) / 16 * (bytes > 2 ? 4 : 1);
  const double filled = double((tile.rows + tile.columns) * tile.k);
  const double filledBytes = filled * double(bytes);
  const double stages = double(tile.stages);
  // A copy is a place and an instruction for 16 bytes, and passes no registers.
  const double fill = tile.stages ? 5 * filledBytes / 16 / kWarp : 1.8 * filled / kWarp;
  const double passesOfFill = (tile.stages ? 2 : 7) * filledBytes / 128;
  const double issue = warps * steps * (multiplies + 3 * reads) + fill;
  BlockCost cost;
  cost.blocks = double(TileGrid(sizes, tile.rows, tile.columns).blocks());
  cost.rounds = double(llvm::divideCeil(sizes.k, tile.k));
  cost.threads = threads;
  cost.sharedBytes = std::max(2.0, stages) * filledBytes +
                     (tile.slices > 1 ? 4.0 * double(tile.slices * tile.rows * tile.columns) : 0);
  cost.registersOfThread = 40 + double(tile.warpRows * tile.warpColumns) / kWarp +
                           double(tile.warpRows + tile.warpColumns) / 4 +
                           (tile.stages ? 0 : 0.3 * filledBytes / threads);
  cost.work = std::max({warps * steps * multiplies * 2, warps * steps * reads * 3.1 + passesOfFill,
                        issue / 4, filledBytes / 16}) +
              (tile.stages ? kUnfilled : 0);
  const double own = steps * (8.6 * multiplies + 37);
  // What a round waits for came on its way some rounds before.
  cost.latency =
      tile.stages > 1 ? std::max(kLatency / (stages - 1), kBarrier + own) : kLatency + own;
  cost.start = 1500;
  cost.finish = double(tile.rows * tile.columns) * passesOfAccumulators(tile.slices) / kWarp;
  return cost;
}

/// Calls `consider` for all ways to cut the product. Sums of a thread are so many registers at
/// most.
static void forCoreTiles(const ProductSizes &sizes, const CoreShape &shape,
                         int64_t mostAccumulators,
                         llvm::function_ref<void(const CoreTile &)> consider) {
  for (int64_t warpRows : {16, 32, 64})
    for (int64_t warpColumns : {16, 32, 64})
      for (int64_t down : {1, 2, 4})
        for (int64_t across : {1, 2, 4})
          for (int64_t slices : {1, 2, 4})
            for (int64_t steps : {1, 2, 4}) {
              CoreTile tile{warpRows * down, warpColumns * across, shape.k * slices * steps,
                            warpRows,        warpColumns,          slices};
              bool isLarge = tile.rows >= 2 * sizes.rows && down > 1;
              isLarge |= tile.columns >= 2 * sizes.columns && across > 1;
              if (!isLarge && warpRows * warpColumns <= mostAccumulators * kWarp &&
                  tile.threads() <= kMostThreads)
                consider(tile);
            }
}

/// The tile of the least time among those that `consider` is told.
struct BestCoreTile {
  const ProductSizes &sizes;
  const CoreShape &shape;
  int64_t bytes;
  CoreTile tile{};
  double least = 0;

  void consider(const CoreTile &next) {
    double cycles = costOf(next, sizes, shape, bytes).cycles();
    if (!tile.rows || cycles < least) {
      tile = next;
      least = cycles;
    }
  }
};

static int64_t bytesOfJoinedAccumulators(const CoreTile &tile) {
  return tile.slices > 1 ? tile.slices * tile.rows * (tile.columns + kMostJoinPadding) * 4 : 0;
}

CoreTile gantry::gpu::chooseCoreTile(const ProductSizes &sizes, const CoreShape &shape,
                                     int64_t bytes) {
  constexpr int64_t mostAccumulators = 64;
  BestCoreTile best{sizes, shape, bytes};
  forCoreTiles(sizes, shape, mostAccumulators, [&](const CoreTile &tile) {
    int64_t data = (tile.rows + tile.columns) * tile.k * bytes;
    int64_t lines = std::max(tile.rows, tile.k) + std::max(tile.columns, tile.k);
    if (2 * (data + lines * kMostCorePadding) + bytesOfJoinedAccumulators(tile) <= kMostTileBytes)
      best.consider(tile);
  });
  return best.tile;
}

/// Slices are parts of the sums, cut by the terms of a round: so these stay where there are slices.
CoreTile gantry::gpu::chooseStagedTile(const CoreTile &other, const ProductSizes &sizes,
                                       const CoreShape &shape, int64_t bytes,
                                       std::optional<int64_t> stages) {
  constexpr int64_t mostAccumulators = 128, fewestStages = 2, mostStages = 4;
  BestCoreTile best{sizes, shape, bytes};
  forCoreTiles(sizes, shape, mostAccumulators, [&](CoreTile tile) {
    if (tile.slices != other.slices || (tile.slices > 1 && tile.k != other.k))
      return;
    const int64_t data = (tile.rows + tile.columns) * tile.k * bytes;
    for (tile.stages = stages.value_or(fewestStages); tile.stages <= stages.value_or(mostStages);
         ++tile.stages)
      if (tile.stages * data + bytesOfJoinedAccumulators(tile) <= kSharedBytes)
        best.consider(tile);
  });
  return best.tile.rows ? best.tile : other;
}

CoreTile gantry::gpu::chooseCoreTile(const Product &product, const CoreShape &shape,
                                     int64_t bytes) {
  return chooseCoreTile(ProductSizes::of(product), shape, bytes);
}
