// Which places of a window lie in the image: the one answer for all that leaves out the others.
#pragma once

#include "Convolution.h"

namespace gantry {

/// From the first up to the second.
using Interval = std::pair<int64_t, int64_t>;

/// The places of the window along a spatial dimension that lie in the image, for a pixel's place
/// along it; the first is not behind the second.
Interval tapsInside(const Convolution &convolution, unsigned dim, int64_t pixel);
/// The same of a pixel that is known at run time.
std::pair<mlir::Value, mlir::Value> tapsInside(mlir::ImplicitLocOpBuilder &b,
                                               const Convolution &convolution, unsigned dim,
                                               mlir::Value pixel);

/// Neighbouring places of the window, with the pixels for which they lie in the image.
struct TapGroup {
  Interval taps, pixels;
  bool operator==(const TapGroup &) const = default;
};
/// Blocks of a row of the result, one behind the other, whose code is the same.
struct BlocksOfRow {
  int64_t first, count;       ///< of the row's blocks
  int64_t firstPixel, pixels; ///< where the first one begins, and of each
  /// The places of the window in their order, without those that are outside for all pixels;
  /// these are counted from the first of the block.
  llvm::SmallVector<TapGroup> groups;
};
/// A row in so many blocks, as even as can be.
llvm::SmallVector<BlocksOfRow> partitionRow(const Convolution &convolution, int64_t blocks);

/// Places of windows in the image along a spatial dimension, of all pixels along it.
int64_t countTapsInside(const Convolution &convolution, unsigned dim);
/// The same in all dimensions, of all pixels of an image.
int64_t countTapsInside(const Convolution &convolution);

} // namespace gantry
