// Finds, among intervals [begin, end), the one of best rank that lies inside a given interval, and
// forgets it: the question that the skyline planner asks for each buffer.
//
// A kd-tree over the points (begin, end), balanced and implicit in one array; each node has the
// bounding box and the best rank of what is left below it. The box prunes, the rank prunes, and a
// node that lies inside as a whole answers at once, which keeps a question at a few dozen nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gantry::packing {

class IntervalIndex {
public:
  struct Item {
    uint32_t begin, end;
    uint32_t rank; ///< lower is better; all different
    uint32_t id;
  };
  static constexpr uint32_t none = UINT32_MAX;

  explicit IntervalIndex(std::vector<Item> list) : items(std::move(list)) {
    if (items.empty())
      return;
    size_t leaves = 1;
    while (leaves * leafSize < items.size())
      leaves *= 2;
    firstLeaf = leaves - 1;
    nodes.resize(2 * leaves - 1);
    build(0, 0, items.size(), /*byBegin=*/true);
  }

  /// Puts back what was taken, with new ranks by id.
  void refill(const std::vector<uint32_t> &ranks) {
    for (Item &item : items)
      item.rank = ranks[item.id];
    for (size_t node = nodes.size(); node-- != 0;)
      refresh(node);
  }

  /// Gives the id of the best item inside [begin, end) and removes it; none when there is none.
  uint32_t takeBest(uint32_t begin, uint32_t end) {
    bestRank = none;
    if (!nodes.empty())
      search(0, begin, end);
    if (bestRank == none)
      return none;
    uint32_t id = items[bestItem].id;
    items[bestItem].rank = none;
    // The nodes above it, from the leaf up.
    for (size_t node = bestLeaf;; node = (node - 1) / 2) {
      refresh(node);
      if (node == 0)
        return id;
    }
  }

private:
  static constexpr size_t leafSize = 8;

  struct Node {
    uint32_t minBegin = none, maxBegin = 0, minEnd = none, maxEnd = 0;
    uint32_t bestRank = none;
    uint32_t first = 0, last = 0; ///< its items
  };
  std::vector<Item> items;
  std::vector<Node> nodes; ///< children of i: 2i + 1, 2i + 2
  size_t firstLeaf = 0;
  uint32_t bestRank = none;
  size_t bestItem = 0, bestLeaf = 0;

  void build(size_t node, size_t first, size_t last, bool byBegin) {
    nodes[node].first = static_cast<uint32_t>(first);
    nodes[node].last = static_cast<uint32_t>(last);
    if (node < firstLeaf) {
      size_t middle = first + (last - first) / 2;
      std::nth_element(items.begin() + first, items.begin() + middle, items.begin() + last,
                       [byBegin](const Item &a, const Item &b) {
                         return byBegin ? a.begin < b.begin : a.end < b.end;
                       });
      build(2 * node + 1, first, middle, !byBegin);
      build(2 * node + 2, middle, last, !byBegin);
    }
    refresh(node);
  }

  /// Box and best rank of what is left: of a leaf from its items, of others from its children.
  void refresh(size_t index) {
    Node &node = nodes[index];
    Node fresh;
    fresh.first = node.first;
    fresh.last = node.last;
    auto add = [&](uint32_t minB, uint32_t maxB, uint32_t minE, uint32_t maxE, uint32_t rank) {
      if (rank == none)
        return;
      fresh.minBegin = std::min(fresh.minBegin, minB);
      fresh.maxBegin = std::max(fresh.maxBegin, maxB);
      fresh.minEnd = std::min(fresh.minEnd, minE);
      fresh.maxEnd = std::max(fresh.maxEnd, maxE);
      fresh.bestRank = std::min(fresh.bestRank, rank);
    };
    if (index >= firstLeaf) {
      for (uint32_t i = node.first; i < node.last; ++i)
        add(items[i].begin, items[i].begin, items[i].end, items[i].end, items[i].rank);
    } else {
      for (size_t child : {2 * index + 1, 2 * index + 2}) {
        const Node &c = nodes[child];
        add(c.minBegin, c.maxBegin, c.minEnd, c.maxEnd, c.bestRank);
      }
    }
    node = fresh;
  }

  void search(size_t index, uint32_t begin, uint32_t end) {
    const Node &node = nodes[index];
    if (node.bestRank >= bestRank || node.maxBegin < begin || node.minEnd > end)
      return;
    if (index >= firstLeaf) {
      for (uint32_t i = node.first; i < node.last; ++i)
        if (items[i].rank < bestRank && items[i].begin >= begin && items[i].end <= end) {
          bestRank = items[i].rank;
          bestItem = i;
          bestLeaf = index;
        }
      return;
    }
    // The child with the better rank first: its answer prunes the other.
    size_t left = 2 * index + 1, right = left + 1;
    if (nodes[right].bestRank < nodes[left].bestRank)
      std::swap(left, right);
    search(left, begin, end);
    search(right, begin, end);
  }
};

} // namespace gantry::packing
