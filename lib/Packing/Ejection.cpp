// Guided ejection search. Given a capacity, what lies over it is taken out and put back, the
// heaviest first: into the smallest gap that it fits, else where it costs least to eject what is in
// the way, which then waits to be put back in turn. A box costs its size times the root of its
// life, and more each time it was found to fit nowhere, which is what keeps the search from going
// round in circles. The capacity comes down in steps, as far as the effort goes. After the guided
// ejection searches for routing and packing problems; boxes of fixed place are never ejected.
#include "Planners.h"
#include "SortedBoxes.h"
#include "gantry/Support/Random.h"

#include <cmath>
#include <numeric>

namespace gantry::packing {

namespace {

/// The boxes that wait to be placed: the heaviest, or any.
class Waiting {
public:
  explicit Waiting(const std::vector<double> &weights) : weights(weights) {}

  bool empty() const { return heap.empty(); }
  void clear() { heap.clear(); }
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
      : boxes(instance.boxes), byBegin(instance), byEnd(instance), random(seed),
        ranges(boxes.size(), BoxRange{0, 0}) {
    weights.reserve(boxes.size());
    for (const Box &box : boxes)
      weights.push_back(box.fixedAt != Box::free ? immovable
                                                 : static_cast<double>(box.size) *
                                                       std::sqrt(double(box.end - box.begin)));
  }

  /// Puts every box under `limit`, beginning with `start` where that is low enough. The offsets are
  /// then in layout().
  bool fit(const std::vector<uint64_t> &start, uint64_t limit, Effort &effort) {
    costs = weights;
    waiting.clear();
    for (uint32_t i = 0; i < boxes.size(); ++i)
      begin(i, boxes[i].fixedAt != Box::free ? boxes[i].fixedAt : start[i], limit);
    if (!isSorted) {
      byBegin.sort();
      byEnd.sort();
      isSorted = true;
    }
    return goOn(limit, effort);
  }

