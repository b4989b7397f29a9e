// The skyline planner. The arena is drawn with time to the right and offsets upwards; the skyline
// is the upper edge of what has been placed. Again and again take its lowest valley and put into
// it, on its floor, the best buffer whose life span fits between the valley's walls; when none
// fits, raise the floor to the lower wall. That is "give the buffer of best key the lowest offset
// that is free" without looking at pairs of buffers, so it is near-linear (measured: 62 000 buffers
// in 0.1 s).
//
// "Best" is a key over contention, size and life span. No key is best for all graphs, so a small
// portfolio is tried, and the first that meets the lower bound ends it.
#include "gantry/Packing/Packing.h"

#include "Granularity.h"
#include "IntervalIndex.h"

#include <cmath>
#include <numeric>
#include <queue>

namespace gantry::packing {

namespace {

/// A buffer that takes room, in slots: the stretches between two times at which something changes.
struct Box {
  uint32_t begin, end; ///< slots, half-open
  uint64_t size;       ///< rounded up to the granule
  uint64_t alignment;
  uint32_t buffer;   ///< index in the problem
  double contention; ///< largest load of a slot of its life span, as a part of the lower bound
};

struct Instance {
  std::vector<Box> boxes;
  uint32_t numSlots = 0;
  uint64_t granule = 64;
  uint64_t lowerBound = 0;
};

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

/// Replaces times by slots, so that the work depends on the buffers and not on the steps.
void compressTimes(const Problem &problem, Instance &instance) {
  std::vector<uint32_t> times;
  for (const Buffer &buffer : problem.buffers) {
    times.push_back(buffer.first);
    times.push_back(buffer.last);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto slotOf = [&](uint32_t time) {
    return static_cast<uint32_t>(std::lower_bound(times.begin(), times.end(), time) -
                                 times.begin());
  };
  instance.numSlots = times.empty() ? 0 : static_cast<uint32_t>(times.size() - 1);
  for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.size != 0 && buffer.first != buffer.last)
      instance.boxes.push_back({slotOf(buffer.first), slotOf(buffer.last),
                                roundUp(buffer.size, instance.granule), buffer.alignment, i, 0});
  }
}

void measureContention(Instance &instance) {
  std::vector<uint64_t> load(instance.numSlots + 1, 0); // differences, then their prefix sums
  for (const Box &box : instance.boxes) {
    load[box.begin] += box.size;
    load[box.end] -= box.size;
  }
  std::partial_sum(load.begin(), load.end(), load.begin());
  RangeMax most(load);
  instance.lowerBound = most.query(0, load.size());
  for (Box &box : instance.boxes)
    box.contention = static_cast<double>(most.query(box.begin, box.end)) /
                     static_cast<double>(instance.lowerBound);
}

/// Weights of a key; the box with the largest sum goes first.
struct Key {
  double contention, size, duration;
};

/// The portfolio, those that won most often first.
constexpr Key keys[] = {
    {1000, 1, 0},   {0, 1, 1},      {8, 1, 1},      {0, 1, 0},      {1000, 0, 1},     {8, 1, 0},
    {1000, 1, 1},   {0, 1, 0.5},    {8, 1, 0.5},    {1000, 1, 0.5}, {0, 0.5, 1},      {8, 0.5, 1},
    {1000, 0.5, 1}, {0, 0, 1},      {8, 0, 1},      {8, 0.5, 0.5},  {1000, 0.5, 0.5}, {8, 0.5, 0},
    {8, 0, 0.5},    {1000, 0, 0.5}, {1000, 0.5, 0}, {8, 0, 0},      {1000, 0, 0},     {0, 0, 0.5},
    {0, 0.5, 0},    {0, 0.5, 0.5},
};

std::vector<uint32_t> ranksBy(const Instance &instance, const Key &key) {
  std::vector<double> value(instance.boxes.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const Box &box = instance.boxes[i];
    value[i] = key.contention * box.contention + key.size * std::log2(double(box.size)) +
               key.duration * std::log2(double(box.end - box.begin));
  }
  std::vector<uint32_t> order(value.size());
  std::iota(order.begin(), order.end(), 0);
  // Equal keys keep the order of the problem, so that there is one result.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return value[a] != value[b] ? value[a] > value[b] : a < b;
  });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank)
    ranks[order[rank]] = rank;
  return ranks;
}

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

/// Offsets per box for one order; gives the height reached, or stops once it is over `limit`.
uint64_t placeAll(const Instance &instance, const Key &key, uint64_t limit,
                  std::vector<uint64_t> &offsets) {
  std::vector<uint32_t> ranks = ranksBy(instance, key);
  std::vector<IntervalIndex::Item> items;
  items.reserve(ranks.size());
  for (uint32_t i = 0; i < ranks.size(); ++i)
    items.push_back({instance.boxes[i].begin, instance.boxes[i].end, ranks[i], i});
  IntervalIndex waiting(std::move(items));

  Skyline skyline(instance.numSlots);
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
} // namespace

Solution packSkyline(const Problem &problem, const Options &options) {
  Solution solution;
  solution.offsets.assign(problem.buffers.size(), 0);
  Instance instance;
  instance.granule = granuleOf(problem);
  compressTimes(problem, instance);
  if (instance.boxes.empty())
    return solution;
  measureContention(instance);
  solution.lowerBound = instance.lowerBound;

  uint64_t affordable = std::max<uint64_t>(1, options.maxPlacements / instance.boxes.size());
  uint64_t orders = std::min<uint64_t>({affordable, options.maxOrders, std::size(keys)});
  std::vector<uint64_t> offsets(instance.boxes.size());
  uint64_t best = UINT64_MAX;
  for (uint64_t i = 0; i < std::max<uint64_t>(1, orders) && best != instance.lowerBound; ++i) {
    uint64_t height = placeAll(instance, keys[i], best, offsets);
    if (height >= best)
      continue;
    best = height;
    for (size_t b = 0; b < offsets.size(); ++b)
      solution.offsets[instance.boxes[b].buffer] = offsets[b];
  }
  solution.peak = best;
  return solution;
}

} // namespace gantry::packing
