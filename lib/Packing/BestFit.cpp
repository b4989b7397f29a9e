// Best fit: buffers in order of falling size, each into the smallest gap between those already
// placed that are live at the same time. The rule of TensorFlow Lite's arena planner; here for
// problems with fixed offsets, which a skyline cannot go around.
#include "gantry/Packing/Packing.h"

#include "Granularity.h"

namespace gantry::packing {

namespace {
bool liveTogether(const Buffer &a, const Buffer &b) { return a.first < b.last && b.first < a.last; }

struct Range {
  uint64_t begin, end;
};

/// The ranges of placed buffers that are live together with `buffer`, by offset.
std::vector<Range> obstaclesOf(const Problem &problem, const std::vector<size_t> &placed,
                               const Solution &solution, const Buffer &buffer) {
  std::vector<Range> obstacles;
  for (size_t other : placed) {
    const Buffer &at = problem.buffers[other];
    if (liveTogether(buffer, at))
      obstacles.push_back({solution.offsets[other], solution.offsets[other] + at.size});
  }
  std::sort(obstacles.begin(), obstacles.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  return obstacles;
}

uint64_t bestOffset(const std::vector<Range> &obstacles, const Buffer &buffer) {
  uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
  for (const Range &range : obstacles) {
    uint64_t offset = roundUp(end, buffer.alignment);
    if (offset + buffer.size <= range.begin && range.begin - offset < bestGap) {
      best = offset;
      bestGap = range.begin - offset;
    }
    end = std::max(end, range.end);
  }
  return bestGap != UINT64_MAX ? best : roundUp(end, buffer.alignment);
}
} // namespace

Solution packBestFit(const Problem &problem) {
  Solution solution;
  solution.offsets.assign(problem.buffers.size(), 0);
  solution.lowerBound = lowerBound(problem);

  std::vector<size_t> order, placed;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.fixedOffset)
      solution.offsets[i] = *buffer.fixedOffset;
    if (buffer.size == 0 || buffer.first == buffer.last)
      continue;
    (buffer.fixedOffset ? placed : order).push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    uint64_t sizeA = problem.buffers[a].size, sizeB = problem.buffers[b].size;
    return sizeA != sizeB ? sizeA > sizeB : a < b;
  });
  for (size_t index : order) {
    const Buffer &buffer = problem.buffers[index];
    solution.offsets[index] = bestOffset(obstaclesOf(problem, placed, solution, buffer), buffer);
    placed.push_back(index);
  }

  uint64_t end = solution.lowerBound;
  for (size_t index : placed)
    end = std::max(end, solution.offsets[index] + problem.buffers[index].size);
  solution.peak = roundUp(end, granuleOf(problem));
  return solution;
}

} // namespace gantry::packing
