// The boxes that have a place, by stretches of time and in each in the order of an offset, so that
// what is live together with a given box is gathered in order. To keep the order costs a move of a
// few kilobytes when a box comes or goes; to sort at each question cost ten times as much.
#pragma once

#include "TimeBuckets.h"

#include <span>

namespace gantry::packing {

class SortedBoxes {
public:
  struct Entry {
    uint64_t at;         ///< the offset that it is sorted by
    uint64_t other;      ///< where the other end of the box is
    uint32_t begin, end; ///< slots
    uint32_t box;
  };

  explicit SortedBoxes(const Instance &instance)
      : boxes(instance.boxes), shift(std::min(31u, TimeBuckets::shiftFor(instance) + 2)),
        lists((size_t(instance.numSlots) >> shift) + 1) {
    for (const Box &box : boxes)
      for (size_t k = first(box); k <= last(box); ++k)
        ++lists[k].size;
    size_t total = 0;
    for (List &list : lists) {
      list.start = total;
      total += list.size;
      list.size = 0;
    }
    entries.resize(total);
  }

  /// Many at once: each by `add`, in any order, and `sort` after the last.
  void add(uint32_t index, uint64_t at, uint64_t other) {
    const Box &box = boxes[index];
    for (size_t k = first(box); k <= last(box); ++k)
      entries[lists[k].start + lists[k].size++] = {at, other, box.begin, box.end, index};
  }
  void sort() {
    for (const List &list : lists)
      std::sort(begin(list), end(list), before);
  }

  void insert(uint32_t index, uint64_t at, uint64_t other) {
    const Box &box = boxes[index];
    const Entry entry{at, other, box.begin, box.end, index};
    for (size_t k = first(box); k <= last(box); ++k) {
      Entry *place = std::lower_bound(begin(lists[k]), end(lists[k]), entry, before);
      std::copy_backward(place, end(lists[k]), end(lists[k]) + 1);
      *place = entry;
      ++lists[k].size;
    }
  }
  void remove(uint32_t index, uint64_t at) {
    const Box &box = boxes[index];
    const Entry entry{at, 0, 0, 0, index};
    for (size_t k = first(box); k <= last(box); ++k) {
      Entry *place = std::lower_bound(begin(lists[k]), end(lists[k]), entry, before);
      std::copy(place + 1, end(lists[k]), place);
      --lists[k].size;
    }
  }

  /// What is live together with a box that is not among them, in order; good until the next
  /// question. Adds to `looks` how many were looked at.
  std::span<const Entry> gather(uint32_t index, uint64_t &looks) {
    const Box &box = boxes[index];
    const size_t from = first(box), until = last(box);
    size_t most = 1; // a filter writes one more than it keeps
    for (size_t k = from; k <= until; ++k)
      most += lists[k].size;
    looks += most;
    for (std::vector<Entry> *buffer : {&found, &more, &merged})
      if (buffer->size() < most)
        buffer->resize(most);
    Entry *last = filter(from, from, box, found.data());
    if (until - from > fewEnoughToMerge) {
      for (size_t k = from + 1; k <= until; ++k)
        last = filter(k, from, box, last);
      std::sort(found.data(), last, before);
      return {found.data(), last};
    }
    for (size_t k = from + 1; k <= until; ++k) {
      const Entry *lastOfMore = filter(k, from, box, more.data());
      last = merge({found.data(), last}, {more.data(), lastOfMore}, merged.data());
      found.swap(merged);
    }
    return {found.data(), last};
  }

private:
  static constexpr size_t fewEnoughToMerge = 3;
  struct List {
    size_t start = 0, size = 0; ///< in `entries`
  };
  const std::vector<Box> &boxes;
  uint32_t shift; ///< slots of a stretch, as a power of two: most boxes are in one or two
  std::vector<List> lists;
  std::vector<Entry> entries;
  std::vector<Entry> found, more, merged;

  size_t first(const Box &box) const { return box.begin >> shift; }
  size_t last(const Box &box) const { return (box.end - 1) >> shift; }
  Entry *begin(const List &list) { return entries.data() + list.start; }
  Entry *end(const List &list) { return begin(list) + list.size; }
  static bool before(const Entry &a, const Entry &b) {
    return a.at != b.at ? a.at < b.at : a.box < b.box;
  }

  // Both without branches that depend on the boxes: no processor foresees them.

  /// Those of a stretch that are live together with `box`; of the stretches from `from` on, one is
  /// taken in the first that it touches.
  Entry *filter(size_t k, size_t from, const Box &box, Entry *out) {
    const uint32_t earliest = k == from ? 0 : static_cast<uint32_t>(k << shift);
    for (const Entry *entry = begin(lists[k]), *last = end(lists[k]); entry != last; ++entry) {
      *out = *entry;
      out +=
          int(entry->begin < box.end) & int(box.begin < entry->end) & int(entry->begin >= earliest);
    }
    return out;
  }
  static Entry *merge(std::span<const Entry> one, std::span<const Entry> two, Entry *out) {
    const Entry *a = one.data(), *b = two.data();
    const Entry *endA = a + one.size(), *endB = b + two.size();
    while (a != endA && b != endB) {
      const bool second = b->at < a->at;
      *out++ = *(second ? b : a);
      b += second;
      a += !second;
    }
    return std::copy(b, endB, std::copy(a, endA, out));
  }
};

} // namespace gantry::packing
