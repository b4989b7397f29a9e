// Guided ejection search. Given a capacity, what lies over it is taken out and put back, the
// heaviest first: into the smallest gap that it fits, else where it costs least to eject what is in
// the way, which then waits to be put back in turn. A box costs its size times the root of its
// life, and more each time it was found to fit nowhere, which is what keeps the search from going
// round in circles. The capacity comes down in steps, as far as the effort goes. After the guided
// ejection searches for routing and packing problems; boxes of fixed place are never ejected.
#include "Planners.h"
#include "Random.h"
#include "TimeBuckets.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace gantry::packing {

namespace {

/// The boxes that wait to be placed: the heaviest, or any.
class Waiting {
public:
  explicit Waiting(const std::vector<double> &weights) : weights(weights) {}

  bool empty() const { return heap.empty(); }
  void push(uint32_t box) {
    heap.push_back(box);
    rise(heap.size() - 1);
  }
  uint32_t takeHeaviest() { return take(0); }
  uint32_t takeAny(Random &random) { return take(random.below(heap.size())); }

private:
  const std::vector<double> &weights;
  std::vector<uint32_t> heap;

  bool before(uint32_t a, uint32_t b) const {
    return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
  }
  uint32_t take(size_t at) {
    uint32_t box = heap[at];
    heap[at] = heap.back();
    heap.pop_back();
    if (at < heap.size())
      sink(rise(at));
    return box;
  }
  size_t rise(size_t at) {
    for (; at != 0 && before(heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2)
      std::swap(heap[at], heap[(at - 1) / 2]);
    return at;
  }
  void sink(size_t at) {
    for (size_t child; (child = 2 * at + 1) < heap.size(); at = child) {
      if (child + 1 < heap.size() && before(heap[child + 1], heap[child]))
        ++child;
      if (!before(heap[child], heap[at]))
        return;
      std::swap(heap[child], heap[at]);
    }
  }
};

class Search {
public:
  Search(const Instance &instance, uint64_t seed)
      : boxes(instance.boxes), buckets(instance), random(seed) {
    weights.reserve(boxes.size());
    for (const Box &box : boxes)
      weights.push_back(box.fixedAt != Box::free ? immovable
                                                 : static_cast<double>(box.size) *
                                                       std::sqrt(double(box.end - box.begin)));
  }

  /// Puts every box under `capacity`, beginning with `start` where that is low enough. The offsets
  /// are then in `offsets`.
  bool fit(const std::vector<uint64_t> &start, uint64_t limit, Effort &effort) {
    capacity = limit;
    ranges.assign(boxes.size(), {0, 0});
    failures.assign(boxes.size(), 0);
    Waiting waiting(weights);
    for (uint32_t i = 0; i < boxes.size(); ++i) {
      if (boxes[i].fixedAt != Box::free)
        put(i, boxes[i].fixedAt);
      else if (start[i] + boxes[i].size <= capacity)
        put(i, start[i]);
      else
        waiting.push(i);
    }
    while (!waiting.empty()) {
      // Now and then not the heaviest: another order gets out of what the first runs into.
      uint32_t box = random.below(8) == 0 ? waiting.takeAny(random) : waiting.takeHeaviest();
      if (!effort.take(gatherObstacles(box)))
        return false;
      if (!placeInGap(box) && !placeByForce(box, waiting))
        return false;
    }
    return true;
  }

  Layout layout() const {
    Layout layout{std::vector<uint64_t>(boxes.size()), 0};
    for (size_t i = 0; i < boxes.size(); ++i) {
      layout.offsets[i] = ranges[i].begin;
      layout.peak = std::max(layout.peak, ranges[i].end);
    }
    return layout;
  }

private:
  static constexpr double immovable = 1e200;
  struct Obstacle {
    uint64_t begin, end;
    uint32_t box;
  };
  struct Edge {
    uint64_t at;
    double weight;
  };
  const std::vector<Box> &boxes;
  TimeBuckets buckets;
  Random random;
  std::vector<double> weights;
  uint64_t capacity = 0;
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> ranges; ///< where each box lies; ends at 0 while it waits
  std::vector<uint32_t> failures;
  std::vector<Obstacle> obstacles; ///< placed and live together with the box in hand, by offset
  std::vector<Edge> tops;
  std::vector<uint64_t> above, below, places;

  uint64_t gatherObstacles(uint32_t box) {
    obstacles.clear();
    uint64_t looks = buckets.forEach(box, [&](uint32_t other) {
      if (const Range &range = ranges[other]; range.end != 0)
        obstacles.push_back({range.begin, range.end, other});
    });
    std::sort(obstacles.begin(), obstacles.end(), [](const Obstacle &a, const Obstacle &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.box < b.box;
    });
    return looks + 8 * obstacles.size() + 1;
  }

