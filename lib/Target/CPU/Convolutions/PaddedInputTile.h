// A padded input tile: what a work item reads of an image with its halo, on its stack: there each
// window is runs of memory, and nobody asks of each of its places whether that is in the image.
#pragma once

#include "Convolution.h"

namespace gantry {

/// The padded image without the pixels that no window reaches, those of the whole batch one behind
/// the other. A slice is all that has one place along the first spatial dimension; an item has the
/// slices that its pixels read.
class PaddedInputTile {
public:
  PaddedInputTile(mlir::ImplicitLocOpBuilder &b, const Convolution &convolution);

  /// Pixels along a spatial dimension.
  int64_t size(unsigned dim) const;

  using PixelRange = std::pair<int64_t, int64_t>;
  /// Whether it fits on the stack and costs less than it saves: for `items` ranges of pixels, each
  /// copied once for each of `parts`, all of which pass `bands` of the columns. Makes the buffer if
  /// so.
  bool make(int64_t items, int64_t parts, int64_t bands,
            llvm::function_ref<PixelRange(int64_t)> pixelsOf);

  /// Its elements, one after the other; null unless made.
  mlir::Value elements() const { return buffer; }
  /// The number of the first slice that an item has.
  mlir::Value firstSlice() const { return first; }

  /// Inside of a work item, for its pixels `from` to `to`, before anything else.
  void fill(mlir::Value from, mlir::Value to);

private:
  int64_t pixelsOfSlice() const;
  /// Slices that some pixels read, by their numbers.
  PixelRange slicesOf(PixelRange pixels) const;
  mlir::Value firstSliceOf(mlir::Value pixel) const;
  void fillDim(unsigned dim, mlir::Value imageRow, mlir::Value to);
  void clearRun(mlir::Value to, int64_t length);
  void copyRun(mlir::Value from, mlir::Value to, int64_t length);
  void forLanes(int64_t length, llvm::function_ref<void(mlir::Value, int64_t)> body);

  mlir::ImplicitLocOpBuilder &b;
  const Convolution &convolution;
  IndexBuilder index;
  mlir::Value image, buffer, first;
  int64_t elementsOfPixel;
};

} // namespace gantry
