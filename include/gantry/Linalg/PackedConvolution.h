// The linalg form of a convolution with the channels last: what the lowering writes, and targets
// look for.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace gantry {

/// A convolution of [n, spatial..., c] with a filter [o / panel, window..., c / groups, panel]. Its
/// loops are the result's dimensions, the window's and the input channels of a group, all of them,
/// be they of one step: terms are added in the order of the last ones. Of narrow elements the
/// filter is [o / panel, window..., c / groups / depth, panel, depth], and there is a last loop for
/// depth; pairs of bf16 are added as processors add them all the same (givesAccumulators).
///
/// A transposed convolution reads its window from the last place of the filter to the first, in the
/// image with zeros between its pixels. A third operand has the sizes of that window, which no
/// other one tells; its elements are never read.
struct PackedConvolution {
  int64_t batch, channels, groups, outputs, panel;
  llvm::SmallVector<int64_t, 3> out, window, strides, dilations; ///< one for each spatial dimension

  int64_t depth = 1; ///< channels that lie side by side in each column of a panel
  bool isTransposed = false;

  unsigned spatial() const { return out.size(); }
  unsigned numLoops() const { return 2 * spatial() + (depth > 1 ? 4 : 3); }
  /// Input channels of a group.
  int64_t inner() const { return channels / groups; }
  /// Each channel is convolved by itself.
  bool isDepthwise() const { return inner() == 1 && groups == outputs; }

  /// Of the image with its borders, the filter, the sizes of a transposed one, and the result.
  llvm::SmallVector<mlir::AffineMap> maps(mlir::MLIRContext *context) const;
  llvm::SmallVector<mlir::utils::IteratorType> iterators() const;

  /// That of an op with its channels last.
  static PackedConvolution of(ConvOp op);
  static PackedConvolution of(ConvTransposeOp op);
  /// What an op of this form computes; nothing for others.
  static std::optional<PackedConvolution> match(mlir::linalg::LinalgOp op);
};

} // namespace gantry
