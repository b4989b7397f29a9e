// Best fit in the order of time, as an allocator would do it at run time: what ends gives its bytes
// back, what begins takes the smallest free range that it fits, the larger first. The result is
// rarely good, but there at once: O(n log live), where others start from.
#include "Planners.h"

#include <algorithm>
#include <map>
#include <memory_resource>
#include <set>

namespace gantry::packing {

namespace {

/// Free ranges below the highest byte in use, and everything above it.
class FreeRanges {
public:
  explicit FreeRanges(std::pmr::memory_resource *memory) : byOffset(memory), bySize(memory) {}

  uint64_t take(uint64_t size, uint64_t alignment) {
    for (auto it = bySize.lower_bound({size, 0}); it != bySize.end(); ++it) {
      auto [bytes, begin] = *it;
      uint64_t offset = roundUp(begin, alignment);
      if (offset + size > begin + bytes)
        continue;
      bySize.erase(it);
      byOffset.erase(begin);
      add(begin, offset - begin);
      add(offset + size, begin + bytes - offset - size);
      return offset;
    }
    uint64_t offset = roundUp(top, alignment);
    add(top, offset - top);
    top = offset + size;
    return offset;
  }

  void give(uint64_t begin, uint64_t size) {
    auto after = byOffset.lower_bound(begin);
    if (after != byOffset.end() && after->first == begin + size) {
      size += after->second;
      after = erase(after);
    }
    if (after != byOffset.begin())
      if (auto before = std::prev(after); before->first + before->second == begin) {
        begin = before->first;
        size += before->second;
        erase(before);
      }
    if (begin + size == top)
      top = begin;
    else
      add(begin, size);
  }

private:
  std::pmr::map<uint64_t, uint64_t> byOffset;
  std::pmr::set<std::pair<uint64_t, uint64_t>> bySize;
  uint64_t top = 0;

  void add(uint64_t begin, uint64_t size) {
    if (size == 0)
      return;
    byOffset.emplace(begin, size);
    bySize.emplace(size, begin);
  }
  std::pmr::map<uint64_t, uint64_t>::iterator
  erase(std::pmr::map<uint64_t, uint64_t>::iterator range) {
    bySize.erase({range->second, range->first});
    return byOffset.erase(range);
  }
};

/// Boxes by the slot before which they end.
std::vector<uint32_t> byEnd(const Instance &instance) {
  std::vector<uint32_t> starts(instance.numSlots + size_t(2), 0), order(instance.boxes.size());
  for (const Box &box : instance.boxes)
    ++starts[box.end + 1];
  for (size_t slot = 1; slot < starts.size(); ++slot)
    starts[slot] += starts[slot - 1];
  for (uint32_t i = 0; i < order.size(); ++i)
    order[starts[instance.boxes[i].end]++] = i;
  return order;
}

} // namespace

Layout packInTimeOrder(const Instance &instance) {
  const std::vector<Box> &boxes = instance.boxes;
  const std::vector<uint32_t> ending = byEnd(instance);
  std::pmr::unsynchronized_pool_resource memory;
  FreeRanges ranges(&memory);
  Layout layout{std::vector<uint64_t>(boxes.size()), 0};
  std::vector<uint32_t> group;
  for (size_t next = 0, ended = 0; next < boxes.size();) {
    const uint32_t slot = boxes[next].begin;
    for (; ended < ending.size() && boxes[ending[ended]].end <= slot; ++ended)
      ranges.give(layout.offsets[ending[ended]], boxes[ending[ended]].size);
    group.clear();
    for (; next < boxes.size() && boxes[next].begin == slot; ++next)
      group.push_back(static_cast<uint32_t>(next));
    std::sort(group.begin(), group.end(), [&](uint32_t a, uint32_t b) {
      return boxes[a].size != boxes[b].size ? boxes[a].size > boxes[b].size : a < b;
    });
    for (uint32_t i : group) {
      layout.offsets[i] = ranges.take(boxes[i].size, boxes[i].alignment);
      layout.peak = std::max(layout.peak, layout.offsets[i] + boxes[i].size);
    }
  }
  return layout;
}

} // namespace gantry::packing
