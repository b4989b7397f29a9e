// What kernels of convolutions that mix channels have in common: blocks of pixels by panels of
// output channels, in registers. Blocks.cpp has blocks that go on from row to row, Rows.cpp blocks
// that are parts of rows.
#pragma once

#include "WorkPartition.h"

namespace gantry {

class PixelBlocks {
protected:
  PixelBlocks(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution,
              WorkPartition partition, PixelRegisters piece);

  //===--- Items ------------------------------------------------------------===//

  /// Memory on the stack for the accumulators of a block of so many columns.
  void keepAccumulators(int64_t width);
  /// Makes the scf.forall; an item has so many multiply-adds.
  void forItems(int64_t work, llvm::function_ref<void(mlir::Value, mlir::Value)> emitItem);
  /// What one of `items` has of `all`: no item has more than one more than another, so that the
  /// last one does not end before the others.
  std::pair<mlir::Value, mlir::Value> share(mlir::Value item, int64_t items, int64_t all) const;
  /// The bands of all panels that an item has.
  std::pair<mlir::Value, mlir::Value> bandsOf(mlir::Value item) const {
    return share(item, partition.parts, partition.panels * int64_t(partition.bands.size()));
  }
  /// Calls `emit` for the columns of bands, as many at a time as there are registers for: with the
  /// panel, where in it they begin, and how many they are.
  void forColumns(std::pair<mlir::Value, mlir::Value> bands,
                  llvm::function_ref<void(mlir::Value, mlir::Value, int64_t)> emit);

  //===--- Sums of a block --------------------------------------------------===//

  llvm::SmallVector<mlir::Value> zeroAccumulators(int64_t pixels, llvm::ArrayRef<Lanes> lanes);
  /// The number of a panel's column among all.
  mlir::Value columnOf(mlir::Value panel, mlir::Value column) const;
  /// The channel of an image with which the group of a panel begins, in words; null: the first.
  mlir::Value firstChannelOf(mlir::Value panel) const;
  /// Adds `length` terms of a panel, from `atK` on, `steps` of them written out at a time.
  /// `wordOf` gives the word of a pixel `k` steps behind a term.
  llvm::SmallVector<mlir::Value>
  addOverK(mlir::Value panel, mlir::Value atK, mlir::Value column, llvm::ArrayRef<Lanes> lanes,
           int64_t length, int64_t steps, int64_t pixels, mlir::ValueRange accumulators,
           llvm::function_ref<mlir::Value(int64_t pixel, mlir::Value at, int64_t k)> wordOf);
  /// By way of the stack: what follows sums of bytes is long, and code for each register of a block
  /// longer than all else.
  void storeByRows(mlir::ValueRange accumulators, llvm::ArrayRef<Lanes> lanes,
                   mlir::Value firstPixel, int64_t pixels, mlir::Value firstColumn);
  /// What is on the stack, a pixel after the other.
  void storeKept(llvm::ArrayRef<Lanes> lanes, mlir::Value firstPixel, int64_t pixels,
                 mlir::Value firstColumn);

  mlir::ImplicitLocOpBuilder &b;
  const Convolution &convolution;
  const PackedConvolution &form;
  IndexBuilder index;
  WorkPartition partition;
  PixelRegisters piece;
  mlir::Value image, filter; ///< flat
  mlir::Value kept; ///< the accumulators of a block on the stack, where what follows reads them
  Epilogue epilogue;

private:
  void emitBand(mlir::Value number,
                llvm::function_ref<void(mlir::Value, mlir::Value, int64_t)> emit);
  void emitPart(mlir::Value panel, mlir::Value column, int64_t columns,
                llvm::function_ref<void(mlir::Value, mlir::Value, int64_t)> emit);
  mlir::Type sumType() const;
  mlir::Value multiplyAdd(mlir::Value channel, mlir::Value weights, mlir::Value accumulators);
};

} // namespace gantry
