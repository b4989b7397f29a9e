// Where gantry.resize reads: the one home of ONNX's formulas, for kernels, which compute them, and
// for the way back, which has to know who read an element.
//
// A formula is a template over `Math`, which has a type Value, numbers, and the four operations:
// each user computes the same operations in the same order.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Whether the resize does anything to dimension `dim`.
bool resizeChanges(ResizeOp op, unsigned dim);

/// What element `o` of dimension `dim` of the result is made of: elements of the input with
/// weights. Edges that stand for what is outside come more than once; what is extrapolated reads
/// nothing.
llvm::SmallVector<std::pair<int64_t, double>> resizeWeights(ResizeOp op, unsigned dim, int64_t o);

/// The coordinate of the input that element `i` of the result samples, computed in f64.
template <typename Math>
typename Math::Value resizeCoordinate(Math math, ResizeOp op, unsigned dim,
                                      typename Math::Value i) {
  const int64_t in = op.getInput().getType().getDimSize(dim), out = op.getType().getDimSize(dim);
  const double scale = op.getScales()[dim], last = double(in - 1);
  // ONNX's length_resized: not rounded when scales were given.
  const double resized = scale * double(in);
  switch (op.getCoordinateMode()) {
  case CoordinateMode::PytorchHalfPixel:
    if (out <= 1)
      return math.number(0);
    [[fallthrough]];
  case CoordinateMode::HalfPixel:
    return math.add(math.div(math.add(i, 0.5), scale), -0.5);
  case CoordinateMode::AlignCorners:
    return resized == 1 ? math.number(0) : math.div(math.mul(i, last), resized - 1);
  case CoordinateMode::Asymmetric:
    return math.div(i, scale);
  case CoordinateMode::TfCropAndResize: {
    llvm::ArrayRef<double> roi = op.getRoi();
    const size_t rank = op.getScales().size();
    const double start = roi.empty() ? 0 : roi[dim], end = roi.empty() ? 1 : roi[rank + dim];
    if (out <= 1)
      return math.number(0.5 * (start + end) * last);
    return math.add(math.div(math.mul(math.mul(i, end - start), last), resized - 1), start * last);
  }
  }
  llvm_unreachable("all modes are listed");
}

/// Keys' cubic convolution kernel at distance `d` from the sample: |d| <= 1, or 1 < |d| < 2.
template <typename Math>
typename Math::Value resizeCubicNear(Math math, typename Math::Value d, double a) {
  auto inner = math.sub(math.mul(math.number(a + 2), d), math.number(a + 3));
  return math.add(math.mul(math.mul(inner, d), d), math.number(1));
}
template <typename Math>
typename Math::Value resizeCubicFar(Math math, typename Math::Value d, double a) {
  auto inner = math.sub(math.mul(math.number(a), d), math.number(5 * a));
  inner = math.add(math.mul(inner, d), math.number(8 * a));
  return math.sub(math.mul(inner, d), math.number(4 * a));
}

/// Weights of the neighbours around a coordinate with fraction `r`, from left to right.
template <typename Math>
llvm::SmallVector<typename Math::Value> resizeWeightsAt(Math math, ResizeOp op,
                                                        typename Math::Value r) {
  auto one = math.number(1), rest = math.sub(one, r);
  if (op.getMode() == ResizeMode::Linear)
    return {rest, r};
  const double a = op.getCubicCoefficient().convertToDouble();
  return {resizeCubicFar(math, math.add(r, one), a), resizeCubicNear(math, r, a),
          resizeCubicNear(math, rest, a), resizeCubicFar(math, math.add(rest, one), a)};
}

} // namespace gantry
