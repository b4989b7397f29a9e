// The skyline planner. The arena is drawn with time to the right and offsets upwards; the skyline
// is the upper edge of what has been placed. Again and again take its lowest valley and put into
// it, on its floor, the best buffer whose life span fits between the valley's walls; when none
// fits, raise the floor to the lower wall. That is "give the buffer of best key the lowest offset
// that is free" without looking at pairs of buffers, so it is near-linear (measured: 62 000 buffers
// in 0.1 s).
//
// "Best" is a key over contention, size and life span. No key is best for all graphs, so a small
// portfolio is tried, and the first that meets the lower bound ends it.
#include "Skyline.h"

#include "Planners.h"

#include <cmath>
#include <numeric>
#include <queue>

namespace gantry::packing {

namespace {

/// Largest value in a range, by a bottom-up segment tree.
class RangeMax {
public:
  explicit RangeMax(const std::vector<uint64_t> &values) : size(values.size()), tree(2 * size) {
    std::copy(values.begin(), values.end(), tree.begin() + size);
    for (size_t i = size; i-- > 1;)
      tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
  }
  uint64_t query(size_t begin, size_t end) const {
    uint64_t most = 0;
    for (begin += size, end += size; begin < end; begin /= 2, end /= 2) {
      if (begin % 2)
        most = std::max(most, tree[begin++]);
      if (end % 2)
        most = std::max(most, tree[--end]);
    }
    return most;
  }

private:
  size_t size;
  std::vector<uint64_t> tree;
};

/// Those that won most often first.
constexpr KeyWeights weightings[] = {
    {1000, 1, 0},   {0, 1, 1},      {8, 1, 1},      {0, 1, 0},      {1000, 0, 1},     {8, 1, 0},
    {1000, 1, 1},   {0, 1, 0.5},    {8, 1, 0.5},    {1000, 1, 0.5}, {0, 0.5, 1},      {8, 0.5, 1},
    {1000, 0.5, 1}, {0, 0, 1},      {8, 0, 1},      {8, 0.5, 0.5},  {1000, 0.5, 0.5}, {8, 0.5, 0},
    {8, 0, 0.5},    {1000, 0, 0.5}, {1000, 0.5, 0}, {8, 0, 0},      {1000, 0, 0},     {0, 0, 0.5},
    {0, 0.5, 0},    {0, 0.5, 0.5},
};

/// The skyline: segments over the slots, linked from left to right, with the lowest first in a
/// heap. A segment is known by its first slot. Heap entries are not removed when a segment changes;
/// they are passed over when they come up and no longer agree with it.
class Skyline {
public:
  explicit Skyline(uint32_t numSlots) : segments(numSlots), numSlots(numSlots) {
    set(0, numSlots, 0);
  }

  struct Valley {
    uint32_t begin, end;
    uint64_t floor;
  };

  Valley lowest() {
    for (;;) {
      auto [height, begin] = heap.top();
      const Segment &segment = segments[begin];
      if (segment.alive && segment.height == height)
        return {begin, segment.end, height};
      heap.pop();
    }
  }

  /// Covers [begin, end) of the valley up to `top`; what is left and right of it stays.
  void cover(const Valley &valley, uint32_t begin, uint32_t end, uint64_t top) {
    if (valley.begin < begin)
      set(valley.begin, begin, valley.floor);
    if (end < valley.end)
      set(end, valley.end, valley.floor);
    set(begin, end, top);
    joinLeft(joinRight(begin));
  }

  /// Raises the valley to its lower wall and joins it with that.
  void raise(const Valley &valley) {
    uint64_t left = valley.begin > 0 ? segments[beginBefore(valley.begin)].height : UINT64_MAX;
    uint64_t right = valley.end < numSlots ? segments[valley.end].height : UINT64_MAX;
    set(valley.begin, valley.end, std::min(left, right));
    joinLeft(joinRight(valley.begin));
  }

private:
  struct Segment {
    uint32_t end = 0;
    uint32_t begin = 0; ///< valid at a segment's last slot: where the segment begins
    uint64_t height = 0;
    bool alive = false; ///< a segment begins here
  };
  std::vector<Segment> segments;
  uint32_t numSlots;
  using Entry = std::pair<uint64_t, uint32_t>; // height, begin
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;

