// Tiles for attention, by the estimate that all tiles are chosen by: all that have a number of rows
// and threads in common are compared, and the best of them with what products of their own take.

#include "AttentionTiles.h"
#include "CoreTiles.h"
#include "Launch.h"
#include "Threads/Order.h"

#include <array>

using namespace gantry;
using namespace gantry::gpu;

/// Shorter sums are no tiles (FindProduct.cpp).
static constexpr int64_t kSmallestK = 16;
/// A pass over its columns needs no more shared memory for the space between lines.
static constexpr int64_t kPadding = 32;
/// Rows are added up in f32.
static constexpr int64_t kSumBits = 32;
/// Where sums of teams of several warps meet, at most.
static constexpr int64_t kJoinBytes = 256;
/// What a kernel of its own costs that comes between two others, in cycles; bytes that memory gives
/// or takes in one; cycles of a lane for an element of a row, in all reductions.
static constexpr double kKernelCycles = 3000, kBytesOfCycle = 1700, kElementCycles = 30;
/// Lines of scores are an eighth of the banks apart from a multiple of them all, so that four
/// lanes' rows and eight neighbours are in different ones.
static constexpr int64_t kBanks = 32, kShift = 8;

static int64_t strideOf(int64_t keys, int64_t bytes) {
  const int64_t words = llvm::divideCeil(keys * bytes, 4);
  return (int64_t(llvm::alignTo(std::max<int64_t>(words, kShift) - kShift, kBanks)) + kShift) * 4 /
         bytes;
}

/// The order of additions: what slices have of the terms, and whether zeros are added behind them.
template <typename TileOf>
static bool addsAlike(const TileOf &x, const TileOf &y, int64_t sizeK) {
  if (x.slices != y.slices)
    return false;
  return x.slices > 1 ? x.k == y.k : (sizeK % x.k == 0) == (sizeK % y.k == 0);
}

/// Bytes of shared memory: both tiles, and sums of slices.
using Pieces = std::array<int64_t, 3>;

static Pieces piecesOf(int64_t left, int64_t right, int64_t stages, int64_t slices, int64_t rows,
                       int64_t columns) {
  int64_t accumulators = slices > 1 ? slices * rows * (columns + kMostJoinPadding) : 0;
  return {stages * left, stages * right, accumulators * 4};
}

static int64_t stagesOf(int64_t sizeK, int64_t ofTile) { return sizeK > ofTile ? 2 : 1; }

namespace {
/// Products of f32 on lanes.
struct Lanes {
  using TileOf = Tile;
  static constexpr int64_t bytes = 4, bytesOfScore = 4;

  bool fits(const AttentionSizes &) const { return true; }
  Tile alone(const ProductSizes &sizes) const { return gantry::gpu::chooseTile(sizes, bytes); }
  BlockCost cost(const Tile &tile, const ProductSizes &sizes) const {
    return costOf(tile, sizes, bytes);
  }
  /// What a product allocates, at most.
  Pieces pieces(const Tile &tile, int64_t sizeK) const {
    return piecesOf(tile.k * (tile.rows * bytes + tile.padding),
                    tile.k * (tile.columns * bytes + tile.padding), stagesOf(sizeK, tile.k),
                    tile.slices, tile.rows, tile.columns);
  }
  void forAll(const ProductSizes &sizes, const Tile &alone, int64_t rows,
              llvm::function_ref<void(const Tile &)> consider) const {
    int64_t most =
        std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizes.columns))), 16, 128);
    for (int64_t columns = 16; columns <= most; columns *= 2)
      for (int64_t own = 1; own <= std::min<int64_t>(8, rows); own *= 2)
        for (int64_t across = 1; across <= 8; across *= 2)
          for (int64_t depth = 8; depth <= 64; depth *= 2)
            if (own * across >= 4 && depth >= alone.slices)
              consider({rows, columns, depth, own, across, alone.slices, kPadding});
  }
};

/// Products on tensor cores.
struct Cores {
  using TileOf = CoreTile;
  CoreKind kind;
  int64_t bytesOfScore;
  int64_t bytes = kind == CoreKind::tf32 ? 4 : 2;
  CoreShape shape = coreShapeOf(kind);

  bool fits(const AttentionSizes &sizes) const {
    return std::min({sizes.queries, sizes.keys, sizes.width}) >= kFewestCoreRows;
  }
  CoreTile alone(const ProductSizes &sizes) const { return chooseCoreTile(sizes, shape, bytes); }
  BlockCost cost(const CoreTile &tile, const ProductSizes &sizes) const {
    return costOf(tile, sizes, shape, bytes);
  }
  Pieces pieces(const CoreTile &tile, int64_t sizeK) const {
    auto ofSide = [&](int64_t extent) {
      return extent * tile.k * bytes + std::max(extent, tile.k) * kMostCorePadding;
    };
    return piecesOf(ofSide(tile.rows), ofSide(tile.columns), stagesOf(sizeK, tile.k), tile.slices,
                    tile.rows, tile.columns);
  }
  void forAll(const ProductSizes &sizes, const CoreTile &alone, int64_t rows,
              llvm::function_ref<void(const CoreTile &)> consider) const {
    for (int64_t warpRows : {16, 32, 64})
      for (int64_t warpColumns : {16, 32, 64})
        for (int64_t across : {1, 2, 4, 8})
          for (int64_t steps : {1, 2, 4, 8})
            if (rows % warpRows == 0 && warpRows * warpColumns <= 32 * 64 &&
                (across == 1 || warpColumns * across < 2 * sizes.columns))
              consider({rows, warpColumns * across, shape.k * alone.slices * steps, warpRows,
                        warpColumns, alone.slices});
  }
};

