// Which boxes are live together with a given one: boxes listed by stretches of time, each in all
// stretches that it touches.
#pragma once

#include "Instance.h"

#include <algorithm>
#include <bit>

namespace gantry::packing {

class TimeBuckets {
public:
  explicit TimeBuckets(const Instance &instance)
      : boxes(instance.boxes), shift(shiftFor(instance)),
        starts((size_t(instance.numSlots) >> shift) + 2, 0) {
    auto each = [&](uint32_t i, auto &&visit) {
      for (uint32_t k = boxes[i].begin >> shift; k <= (boxes[i].end - 1) >> shift; ++k)
        visit(k);
    };
    for (uint32_t i = 0; i < boxes.size(); ++i)
      each(i, [&](uint32_t k) { ++starts[k + size_t(1)]; });
    for (size_t k = 1; k < starts.size(); ++k)
      starts[k] += starts[k - 1];
    entries.resize(starts.back());
    std::vector<size_t> next(starts.begin(), starts.end() - 1);
    for (uint32_t i = 0; i < boxes.size(); ++i)
      each(i, [&](uint32_t k) { entries[next[k]++] = {boxes[i].begin, boxes[i].end, i}; });
  }

  /// Calls `visit` once for each box but `index` that is live together with it. Gives how many were
  /// looked at.
  template <class Visit>
  uint64_t forEach(uint32_t index, const Visit &visit) {
    const uint32_t begin = boxes[index].begin, end = boxes[index].end;
    const size_t first = begin >> shift, last = (end - 1) >> shift;
    for (size_t k = first; k <= last; ++k)
      for (size_t at = starts[k]; at < starts[k + 1]; ++at) {
        const Entry &entry = entries[at];
        // Of the stretches that a box touches, it is taken in the first.
        if (entry.begin < end && begin < entry.end && entry.box != index &&
            (k == first || entry.begin >> shift == k))
          visit(entry.box);
      }
    return starts[last + 1] - starts[first];
  }

  /// About the median life, or more where long lives would fill the lists.
  static uint32_t shiftFor(const Instance &instance) {
    std::vector<uint32_t> lives;
    double total = 0;
    for (const Box &box : instance.boxes)
      lives.push_back(box.end - box.begin);
    if (lives.empty())
      return 0;
    auto middle = lives.begin() + static_cast<std::ptrdiff_t>(lives.size() / 2);
    std::nth_element(lives.begin(), middle, lives.end());
    uint32_t shift = static_cast<uint32_t>(std::bit_width(*middle)) - 1;
    for (uint32_t life : lives)
      total += (life >> shift) + 2;
    for (; total > 40.0 * static_cast<double>(lives.size()) && shift < 31; total /= 2)
      ++shift;
    return shift;
  }

private:
  struct Entry {
    uint32_t begin, end, box;
  };
  const std::vector<Box> &boxes;
  uint32_t shift;             ///< slots of a stretch, as a power of two
  std::vector<size_t> starts; ///< of each stretch in `entries`
  std::vector<Entry> entries;
};

} // namespace gantry::packing
