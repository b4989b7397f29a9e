// Best fit: boxes in order of falling size, each into the smallest gap between those already placed
// that are live at the same time. The rule of TensorFlow Lite's arena planner; here for what is
// left when the others have spent their effort, since it always ends, fixed boxes or not.
#include "Planners.h"
#include "TimeBuckets.h"

#include <numeric>

namespace gantry::packing {

namespace {
struct Obstacle {
  uint64_t begin, end;
};

uint64_t bestOffset(std::vector<Obstacle> &obstacles, const Box &box) {
  std::sort(obstacles.begin(), obstacles.end(), [](const Obstacle &a, const Obstacle &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
  for (const Obstacle &range : obstacles) {
    uint64_t offset = roundUp(end, box.alignment);
    if (offset + box.size <= range.begin && range.begin - offset < bestGap) {
      best = offset;
      bestGap = range.begin - offset;
    }
    end = std::max(end, range.end);
  }
  return bestGap != UINT64_MAX ? best : roundUp(end, box.alignment);
}
} // namespace

Layout packLargestFirst(const Instance &instance) {
  const std::vector<Box> &boxes = instance.boxes;
  std::vector<uint32_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const bool fixedA = boxes[a].fixedAt != Box::free, fixedB = boxes[b].fixedAt != Box::free;
    if (fixedA != fixedB)
      return fixedA;
    return boxes[a].size != boxes[b].size ? boxes[a].size > boxes[b].size
                                          : boxes[a].buffer < boxes[b].buffer;
  });
  TimeBuckets buckets(instance);
  Layout layout{std::vector<uint64_t>(boxes.size(), Box::free), 0};
  std::vector<Obstacle> obstacles;
  for (uint32_t i : order) {
    obstacles.clear();
    buckets.forEach(i, [&](uint32_t other) {
      if (layout.offsets[other] != Box::free)
        obstacles.push_back({layout.offsets[other], layout.offsets[other] + boxes[other].size});
    });
    layout.offsets[i] =
        boxes[i].fixedAt != Box::free ? boxes[i].fixedAt : bestOffset(obstacles, boxes[i]);
  }
  layout.peak = peakOf(instance, layout.offsets);
  return layout;
}

} // namespace gantry::packing
