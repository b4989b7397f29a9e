// The order of dimensions that convolution networks have on CPUs (docs/decisions/0033).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace gantry {

/// On a convolution, a pool or a batch normalisation: its images are [n, spatial..., c], and the
/// filter of a convolution is packed, [o / panel, window..., c / groups, panel], so that its first
/// and last dimension together count the output channels. Narrow filters have channelsTogether
/// channels side by side, of bytes [o / panel, window..., c / groups / 4, panel, 4]. The compiler
/// makes ops of that form for targets that have kernels for it; graphs have none.
inline constexpr llvm::StringLiteral kChannelsLastAttr = "gantry.channels_last";

/// On an op between two convolutions, or the first of them: its result is made row by row in the
/// kernel of the op that reads it, and never there as a whole.
inline constexpr llvm::StringLiteral kByRowsAttr = "gantry.by_rows";

/// Bytes that processors multiply and add up at a time.
inline constexpr int64_t kBytesTogether = 4;

/// Channels that a packed filter of such elements has side by side: those of a word of 32 bits.
inline int64_t channelsTogether(mlir::Type element) {
  return element.isInteger(8) ? kBytesTogether : element.isBF16() ? 2 : 1;
}

inline bool isChannelsLast(mlir::DictionaryAttr attributes) {
  return attributes && attributes.contains(kChannelsLastAttr);
}
inline bool isChannelsLast(mlir::Operation *op) { return op->hasAttr(kChannelsLastAttr); }

inline void setChannelsLast(mlir::Operation *op) {
  op->setDiscardableAttr(kChannelsLastAttr, mlir::UnitAttr::get(op->getContext()));
}

} // namespace gantry