  uint32_t beginBefore(uint32_t begin) const { return segments[begin - 1].begin; }

  void set(uint32_t begin, uint32_t end, uint64_t height) {
    segments[begin].end = end;
    segments[begin].height = height;
    segments[begin].alive = true;
    segments[end - 1].begin = begin;
    heap.emplace(height, begin);
  }

  uint32_t joinRight(uint32_t begin) {
    uint32_t end = segments[begin].end;
    if (end < numSlots && segments[end].height == segments[begin].height) {
      segments[end].alive = false;
      set(begin, segments[end].end, segments[begin].height);
    }
    return begin;
  }
  void joinLeft(uint32_t begin) {
    if (begin == 0)
      return;
    uint32_t before = beginBefore(begin);
    if (segments[before].height != segments[begin].height)
      return;
    segments[begin].alive = false;
    set(before, segments[begin].end, segments[before].height);
  }
};

} // namespace

static std::vector<IntervalIndex::Item> itemsOf(const Instance &instance) {
  std::vector<IntervalIndex::Item> items;
  items.reserve(instance.boxes.size());
  for (uint32_t i = 0; i < instance.boxes.size(); ++i)
    items.push_back({instance.boxes[i].begin, instance.boxes[i].end, i, i});
  return items;
}

SkylinePlanner::SkylinePlanner(const Instance &instance)
    : instance(instance), waiting(itemsOf(instance)), order(instance.boxes.size()),
      ranks(instance.boxes.size()) {
  std::iota(order.begin(), order.end(), 0);
}

uint64_t SkylinePlanner::place(const std::vector<double> &keys, uint64_t limit,
                               std::vector<uint64_t> &offsets) {
  // Equal keys keep the order of the problem, so that there is one result.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b]
                              : instance.boxes[a].buffer < instance.boxes[b].buffer;
  });
  for (uint32_t rank = 0; rank < order.size(); ++rank)
    ranks[order[rank]] = rank;
  waiting.refill(ranks);

  Skyline skyline(instance.numSlots);
  offsets.resize(instance.boxes.size());
  uint64_t height = 0;
  for (size_t left = instance.boxes.size(); left != 0 && height < limit;) {
    Skyline::Valley valley = skyline.lowest();
    uint32_t index = waiting.takeBest(valley.begin, valley.end);
    if (index == IntervalIndex::none) {
      skyline.raise(valley);
      continue;
    }
    const Box &box = instance.boxes[index];
    offsets[index] = roundUp(valley.floor, box.alignment);
    uint64_t top = offsets[index] + box.size;
    skyline.cover(valley, box.begin, box.end, top);
    height = std::max(height, top);
    --left;
  }
  return height;
}

KeyMaker::KeyMaker(const Instance &instance) : instance(instance) {
  RangeMax most(instance.load);
  contention.reserve(instance.boxes.size());
  for (const Box &box : instance.boxes)
    contention.push_back(static_cast<double>(most.query(box.begin, box.end)) /
                         static_cast<double>(instance.lowerBound));
}

std::vector<double> KeyMaker::keys(const KeyWeights &weights) const {
  std::vector<double> keys(contention.size());
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = weights.contention * contention[i] +
              weights.size * std::log2(double(instance.boxes[i].size)) +
              weights.duration * std::log2(double(instance.boxes[i].duration));
  return keys;
}

unsigned numWeightings() { return static_cast<unsigned>(std::size(weightings)); }

const KeyWeights &weighting(unsigned number) { return weightings[number]; }

} // namespace gantry::packing
