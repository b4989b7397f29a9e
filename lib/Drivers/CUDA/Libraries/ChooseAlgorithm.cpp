#include "ChooseAlgorithm.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::runtime::cuda::cublaslt {

namespace {

/// What the library's order is worth: one that it likes less must use the GPU so much better.
constexpr double preference = 4;
/// A product is worth a look when a sixteenth of a large GPU takes longer for it than its launch.
constexpr uint64_t leastFlops = uint64_t(1) << 26;
constexpr double mostIdle = 16;

/// How many times longer than with all multiprocessors at work all the time: a wave is what the GPU
/// has room for at once. 1 where the library does not say.
double idleness(const Heuristic &found) {
  const double waves = found.waves;
  return waves > 0 ? std::ceil(waves) / waves : 1;
}

} // namespace

std::optional<size_t> chooseAlgorithm(std::span<const Heuristic> found, uint64_t flops) {
  double least = std::numeric_limits<double>::infinity();
  for (const Heuristic &each : found)
    if (each.state == Result::success)
      least = std::min(least, idleness(each));
  if (flops >= leastFlops && least > mostIdle)
    return std::nullopt;
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].state == Result::success && idleness(found[i]) <= preference * least)
      return i;
  return std::nullopt;
}

} // namespace gantry::runtime::cuda::cublaslt
