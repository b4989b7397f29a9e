// The part of a product that a block of threads computes, and how its threads share the work.
#pragma once

#include "Product.h"

namespace gantry::gpu {

/// A matrix of rows by columns for each of the batch.
struct ProductSizes {
  int64_t batch, rows, columns, k;

  static ProductSizes of(const Product &product) {
    return {product.count(product.batch), product.count(product.rows),
            product.count(product.columns), product.count(product.k)};
  }
};

/// Whether sums are long enough, and many enough, to be computed in tiles.
bool isWorthTiles(const ProductSizes &sizes);

/// The blocks of a product: a rectangle of it for each index of the batch.
struct TileGrid {
  int64_t batch, across, down;

  TileGrid(const ProductSizes &sizes, int64_t rows, int64_t columns)
      : batch(sizes.batch), across(llvm::divideCeil(sizes.columns, columns)),
        down(llvm::divideCeil(sizes.rows, rows)) {}
  int64_t blocks() const { return batch * across * down; }
};

/// Most bytes between two lines of a tile, and most elements between two rows of sums that slices
/// join. How many there are is chosen by counting banks.
inline constexpr int64_t kMostPadding = 112, kMostCorePadding = 32, kMostJoinPadding = 12;

/// All numbers are powers of two. Threads are counted slice by slice, in a slice row by row.
struct Tile {
  int64_t rows, columns;             ///< of the block
  int64_t k;                         ///< in shared memory at a time
  int64_t threadRows, threadColumns; ///< of a thread
  int64_t slices;                    ///< threads that each add up a part of the same sums
  int64_t padding = kMostPadding;    ///< most bytes between two lines

  int64_t threadsOfSlice() const { return rows / threadRows * (columns / threadColumns); }
  int64_t threads() const { return threadsOfSlice() * slices; }
};

/// What tensor cores multiply in one instruction, of which a warp holds the pieces.
struct CoreShape {
  int64_t rows = 16, columns = 8, k; ///< 16 terms of 16 bits, 8 of tf32
};

/// A block whose warps each have a rectangle of sums.
struct CoreTile {
  int64_t rows, columns, k;
  int64_t warpRows, warpColumns;
  int64_t slices;
  int64_t stages = 0; ///< parts of the terms that are in shared memory or on their way there by
                      ///< themselves; 0: two, through registers

  int64_t warpsOfSlice() const { return rows / warpRows * (columns / warpColumns); }
  int64_t threads() const { return warpsOfSlice() * slices * 32; }
};

/// A place in the grid: indices of the batch, the first row and column.
struct TilePlace {
  llvm::SmallVector<Value> batch;
  Value row, column;
};

/// The tile of which the product takes the least time, by an estimate that knows the shape alone.
Tile chooseTile(const ProductSizes &sizes, int64_t bytes);
CoreTile chooseCoreTile(const Product &product, const CoreShape &shape, int64_t bytes);

} // namespace gantry::gpu