  bool placeInGap(uint32_t box) {
    const uint64_t size = boxes[box].size;
    uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
    auto consider = [&](uint64_t until) {
      uint64_t offset = roundUp(end, boxes[box].alignment);
      if (offset + size <= until && until - offset < bestGap) {
        best = offset;
        bestGap = until - offset;
      }
    };
    for (const Obstacle &obstacle : obstacles) {
      consider(obstacle.begin);
      end = std::max(end, obstacle.end);
    }
    consider(capacity);
    if (bestGap == UINT64_MAX)
      return false;
    put(box, best);
    return true;
  }

  void put(uint32_t box, uint64_t offset) { ranges[box] = {offset, offset + boxes[box].size}; }

  double cost(uint32_t box) const { return weights[box] * (1 + failures[box]); }

  /// Where the box can touch what is there from above or from below, and the ends of the arena; in
  /// order, since both lists are.
  void gatherPlaces(const Box &box) {
    above.clear(), below.clear(), places.clear();
    auto keep = [&](std::vector<uint64_t> &list, uint64_t offset) {
      if (offset + box.size <= capacity && (list.empty() || list.back() != offset))
        list.push_back(offset);
    };
    keep(above, 0);
    for (const Edge &top : tops)
      keep(above, roundUp(top.at, box.alignment));
    for (const Obstacle &obstacle : obstacles)
      if (obstacle.begin >= box.size)
        keep(below, (obstacle.begin - box.size) & ~(box.alignment - 1));
    if (capacity >= box.size)
      keep(below, (capacity - box.size) & ~(box.alignment - 1));
    std::merge(above.begin(), above.end(), below.begin(), below.end(), std::back_inserter(places));
  }

  void gatherTops() {
    tops.clear();
    for (const Obstacle &obstacle : obstacles)
      tops.push_back({obstacle.end, cost(obstacle.box)});
    std::sort(tops.begin(), tops.end(), [](const Edge &a, const Edge &b) { return a.at < b.at; });
  }

  /// The cheapest of them, or nothing when what is fixed leaves none. What is in the way of a place
  /// is what begins below its end less what ends below its begin, so both lists are walked once.
  uint64_t cheapestPlace(const Box &box) {
    double bestCost = immovable / 2, begun = 0, ended = 0;
    uint64_t best = Box::free;
    size_t nextBegin = 0, nextEnd = 0, fixedInside = 0;
    for (uint64_t place : places) {
      for (; nextBegin < obstacles.size() && obstacles[nextBegin].begin < place + box.size;
           ++nextBegin)
        add(obstacles[nextBegin].box, begun, fixedInside, +1);
      for (; nextEnd < tops.size() && tops[nextEnd].at <= place; ++nextEnd)
        if (tops[nextEnd].weight >= immovable)
          --fixedInside;
        else
          ended += tops[nextEnd].weight;
      double here = (begun - ended) * (1 + 1e-4 * static_cast<double>(random.below(1000)));
      if (fixedInside == 0 && here < bestCost) {
        bestCost = here;
        best = place;
      }
    }
    return best;
  }
  void add(uint32_t box, double &sum, size_t &fixedInside, size_t one) const {
    if (weights[box] >= immovable)
      fixedInside += one;
    else
      sum += cost(box);
  }

  bool placeByForce(uint32_t box, Waiting &waiting) {
    ++failures[box];
    gatherTops();
    gatherPlaces(boxes[box]);
    uint64_t place = cheapestPlace(boxes[box]);
    if (place == Box::free)
      return false;
    put(box, place);
    for (const Obstacle &obstacle : obstacles)
      if (obstacle.begin < place + boxes[box].size && obstacle.end > place) {
        ranges[obstacle.box].end = 0;
        waiting.push(obstacle.box);
      }
    return true;
  }
};

} // namespace

Layout eject(const Instance &instance, const Layout &start, uint64_t target, uint64_t seed,
             Effort &effort) {
  Search search(instance, seed);
  Layout best = start;
  double stride = 0.35; // how much of the way to the target the next step tries
  while (best.peak > target && stride > 0.01 && effort.left != 0) {
    uint64_t way = static_cast<uint64_t>(static_cast<double>(best.peak - target) * stride);
    uint64_t capacity = best.peak - std::max(way, instance.granule);
    capacity = std::max(target, capacity & ~(instance.granule - 1));
    // A part of the effort each: what is too far must not use up what nearer ones need.
    Effort share{effort.left / 4, effort.cancelled};
    effort.left -= share.left;
    if (search.fit(best.offsets, capacity, share))
      best = search.layout();
    else
      stride /= 2;
    effort.left += share.left;
  }
  return best;
}

} // namespace gantry::packing
