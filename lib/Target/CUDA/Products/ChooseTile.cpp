// An estimate in instructions: every multiply-add costs one, the loads that feed it and the filling
// of the tiles some more; blocks that leave multiprocessors without work, and too few threads to
// hide latencies, cost time. Factors are from NVIDIA's figures for sm_80 and sm_90; no GPU has
// confirmed them.
#include "Tile.h"

#include "Launch.h"

using namespace gantry::gpu;

static constexpr double kMultiprocessors = 128; ///< rather many than few
static constexpr double kLanes = 128;           ///< multiply-adds of a multiprocessor in a cycle
static constexpr double kBusyThreads = 512;     ///< of a multiprocessor, to hide latencies
static constexpr double kMemoryRate = 32;       ///< bytes for a multiprocessor in a cycle
static constexpr double kFillCost = 8;          ///< instructions for an element of a tile
static constexpr double kRoundCycles = 400;     ///< from one round of tiles to the next
static constexpr int64_t kMostTileBytes = 47 * 1024;

static int64_t sharedBytes(const Tile &tile, int64_t bytes) {
  int64_t lines = (tile.rows + tile.columns) * bytes + 2 * kMostPadding;
  int64_t sums =
      tile.slices > 1 ? tile.slices * tile.rows * (tile.columns + kMostJoinPadding) * bytes : 0;
  return 2 * tile.terms * lines + sums;
}

static double cyclesOf(const Tile &tile, const Product &product) {
  double blocks = double(TileGrid(product, tile.rows, tile.columns).blocks());
  double rounds = double(llvm::divideCeil(product.count(product.terms), tile.terms));
  double wide = std::min<double>(4, tile.threadRows),
         high = std::min<double>(4, tile.threadColumns);
  double perSum = 1 + 1 / (tile.threadRows * high) + 1 / (tile.threadColumns * wide) +
                  kFillCost * (1.0 / double(tile.rows) + 1.0 / double(tile.columns));
  double block = double(tile.rows * tile.columns * tile.terms) * rounds * perSum;
  if (tile.slices > 1)
    block += 4.0 * double(tile.slices * tile.rows * tile.columns);
  double perProcessor = std::ceil(blocks / kMultiprocessors);
  double resident = std::min(perProcessor, 8.0);
  double busy = std::min(1.0, double(tile.threads()) * resident / kBusyThreads);
  double bytes = double(tile.rows + tile.columns) * double(tile.terms) * rounds *
                 double(product.type().getIntOrFloatBitWidth()) / 8;
  return perProcessor * std::max(block / (kLanes * busy), bytes / kMemoryRate) +
         std::ceil(perProcessor / resident) * rounds * kRoundCycles;
}

Tile gantry::gpu::chooseTile(const Product &product) {
  int64_t bytes = product.type().getIntOrFloatBitWidth() / 8;
  int64_t rows = product.count(product.rows), columns = product.count(product.columns);
  int64_t terms = product.count(product.terms);
  Tile best{};
  double least = 0;
  auto consider = [&](const Tile &tile) {
    if (tile.threads() < kWarp || tile.threads() > kMostThreads ||
        sharedBytes(tile, bytes) > kMostTileBytes)
      return;
    double cycles = cyclesOf(tile, product);
    if (!best.rows || cycles < least) {
      best = tile;
      least = cycles;
    }
  };
  int64_t mostPerThread = bytes > 4 ? 4 : 8;
  int64_t mostRows = std::min<int64_t>(128, int64_t(llvm::PowerOf2Ceil(uint64_t(rows))));
  int64_t mostColumns = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(columns))), 4, 128);
  for (int64_t tileRows = 1; tileRows <= mostRows; tileRows *= 2)
    for (int64_t tileColumns = 4; tileColumns <= mostColumns; tileColumns *= 2)
      for (int64_t own = 1; own <= std::min(mostPerThread, tileRows); own *= 2)
        for (int64_t across = 1; across <= std::min(mostPerThread, tileColumns); across *= 2)
          for (int64_t slices = 1; slices <= 16; slices *= 2) {
            // Long lines of terms in small tiles: they are what there is to read.
            int64_t most = int64_t(llvm::PowerOf2Ceil(uint64_t(terms)));
            int64_t depth = std::max<int64_t>({8, slices, 2048 / (tileRows + tileColumns) & ~7});
            depth = std::min<int64_t>({int64_t(llvm::bit_floor(uint64_t(depth))), 64,
                                       std::max<int64_t>({8, slices, most})});
            if (slices == 1 || terms >= 2 * slices)
              consider({tileRows, tileColumns, depth, own, across, slices});
          }
  return best;
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

