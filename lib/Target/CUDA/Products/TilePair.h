// The tiles of both sides of a product, as a block goes through the terms: while one part is
// multiplied, the next one is read; it is written to the other half of the shared memory, so that a
// round has one barrier.
//
// Where both sides may be copied as they are, they may come in stages: copies are on their way for
// several parts at once, no register holds them, and a round waits for the oldest part alone.
#pragma once

#include "FillTile.h"
#include "StoreAccumulators.h"

namespace gantry::gpu {

/// How the tiles of a product are cut.
struct TileSizes {
  int64_t rows, columns, k;
};

/// The tile of this block, and as many blocks as there are tiles. Blocks that follow each other
/// have the same columns.
TilePlace placeOfBlock(KernelEmitter &kernel, const Product &product, int64_t rows,
                       int64_t columns);

class TilePair {
public:
  /// `left` and `right` are what is kept of the operands' elements, in the body of the op.
  TilePair(KernelEmitter &kernel, const Product &product, Value left, Value right,
           const TileSizes &sizes);

  FillTile fillLeft, fillRight;
  TileMemory left, right; ///< where `addUp` has put them

  /// From now on tiles come in so many stages, by copies; in front of `moveTo`.
  void useStages(int64_t count);

  /// Goes to the tile that begins there.
  void moveTo(const TilePlace &place);

  /// How lines lie in memory: of terms or not, where reading wants them to begin and how far they
  /// may be apart, in elements, and how often a warp goes over the banks to read a stage of lines
  /// of a stride. In stages, how many pieces of a line lanes read at once.
  struct Layout {
    bool linesOfK;
    int64_t step, mostPadding;
    std::function<int64_t(int64_t)> passesToRead;
    int64_t piecesAtOnce = 1;
  };

  using Multiply = llvm::function_ref<llvm::SmallVector<Value>(
      ValueRange accumulators, Value stageOfLeft, Value stageOfRight)>;
  /// The sums after all terms; `multiply` adds those of a stage of both tiles.
  llvm::SmallVector<Value> addUp(const Layout &ofLeft, const Layout &ofRight, ValueRange zeros,
                                 Multiply multiply);

private:
  TileMemory allocate(const FillTile &fill, int64_t extent, const Layout &layout);
  int64_t rounds() const;
  void copy(Value round, Value stage);
  llvm::SmallVector<Value> addUpInStages(ValueRange zeros, Multiply multiply);

  KernelEmitter &kernel;
  const Product &product;
  TileSizes sizes;
  int64_t stages = 0; ///< by copies
};

} // namespace gantry::gpu
