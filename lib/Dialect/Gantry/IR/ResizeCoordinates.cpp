#include "gantry/Dialect/Gantry/IR/ResizeCoordinates.h"

#include <cmath>

using namespace mlir;
using namespace gantry;

namespace {
/// Numbers of this machine.
struct HostMath {
  using Value = double;
  static double number(double x) { return x; }
  static double add(double x, double y) { return x + y; }
  static double sub(double x, double y) { return x - y; }
  static double mul(double x, double y) { return x * y; }
  static double div(double x, double y) { return x / y; }
};
} // namespace

bool gantry::resizeChanges(ResizeOp op, unsigned dim) {
  return op.getInput().getType().getDimSize(dim) != op.getType().getDimSize(dim) ||
         op.getScales()[dim] != 1 || op.getCoordinateMode() == CoordinateMode::TfCropAndResize;
}

static double nearestTo(double x, NearestMode mode) {
  switch (mode) {
  case NearestMode::RoundPreferFloor:
    return std::ceil(x - 0.5);
  case NearestMode::RoundPreferCeil:
    return std::floor(x + 0.5);
  case NearestMode::Floor:
    return std::floor(x);
  case NearestMode::Ceil:
    return std::ceil(x);
  }
  llvm_unreachable("all modes are listed");
}

SmallVector<std::pair<int64_t, double>> gantry::resizeWeights(ResizeOp op, unsigned dim,
                                                              int64_t o) {
  const int64_t in = op.getInput().getType().getDimSize(dim);
  const double coordinate = resizeCoordinate(HostMath(), op, dim, double(o));
  if (op.getCoordinateMode() == CoordinateMode::TfCropAndResize &&
      (coordinate < 0 || coordinate > double(in - 1)))
    return {};
  // Far outside is as good as just outside.
  const double x = std::clamp(coordinate, -4.0, double(in) + 4);
  auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  if (op.getMode() == ResizeMode::Nearest)
    return {{inside(int64_t(nearestTo(x, op.getNearestMode()))), 1.0}};
  SmallVector<double> weights = resizeWeightsAt(HostMath(), op, x - std::floor(x));
  const int64_t first = int64_t(std::floor(x)) - (op.getMode() == ResizeMode::Cubic);
  double sum = 0;
  for (auto [k, weight] : llvm::enumerate(weights)) {
    if (op.getExcludeOutside() && inside(first + int64_t(k)) != first + int64_t(k))
      weight = 0;
    sum += weight;
  }
  SmallVector<std::pair<int64_t, double>> read;
  for (auto [k, weight] : llvm::enumerate(weights))
    read.push_back({inside(first + int64_t(k)), op.getExcludeOutside() ? weight / sum : weight});
  return read;
}
