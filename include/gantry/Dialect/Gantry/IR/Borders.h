// What a convolution's border means for its sums (docs/designs/cpu-contractions.md).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include <algorithm>
#include <utility>

namespace gantry {

/// Whether +0 is added behind the sums of a convolution; whether kernels may leave out the products
/// with its border's zeros.
inline bool addsPlusZero(ConvOp conv) {
  return bitEnumContainsAll(conv.getBorder().value_or(Border()), Border::PlusZero);
}
inline bool skipsBorder(ConvOp conv) {
  return bitEnumContainsAll(conv.getBorder().value_or(Border()), Border::Unseen);
}

inline void setBorder(ConvOp conv, Border border) {
  conv.setBorderAttr(border == Border() ? BorderAttr()
                                        : BorderAttr::get(conv.getContext(), border));
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