/// Multiply-adds of a multiprocessor's tensor cores in a cycle, of 16 bits; half as many of tf32.
static constexpr double kCoreRate = 1024;

static double cyclesOf(const CoreTile &tile, const Product &product, int64_t bytes) {
  double blocks = double(TileGrid(product, tile.rows, tile.columns).blocks());
  double rounds = double(llvm::divideCeil(product.count(product.terms), tile.terms));
  double terms = double(tile.terms) * rounds, area = double(tile.rows * tile.columns);
  double multiply = area * terms * double(bytes) / 2 / kCoreRate;
  // Each warp loads its rows and columns again; eight values come with one instruction.
  double fill = double(tile.rows + tile.columns) * terms * kFillCost * double(bytes) / 16 / kLanes;
  double warps = double(tile.warpsOfSlice());
  double fragments =
      warps * double(tile.warpRows + tile.warpColumns) * terms * double(bytes) / 16 / kLanes * 8;
  double finish = area * double(tile.slices > 1 ? 2 * tile.slices : 1) * 4 / kLanes;
  double perProcessor = std::ceil(blocks / kMultiprocessors);
  double resident = std::min(perProcessor, 4.0);
  double busy = std::min(1.0, double(tile.threads()) * resident / kBusyThreads);
  double memory = double(tile.rows + tile.columns) * terms * double(bytes) / kMemoryRate;
  double compute = (std::max(multiply, fill + fragments) + finish) / busy;
  return perProcessor * std::max(compute, memory) +
         std::ceil(perProcessor / resident) * rounds * kRoundCycles;
}

CoreTile gantry::gpu::chooseCoreTile(const Product &product, const CoreShape &shape,
                                     int64_t bytes) {
  int64_t rows = product.count(product.rows), columns = product.count(product.columns);
  CoreTile best{};
  double least = 0;
  auto consider = [&](const CoreTile &tile) {
    int64_t data = (tile.rows + tile.columns) * tile.terms * bytes;
    int64_t lines = std::max(tile.rows, tile.terms) + std::max(tile.columns, tile.terms);
    int64_t sums =
        tile.slices > 1 ? tile.slices * tile.rows * (tile.columns + kMostJoinPadding) * 4 : 0;
    if (tile.threads() > kMostThreads ||
        2 * (data + lines * kMostCorePadding) + sums > kMostTileBytes)
      return;
    double cycles = cyclesOf(tile, product, bytes);
    if (!best.rows || cycles < least) {
      best = tile;
      least = cycles;
    }
  };
  for (int64_t warpRows : {16, 32, 64})
    for (int64_t warpColumns : {16, 32, 64})
      for (int64_t down : {1, 2, 4})
        for (int64_t across : {1, 2, 4})
          for (int64_t slices : {1, 2, 4})
            for (int64_t steps : {1, 2, 4}) {
              CoreTile tile{warpRows * down, warpColumns * across, shape.terms * slices * steps,
                            warpRows,        warpColumns,          slices};
              bool isLarge = tile.rows >= 2 * rows && down > 1;
              isLarge |= tile.columns >= 2 * columns && across > 1;
              // Sums of a thread are 32 or 64 registers at most.
              if (!isLarge && warpRows * warpColumns <= 32 * 64)
                consider(tile);
            }
  return best;
}
