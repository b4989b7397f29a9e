// What a convolution's border means for its sums (docs/decisions/0070).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <algorithm>
#include <utility>

namespace gantry {

/// On a convolution of floating point with a border, once that is a value of its own: +0 is added
/// behind its sums, so that a sum that underflowed to -0 is the same whether products with the
/// border's zeros came after it or not.
inline constexpr llvm::StringLiteral kPlusZeroAttr = "gantry.plus_zero";

/// On a convolution, and on the linalg op that it becomes: nobody sees whether its weights were
/// multiplied by the border's zeros, so that kernels may leave these products out.
inline constexpr llvm::StringLiteral kSkipsBorderAttr = "gantry.skips_border";

inline bool addsPlusZero(mlir::Operation *op) { return op->hasAttr(kPlusZeroAttr); }
inline void setPlusZero(mlir::Operation *op) {
  op->setDiscardableAttr(kPlusZeroAttr, mlir::UnitAttr::get(op->getContext()));
}

inline bool skipsBorder(mlir::Operation *op) { return op->hasAttr(kSkipsBorderAttr); }
inline void setSkipsBorder(mlir::Operation *op) {
  op->setDiscardableAttr(kSkipsBorderAttr, mlir::UnitAttr::get(op->getContext()));
}

/// The places of a window along one dimension that lie in an image of `size`, from the first up to
/// the second, where the window begins `start` behind the image's first place.
inline std::pair<int64_t, int64_t> tapsInside(int64_t start, int64_t size, int64_t window,
                                              int64_t dilation) {
  auto tapsBefore = [&](int64_t place) {
    const int64_t distance = std::max<int64_t>(0, place - start);
    return std::min(window, (distance + dilation - 1) / dilation);
  };
  return {tapsBefore(0), tapsBefore(size)};
}

/// Their number for all of `pixels` side by side, whose windows begin `stride` apart, the first of
/// them `low` before the image.
inline int64_t countTapsInside(int64_t pixels, int64_t stride, int64_t low, int64_t size,
                               int64_t window, int64_t dilation) {
  int64_t count = 0;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    auto [from, to] = tapsInside(pixel * stride - low, size, window, dilation);
    count += to - from;
  }
  return count;
}

} // namespace gantry
