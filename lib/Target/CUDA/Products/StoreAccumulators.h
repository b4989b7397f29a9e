// What becomes of the accumulators of a tile: the rest of the kernel is computed from each, and
// written.
#pragma once

#include "Threads/Kernel.h"
#include "Tile.h"

namespace gantry::gpu {

/// Neighbouring columns of one row of the tile, and their sums.
struct Run {
  Value row, column;
  llvm::SmallVector<Value> accumulators;
};

class StoreAccumulators {
public:
  StoreAccumulators(KernelEmitter &kernel, const Output &output, const Product &product,
                    int64_t tileRows, int64_t tileColumns);

  /// From now on it is the tile that begins there.
  void moveTo(const TilePlace &place);

  /// Not the result is written, but memory of the block: a line of `stride` elements for each row
  /// of the tile, with all columns of the product. Behind the last row that one is written again.
  void keepIn(Value memory, int64_t stride);

  /// All runs of a thread that has complete sums.
  void store(llvm::ArrayRef<Run> runs);

  /// The sums of each slice of the block are parts: they meet in shared memory, are added slice by
  /// slice, and spread over the block's threads.
  /// `firstRun` says where in the tile the first run of a thread of a slice is: row and column.
  void joinAndStore(llvm::ArrayRef<Run> runs, Value slice, int64_t slices,
                    llvm::function_ref<std::pair<int64_t, int64_t>(int64_t)> firstRun);

private:
  void provideInputs();
  Value isInside(Value row, Value column);
  /// An element of the output: its number and, where that is no more work, its indices.
  struct Place {
    Value linear;
    Indices at;
  };
  llvm::SmallVector<Value> compute(const Place &place, llvm::ArrayRef<Value> accumulators);
  llvm::SmallVector<Value> computeWhere(Value condition, const Place &place,
                                        llvm::ArrayRef<Value> accumulators);
  Indices indicesAt(Value row, Value column);
  Place placeAt(Value row, Value column);
  bool areNeighbours(int64_t columns) const;

  KernelEmitter &kernel;
  const Output &output;
  const Product &product;
  int64_t tileRows, tileColumns;
  mlir::ImplicitLocOpBuilder &b;
  llvm::ArrayRef<int64_t> inner;     ///< shape of the output before it is put in another order
  llvm::SmallVector<unsigned> order; ///< which dimension of that each of the output is
  llvm::SmallVector<Value> batch;
  Value firstRow, firstColumn;
  Value kept; ///< memory of the block, or null
  int64_t keptStride = 0;
  Value sum, linear; ///< of the element that is being computed: the sum, its number in the result
};

/// x < y as unsigned numbers.
Value isBelow(mlir::ImplicitLocOpBuilder &b, Value x, int64_t y);

} // namespace gantry::gpu
