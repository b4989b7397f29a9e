// The order of dimensions that images have: NCHW in graphs, NHWC for convolution networks on CPUs
// (docs/designs/cpu-contractions.md).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gantry {

/// Bytes that processors multiply and add up at a time.
inline constexpr int64_t kInt8PackingFactor = 4;

/// Channels that a packed filter of such elements has side by side: those of a word of 32 bits.
inline int64_t packingFactorOfChannels(mlir::Type element) {
  return element.isInteger(8) ? kInt8PackingFactor : element.isBF16() ? 2 : 1;
}

/// Whether the op's images are [n, spatial..., c]. Of transposed convolutions the filter says it:
/// it is packed then, [o / panel, window..., c, panel].
inline bool isNHWC(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .Case<ConvOp, MaxPoolOp, AvgPoolOp, LpPoolOp, BatchNormOp>(
          [](auto op) { return op.getLayout() == ImageLayout::NHWC; })
      .Case<ConvTransposeOp>([](ConvTransposeOp op) {
        return op.getFilter().getType().getRank() > op.getInput().getType().getRank();
      })
      .Default(false);
}

} // namespace gantry