  /// Goes on from where fit() has given up, under another limit that is no lower.
  bool goOn(uint64_t limit, Effort &effort) {
    capacity = limit;
    while (!waiting.empty()) {
      // Now and then not the heaviest: another order gets out of what the first runs into.
      uint32_t box = random.below(8) == 0 ? waiting.takeAny(random) : waiting.takeHeaviest();
      if (!effort.take(gatherObstacles(box)) || (!placeInGap(box) && !placeByForce(box))) {
        waiting.push(box);
        return false;
      }
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
  using Entry = SortedBoxes::Entry;
  const std::vector<Box> &boxes;
  SortedBoxes byBegin, byEnd; ///< what does not wait, by the lower and by the upper offset
  bool isSorted = false;
  Random random;
  uint64_t capacity = 0;
  struct BoxRange {
    uint64_t begin, end;
  };
  std::vector<BoxRange> ranges;       ///< where each box lies; ends at 0 while it waits
  std::vector<double> weights, costs; ///< costs: the weight, and more for each failure
  Waiting waiting{weights};
  std::span<const Entry> obstacles; ///< live together with the box in hand

  /// Where a box lies before the first move.
  void begin(uint32_t box, uint64_t offset, uint64_t limit) {
    const bool isFixed = boxes[box].fixedAt != Box::free;
    const bool stays = isFixed || (offset <= limit && offset + boxes[box].size <= limit);
    if (!stays)
      waiting.push(box);
    if (!isSorted && stays) {
      ranges[box] = {offset, offset + boxes[box].size};
      byBegin.add(box, offset, ranges[box].end);
      byEnd.add(box, ranges[box].end, offset);
    }
    if (!isSorted)
      return;
    const bool hasPlace = ranges[box].end != 0, isThere = hasPlace && ranges[box].begin == offset;
    if (hasPlace && !(stays && isThere))
      takeOut(box);
    if (stays && !isThere)
      put(box, offset);
  }

  void put(uint32_t box, uint64_t offset) {
    ranges[box] = {offset, offset + boxes[box].size};
    byBegin.insert(box, offset, ranges[box].end);
    byEnd.insert(box, ranges[box].end, offset);
  }
  void takeOut(uint32_t box) {
    byBegin.remove(box, ranges[box].begin);
    byEnd.remove(box, ranges[box].end);
    ranges[box].end = 0;
  }

  /// Gives the effort of a move: the passes over what was found are part of it.
  uint64_t gatherObstacles(uint32_t box) {
    uint64_t looks = 8;
    obstacles = byBegin.gather(box, looks);
    return looks + 5 * obstacles.size() / 2;
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
    for (const Entry &obstacle : obstacles) {
      consider(obstacle.at);
      end = std::max(end, obstacle.other);
    }
    consider(capacity);
    if (bestGap == UINT64_MAX)
      return false;
    put(box, best);
    return true;
  }

  /// The cheapest of the places where the box touches what is there from above (`tops`) or from
  /// below, and of the ends of the arena; nothing when what is fixed leaves none. What is in the
  /// way of a place is what begins below its end less what ends below its begin, so both lists are
  /// walked once.
  uint64_t cheapestPlace(const Box &box, std::span<const Entry> tops) {
    double bestCost = immovable / 2, begun = 0, ended = 0;
    uint64_t best = Box::free;
    size_t nextBegin = 0, nextEnd = 0, fixedInside = 0;
    auto consider = [&](uint64_t place) {
      for (; nextBegin < obstacles.size() && obstacles[nextBegin].at < place + box.size;
           ++nextBegin)
        add(obstacles[nextBegin].box, begun, fixedInside, +1);
      for (; nextEnd < tops.size() && tops[nextEnd].at <= place; ++nextEnd)
        add(tops[nextEnd].box, ended, fixedInside, size_t(-1));
      if (fixedInside != 0 || begun - ended >= bestCost)
        return;
      double here = (begun - ended) * (1 + 1e-4 * static_cast<double>(random.below(1000)));
      if (here < bestCost) {
        bestCost = here;
        best = place;
      }
    };
    if (capacity < box.size)
      return best;
    const uint64_t mask = ~(box.alignment - 1), highest = (capacity - box.size) & mask;
    size_t above = 0, below = 0;
    while (below < obstacles.size() && obstacles[below].at < box.size)
      ++below;
    for (uint64_t place = 0; place < highest;) {
      consider(place);
      uint64_t onTop = above < tops.size() ? roundUp(tops[above].at, box.alignment) : UINT64_MAX;
      uint64_t under =
          below < obstacles.size() ? (obstacles[below].at - box.size) & mask : UINT64_MAX;
      place = std::min(onTop, under);
      above += onTop <= under;
      below += onTop > under;
    }
    consider(highest);
    return best;
  }
  void add(uint32_t box, double &sum, size_t &fixedInside, size_t one) const {
    if (costs[box] >= immovable)
      fixedInside += one;
    else
      sum += costs[box];
  }

  bool placeByForce(uint32_t box) {
    costs[box] += weights[box];
    uint64_t looks = 0;
    const uint64_t place = cheapestPlace(boxes[box], byEnd.gather(box, looks));
    if (place == Box::free)
      return false;
    for (const Entry &obstacle : obstacles)
      if (obstacle.at < place + boxes[box].size && obstacle.other > place) {
        takeOut(obstacle.box);
        waiting.push(obstacle.box);
      }
    put(box, place);
    return true;
  }
};

/// Takes a part of an effort, and gives back what was not used.
class Share {
public:
  Share(Effort &whole, uint64_t part) : effort{part, whole.cancelled}, whole(whole) {
    whole.left -= part;
  }
  ~Share() { whole.left += effort.left; }
  Share(const Share &) = delete;

  Effort effort;

private:
  Effort &whole;
};

/// Steps down from `start`, until they are small or the effort is spent.
Layout descend(Search &search, Layout best, uint64_t target, uint64_t granule, Effort &effort) {
  double stride = 0.35; // how much of the way to the target the next step tries
  while (best.peak > target && stride > 0.01 && effort.left != 0) {
    uint64_t way = static_cast<uint64_t>(static_cast<double>(best.peak - target) * stride);
    uint64_t capacity = best.peak - std::max(way, granule);
    capacity = std::max(target, capacity & ~(granule - 1));
    // A part of the effort each: what is too far must not use up what nearer ones need.
    Share share(effort, effort.left / 4);
    if (search.fit(best.offsets, capacity, share.effort))
      best = search.layout();
    else
      stride /= 2;
  }
  return best;
}

/// Where many are live together, most of them are light: they are in the way of each look, and
/// hardly ever of a place. So the heavy ones are laid out first and by themselves.
constexpr double manyLive = 50;
/// Effort for each box and each that is live together with it, under which the light ones would not
/// all get a place and something be left to go on with.
constexpr double effortForLight = 36;
/// Part of all bytes over time that is in the light ones.
constexpr double lightPart = 0.08;
/// So much of what the light ones take may lie under the bound that is left to the heavy ones: it
/// is the gaps that are to take the rest.
constexpr double lightOnTop = 0.3;

double meanLive(const Instance &instance) {
  double lives = 0;
  for (const Box &box : instance.boxes)
    lives += box.end - box.begin;
  return lives / instance.numSlots;
}

/// The indices of all but the light ones, in order.
std::vector<uint32_t> heavyBoxes(const Instance &instance) {
  const std::vector<Box> &boxes = instance.boxes;
  auto area = [&](uint32_t i) {
    return static_cast<double>(boxes[i].size) * (boxes[i].end - boxes[i].begin);
  };
  std::vector<uint32_t> order(boxes.size()), heavy;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return boxes[a].size != boxes[b].size ? boxes[a].size < boxes[b].size : a < b;
  });
  double total = 0, light = 0;
  for (uint32_t i : order)
    total += area(i);
  for (uint32_t i : order)
    if ((light += area(i)) > lightPart * total || boxes[i].fixedAt != Box::free)
      heavy.push_back(i);
  std::sort(heavy.begin(), heavy.end());
  return heavy;
}

/// Offsets of the heavy boxes alone, for half of the effort; the others have none.
Layout layOutHeavy(const Instance &instance, uint64_t target, uint64_t seed, Effort &effort) {
  const std::vector<uint32_t> heavy = heavyBoxes(instance);
  Instance part = instance;
  part.boxes.clear();
  for (uint32_t i : heavy)
    part.boxes.push_back(instance.boxes[i]);
  Search search(part, seed);
  Share half(effort, effort.left / 2);
  const double ideal = static_cast<double>(target) * (1 - lightPart * lightOnTop);
  uint64_t goal = static_cast<uint64_t>(ideal) & ~(instance.granule - 1);
  for (const Box &box : part.boxes) // no step down leads below what is fixed
    if (box.fixedAt != Box::free)
      goal = std::max(goal, box.fixedAt + box.size);
  Layout found = descend(search, part.anyFixed ? packLargestFirst(part) : packInTimeOrder(part),
                         goal, instance.granule, half.effort);
  Layout all{std::vector<uint64_t>(instance.boxes.size(), Box::free), found.peak};
  for (size_t k = 0; k < heavy.size(); ++k)
    all.offsets[heavy[k]] = found.offsets[k];
  return all;
}

/// Lays out the heavy boxes, puts the light ones between them, and raises the capacity under what
/// is there until all have a place. Gives `start` when the effort is too small or it is lower.
Layout coarseToFine(Search &search, const Instance &instance, const Layout &start, uint64_t target,
                    uint64_t seed, Effort &effort) {
  const Layout heavy = layOutHeavy(instance, target, seed, effort);
  uint64_t capacity = std::max(target, heavy.peak);
  uint64_t step = std::max(target / 512, instance.granule);
  const uint64_t part = effort.left / 10;
  bool fits = false;
  for (bool isFirst = true; !fits && capacity < start.peak && effort.left >= part;
       isFirst = false) {
    Share share(effort, part);
    fits = isFirst ? search.fit(heavy.offsets, capacity, share.effort)
                   : search.goOn(capacity, share.effort);
    capacity = (capacity + step) & ~(instance.granule - 1);
    step += step / 3;
  }
  return fits ? search.layout() : start;
}

} // namespace

Layout eject(const Instance &instance, const Layout &start, uint64_t target, uint64_t seed,
             Effort &effort) {
  Search search(instance, seed);
  const double live = meanLive(instance);
  Layout best = start;
  const double needed = effortForLight * live * static_cast<double>(instance.boxes.size());
  if (live > manyLive && static_cast<double>(effort.left) >= needed)
    best = coarseToFine(search, instance, start, target, seed, effort);
  return descend(search, std::move(best), target, instance.granule, effort);
}

} // namespace gantry::packing
