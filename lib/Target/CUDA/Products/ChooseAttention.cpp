// Tiles for attention, by the estimate that all tiles are chosen by: all that have a number of rows
// and threads in common are compared, and the best of them with what products of their own take.

#include "Attention.h"
#include "Launch.h"
#include "Threads/Order.h"
#include "TileCost.h"

#include <array>

using namespace gantry;
using namespace gantry::gpu;

static constexpr int64_t kBytes = 4; ///< of an element
/// Shorter sums are no tiles (FindProduct.cpp).
static constexpr int64_t kFewestTerms = 16;
/// A pass over its columns needs no more shared memory for the space between lines.
static constexpr int64_t kPadding = 32;
/// Where sums of teams of several warps meet, at most.
static constexpr int64_t kJoinBytes = 256;
/// What a kernel of its own costs that comes between two others, in cycles; bytes that memory gives
/// or takes in one; cycles of a lane for an element of a row, in all reductions.
static constexpr double kKernelCycles = 3000, kBytesOfCycle = 1700, kElementCycles = 30;
/// Lines of scores are an eighth of the banks apart from a multiple of them all, so that four
/// lanes' rows and eight neighbours are in different ones.
static constexpr int64_t kBanks = 32, kShift = 8;

static int64_t strideOf(int64_t keys) {
  return int64_t(llvm::alignTo(std::max<int64_t>(keys, kShift) - kShift, kBanks)) + kShift;
}

/// The order of additions: what slices have of the terms, and whether zeros are added behind them.
static bool addsAlike(const Tile &x, const Tile &y, int64_t terms) {
  if (x.slices != y.slices)
    return false;
  return x.slices > 1 ? x.terms == y.terms : (terms % x.terms == 0) == (terms % y.terms == 0);
}

/// What a product allocates of shared memory, at most: both tiles, and sums of slices.
static std::array<int64_t, 3> piecesOf(const Tile &tile, int64_t terms) {
  int64_t lines = (terms > tile.terms ? 2 : 1) * tile.terms;
  int64_t sums = tile.slices > 1 ? tile.slices * tile.rows * (tile.columns + kMostJoinPadding) : 0;
  return {lines * (tile.rows * kBytes + tile.padding),
          lines * (tile.columns * kBytes + tile.padding), sums * kBytes};
}

/// A block goes over all columns of its rows.
static double cyclesOf(const Tile &tile, const ProductSizes &sizes, int64_t shared) {
  BlockCost cost = costOf(tile, sizes, kBytes);
  TileGrid grid(sizes, tile.rows, tile.columns);
  cost.blocks = double(grid.batch * grid.down);
  cost.rounds *= double(grid.across);
  cost.finish *= double(grid.across);
  cost.sharedBytes = double(shared);
  return cost.cycles();
}

namespace {
struct Choice {
  Tile tile;
  double cycles;
};
} // namespace

/// The best tile of so many rows, for so many threads, where `rest` and pieces of that size are in
/// shared memory; those of the tile take their places.
static std::optional<Choice> chooseOf(const ProductSizes &sizes, const Tile &alone, int64_t rows,
                                      int64_t threads, int64_t rest,
                                      const std::array<int64_t, 3> &pieces) {
  std::optional<Choice> best;
  auto consider = [&](const Tile &tile) {
    int64_t shared = rest;
    for (auto [piece, other] : llvm::zip(piecesOf(tile, sizes.terms), pieces))
      shared += std::max(piece, other);
    if (tile.threads() != threads || tile.threadRows * tile.threadColumns < 4 ||
        tile.terms < tile.slices || shared > kSharedBytes || !addsAlike(tile, alone, sizes.terms))
      return;
    double cycles = cyclesOf(tile, sizes, shared);
    if (!best || cycles < best->cycles)
      best = Choice{tile, cycles};
  };
  int64_t most = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizes.columns))), 16, 128);
  for (int64_t columns = 16; columns <= most; columns *= 2)
    for (int64_t own = 1; own <= std::min<int64_t>(8, rows); own *= 2)
      for (int64_t across = 1; across <= 8; across *= 2)
        for (int64_t depth = 8; depth <= 64; depth *= 2)
          consider({rows, columns, depth, own, across, alone.slices, kPadding});
  return best;
}

std::optional<AttentionTiles> gantry::gpu::chooseAttention(const AttentionSizes &sizes) {
  ProductSizes scores{sizes.batch, sizes.queries, sizes.keys, sizes.depth};
  ProductSizes context{sizes.batch, sizes.queries, sizes.width, sizes.keys};
  if (sizes.batch == 0 || sizes.queries < 2 || sizes.width < 2 ||
      std::min(sizes.keys, sizes.depth) < kFewestTerms)
    return std::nullopt;
  const Tile ofScores = gpu::chooseTile(scores, kBytes),
             ofContext = gpu::chooseTile(context, kBytes);
  const double elements = double(sizes.batch * sizes.queries * sizes.keys);
  double least = costOf(ofScores, scores, kBytes).cycles() +
                 costOf(ofContext, context, kBytes).cycles() + 3 * kKernelCycles +
                 4 * kBytes * elements / kBytesOfCycle;
  const int64_t stride = strideOf(sizes.keys);
  std::optional<AttentionTiles> best;
  const int64_t lanes = orderOfRow(sizes.keys, sizes.keys, 8 * kBytes).lanes;
  for (int64_t rows = 8; rows <= 64; rows *= 2)
    for (int64_t threads = std::max(lanes, kWarp); threads <= kMostThreads; threads *= 2) {
      int64_t rest = rows * stride * kBytes + kJoinBytes;
      std::optional<Choice> first = chooseOf(scores, ofScores, rows, threads, rest, {}), second;
      if (first)
        second =
            chooseOf(context, ofContext, rows, threads, rest, piecesOf(first->tile, scores.terms));
      if (!second)
        continue;
      double blocks = double(sizes.batch) * double(llvm::divideCeil(sizes.queries, rows));
      double ofRows = double(rows * sizes.keys) / double(threads) * kElementCycles *
                      std::ceil(blocks / kMultiprocessors);
      double cycles = first->cycles + second->cycles + ofRows;
      if (cycles < least) {
        least = cycles;
        best = AttentionTiles{first->tile, second->tile, stride};
      }
    }
  return best;
}