template <typename TileOf>
struct Choice {
  TileOf tile;
  double cycles;
};
} // namespace

/// A block goes over all columns of its rows.
template <typename Kind>
static double cyclesOf(const Kind &kind, const typename Kind::TileOf &tile,
                       const ProductSizes &sizes, int64_t shared) {
  BlockCost cost = kind.cost(tile, sizes);
  TileGrid grid(sizes, tile.rows, tile.columns);
  cost.blocks = double(grid.batch * grid.down);
  cost.rounds *= double(grid.across);
  cost.finish *= double(grid.across);
  cost.sharedBytes = double(shared);
  return cost.cycles();
}

/// The best tile of so many rows, for so many threads, where `rest` and pieces of that size are in
/// shared memory; those of the tile take their places.
template <typename Kind>
static std::optional<Choice<typename Kind::TileOf>>
chooseOf(const Kind &kind, const ProductSizes &sizes, const typename Kind::TileOf &alone,
         int64_t rows, int64_t threads, int64_t rest, const Pieces &pieces) {
  using TileOf = typename Kind::TileOf;
  std::optional<Choice<TileOf>> best;
  kind.forAll(sizes, alone, rows, [&](const TileOf &tile) {
    int64_t shared = rest;
    for (auto [piece, other] : llvm::zip(kind.pieces(tile, sizes.k), pieces))
      shared += std::max(piece, other);
    if (tile.threads() != threads || shared > kSharedBytes || !addsAlike(tile, alone, sizes.k))
      return;
    double cycles = cyclesOf(kind, tile, sizes, shared);
    if (!best || cycles < best->cycles)
      best = Choice<TileOf>{tile, cycles};
  });
  return best;
}

template <typename Kind>
static std::optional<AttentionTiles<typename Kind::TileOf>> choose(const Kind &kind,
                                                                   const AttentionSizes &sizes) {
  ProductSizes scores{sizes.batch, sizes.queries, sizes.keys, sizes.depth};
  ProductSizes context{sizes.batch, sizes.queries, sizes.width, sizes.keys};
  if (sizes.batch == 0 || sizes.queries < 2 || sizes.width < 2 ||
      std::min(sizes.keys, sizes.depth) < kSmallestK || !kind.fits(sizes))
    return std::nullopt;
  const auto ofScores = kind.alone(scores), ofContext = kind.alone(context);
  const double elements = double(sizes.batch * sizes.queries * sizes.keys);
  double least = kind.cost(ofScores, scores).cycles() + kind.cost(ofContext, context).cycles() +
                 3 * kKernelCycles + 4 * double(kind.bytesOfScore) * elements / kBytesOfCycle;
  const int64_t stride = strideOf(sizes.keys, kind.bytesOfScore);
  std::optional<AttentionTiles<typename Kind::TileOf>> best;
  const int64_t lanes = orderOfRow(sizes.keys, sizes.keys, kSumBits).lanes;
  for (int64_t rows = 8; rows <= 64; rows *= 2)
    for (int64_t threads = std::max(lanes, kWarp); threads <= kMostThreads; threads *= 2) {
      int64_t rest = rows * stride * kind.bytesOfScore + kJoinBytes;
      auto first = chooseOf(kind, scores, ofScores, rows, threads, rest, {});
      if (!first)
        continue;
      auto second = chooseOf(kind, context, ofContext, rows, threads, rest,
                             kind.pieces(first->tile, scores.k));
      if (!second)
        continue;
      double blocks = double(sizes.batch) * double(llvm::divideCeil(sizes.queries, rows));
      double ofRows = double(rows * sizes.keys) / double(threads) * kElementCycles *
                      std::ceil(blocks / kMultiprocessors);
      double cycles = first->cycles + second->cycles + ofRows;
      if (cycles < least) {
        least = cycles;
        best = {first->tile, second->tile, stride};
      }
    }
  return best;
}

std::optional<AttentionTiles<Tile>> gantry::gpu::chooseAttention(const AttentionSizes &sizes) {
  return choose(Lanes(), sizes);
}

std::optional<AttentionTiles<CoreTile>>
gantry::gpu::chooseAttention(const AttentionSizes &sizes, CoreKind kind, int64_t bytesOfScore) {
  return choose(Cores{kind, bytesOfScore}, sizes);
}
