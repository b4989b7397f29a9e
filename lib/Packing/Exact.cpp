// Exact search in the manner of MiniMalloc (Moffitt: "MiniMalloc: A Lightweight Memory Allocator
// for Hardware-Accelerated Machine Learning", ASPLOS 2023), from its published ideas:
//
//  - Only canonical layouts are looked at: boxes are placed by rising offset, each as low as what
//  is
//    already there allows; of equal offsets by a fixed order.
//  - A section is a largest set of boxes that are live at one time. Its floor is what no box that
//  is
//    left can lie under; floor and bytes left over the capacity end the branch.
//  - A box that would leave room below it for another that is left need not be tried.
//  - When no box that is left crosses a time, what is before and after it are searched apart.
//
// Three orders take turns, with limits of nodes that double, so that an unlucky one costs little.
#include "Planners.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace gantry::packing {

namespace {

/// A stretch of sections, half-open.
struct Stretch {
  uint32_t begin, end;
};

/// Boxes of which no time is free, apart from all others.
class PartSearch {
public:
  PartSearch(const Instance &instance, std::vector<uint32_t> members, uint64_t capacity)
      : members(std::move(members)), capacity(capacity) {
    for (uint32_t member : this->members)
      boxes.push_back(instance.boxes[member]);
    findSections();
    findNeighbours();
  }

  enum class Found { yes, no, unknown };

  /// Tries one of the three orders.
  Found run(unsigned tries, Effort &effort) {
    orderKind = tries % 3;
    nodes = &effort;
    outOfNodes = false;
    reset();
    std::vector<uint32_t> all(boxes.size());
    std::iota(all.begin(), all.end(), 0);
    if (solve(all, {0, numSections}))
      return Found::yes;
    return outOfNodes ? Found::unknown : Found::no;
  }

  void store(std::vector<uint64_t> &into) const {
    for (size_t i = 0; i < members.size(); ++i)
      into[members[i]] = offsets[i];
  }

private:
  std::vector<uint32_t> members; ///< in the instance
  uint64_t capacity;
  std::vector<Box> boxes;
  std::vector<Stretch> sectionsOf;               ///< of each box
  std::vector<std::vector<uint32_t>> neighbours; ///< live together with each box
  std::vector<std::vector<uint32_t>> boxesOf;    ///< of each section
  uint32_t numSections = 0;
  static constexpr uint64_t nodeCost = 16; ///< of one without candidates
  unsigned orderKind = 0;
  Effort *nodes = nullptr;
  bool outOfNodes = false;

  // The state, and how to take back the last changes to it.
  std::vector<uint64_t> floors, left; ///< by section: see above; bytes of what is left
  std::vector<uint32_t> crossing;     ///< boxes left in this section and the next
  std::vector<uint64_t> lowest;       ///< by box: the lowest offset that what is placed allows
  std::vector<uint64_t> offsets;
  std::vector<char> placed;
  struct Change {
    uint32_t index;
    uint64_t before;
  };
  struct Placement {
    uint32_t box;
    size_t floorChanges, lowestChanges; ///< how many there were before
  };
  std::vector<Change> floorChanges, lowestChanges;
  std::vector<Placement> placements;
  std::vector<uint32_t> touchedAt; ///< by section: the placement number that touched it
  uint32_t touch = 0;

  /// Of the slots only those count where some box ends next, and some began since the last such.
  void findSections() {
    uint32_t slots = 0;
    for (const Box &box : boxes)
      slots = std::max(slots, box.end);
    std::vector<char> begins(slots + size_t(1), 0), ends(slots + size_t(1), 0);
    for (const Box &box : boxes)
      begins[box.begin] = ends[box.end] = 1;
    std::vector<uint32_t> sectionAt(slots + size_t(1), 0); // the first section at or after a slot
    bool begun = false;
    for (uint32_t slot = 0; slot < slots; ++slot) {
      sectionAt[slot] = numSections;
      begun |= begins[slot];
      if (begun && ends[slot + 1]) {
        ++numSections;
        begun = false;
      }
    }
    sectionAt[slots] = numSections;
    boxesOf.resize(numSections);
    for (uint32_t i = 0; i < boxes.size(); ++i) {
      sectionsOf.push_back({sectionAt[boxes[i].begin], sectionAt[boxes[i].end]});
      for (uint32_t s = sectionsOf[i].begin; s < sectionsOf[i].end; ++s)
        boxesOf[s].push_back(i);
    }
  }

  void findNeighbours() {
    neighbours.resize(boxes.size());
    for (uint32_t i = 0; i < boxes.size(); ++i)
      for (uint32_t j = 0; j < boxes.size(); ++j)
        if (i != j && boxes[i].begin < boxes[j].end && boxes[j].begin < boxes[i].end)
          neighbours[i].push_back(j);
  }

  void reset() {
    floors.assign(numSections, 0);
    left.assign(numSections, 0);
    crossing.assign(numSections, 0);
    touchedAt.assign(numSections, 0);
    touch = 0;
    lowest.assign(boxes.size(), 0);
    offsets.assign(boxes.size(), 0);
    placed.assign(boxes.size(), 0);
    floorChanges.clear(), lowestChanges.clear(), placements.clear();
    for (size_t i = 0; i < boxes.size(); ++i)
      for (uint32_t s = sectionsOf[i].begin; s < sectionsOf[i].end; ++s) {
        left[s] += boxes[i].size;
        crossing[s] += s + 1 < sectionsOf[i].end;
      }
  }

  /// The boxes in the order in which those of equal offset are tried.
  std::vector<uint32_t> inOrder(std::vector<uint32_t> list) const {
    std::vector<std::array<double, 3>> keys(boxes.size());
    for (uint32_t i : list) {
      uint64_t most = 0;
      for (uint32_t s = sectionsOf[i].begin; s < sectionsOf[i].end; ++s)
        most = std::max(most, left[s]);
      double width = boxes[i].duration, total = static_cast<double>(most);
      double area = width * static_cast<double>(boxes[i].size);
      keys[i] = orderKind == 0   ? std::array{width, area, total}
                : orderKind == 1 ? std::array{total, area, width}
                                 : std::array{total, width, area};
    }
    std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
    });
    return list;
  }

  /// A box that is left: its lowest offset, and its place in the order.
  struct RemainingBox {
    uint64_t offset;
    uint32_t rank;
    bool operator<(const RemainingBox &other) const {
      return offset != other.offset ? offset < other.offset : rank < other.rank;
    }
  };

  bool solve(const std::vector<uint32_t> &list, Stretch stretch) {
    std::vector<uint32_t> order = inOrder(list);
    std::vector<RemainingBox> candidates(order.size());
    for (uint32_t rank = 0; rank < order.size(); ++rank)
      candidates[rank] = {0, rank};
    return search(order, candidates, stretch, {0, 0});
  }

  /// Places what is left of the candidates, none before `from`.
  bool search(const std::vector<uint32_t> &order, const std::vector<RemainingBox> &before,
              Stretch stretch, RemainingBox from) {
    if (!nodes->take(before.size() + nodeCost)) {
      outOfNodes = true;
      return false;
    }
    std::vector<RemainingBox> candidates;
    candidates.reserve(before.size());
    uint64_t lowestTop = UINT64_MAX;
    for (const RemainingBox &candidate : before)
      if (uint32_t box = order[candidate.rank]; !placed[box]) {
        candidates.push_back({lowest[box], candidate.rank});
        lowestTop = std::min(lowestTop, lowest[box] + boxes[box].size);
      }
    if (candidates.empty())
      return true;
    std::sort(candidates.begin(), candidates.end());
    for (const RemainingBox &candidate : candidates) {
      if (candidate.offset >= lowestTop)
        break; // another box would fit below this one and all that follow
      if (candidate < from)
        continue;
      const size_t mark = placements.size();
      bool nothingAbove = true;
      if (place(order[candidate.rank], candidate.offset, stretch, &nothingAbove) &&
          searchRest(order, candidates, stretch, candidate))
        return true;
      while (placements.size() > mark)
        takeBack();
      if (outOfNodes || nothingAbove)
        break; // with nothing above it, no other place of the box would help the rest
    }
    return false;
  }

  /// Updates the state; false when some section cannot hold what is left of it.
  bool place(uint32_t box, uint64_t offset, Stretch stretch, bool *nothingAbove) {
    placements.push_back({box, floorChanges.size(), lowestChanges.size()});
    const uint64_t top = offset + boxes[box].size;
    const Stretch own = sectionsOf[box];
    offsets[box] = offset;
    placed[box] = 1;
    for (uint32_t s = own.begin; s < own.end; ++s) {
      setFloor(s, top);
      left[s] -= boxes[box].size;
      crossing[s] -= s + 1 < own.end;
    }
    ++touch;
    touched.clear();
    for (uint32_t other : neighbours[box]) {
      if (placed[other])
        continue;
      *nothingAbove = false;
      if (lowest[other] >= top)
        continue;
      lowestChanges.push_back({other, lowest[other]});
      lowest[other] = top;
      for (uint32_t s = sectionsOf[other].begin; s < sectionsOf[other].end; ++s)
        if (touchedAt[s] != touch) {
          touchedAt[s] = touch;
          touched.push_back(s);
        }
    }
    for (uint32_t s = own.begin; s < own.end; ++s)
      if (floors[s] + left[s] > capacity)
        return false;
    return raiseFloors() && holds(stretch, offset);
  }

  std::vector<uint32_t> touched; ///< sections in which a box that is left was lifted

  /// No floor is below the lowest offset of a box that is left.
  bool raiseFloors() {
    for (uint32_t s : touched) {
      uint64_t least = UINT64_MAX;
      for (uint32_t box : boxesOf[s]) {
        if (placed[box])
          continue;
        least = std::min(least, lowest[box]);
        if (least <= floors[s])
          break;
      }
      if (least == UINT64_MAX || least <= floors[s])
        continue;
      setFloor(s, least);
      if (least + left[s] > capacity)
        return false;
    }
    return true;
  }

  /// Nothing that is left will lie under `offset` either.
  bool holds(Stretch stretch, uint64_t offset) const {
    for (uint32_t s = stretch.begin; s < stretch.end; ++s)
      if (left[s] != 0 && std::max(offset, floors[s]) + left[s] > capacity)
        return false;
    return true;
  }

  void setFloor(uint32_t section, uint64_t floor) {
    floorChanges.push_back({section, floors[section]});
    floors[section] = floor;
  }

  void takeBack() {
    const Placement last = placements.back();
    placements.pop_back();
    for (; floorChanges.size() > last.floorChanges; floorChanges.pop_back())
      floors[floorChanges.back().index] = floorChanges.back().before;
    for (; lowestChanges.size() > last.lowestChanges; lowestChanges.pop_back())
      lowest[lowestChanges.back().index] = lowestChanges.back().before;
    const Stretch own = sectionsOf[last.box];
    for (uint32_t s = own.begin; s < own.end; ++s) {
      left[s] += boxes[last.box].size;
      crossing[s] += s + 1 < own.end;
    }
    placed[last.box] = 0;
  }

  /// The stretches between times that no box that is left crosses, where the last placement made
  /// one.
  std::vector<Stretch> split(Stretch stretch) const {
    const Stretch own = sectionsOf[placements.back().box];
    bool any = false;
    for (uint32_t s = own.begin; s + 1 < own.end && !any; ++s)
      any = crossing[s] == 0;
    if (!any)
      return {stretch};
    std::vector<Stretch> parts;
    uint32_t begin = stretch.begin;
    for (uint32_t s = stretch.begin; s < stretch.end; ++s)
      if (s + 1 == stretch.end || crossing[s] == 0) {
        parts.push_back({begin, s + 1});
        begin = s + 1;
      }
    return parts;
  }

  bool searchRest(const std::vector<uint32_t> &order, const std::vector<RemainingBox> &candidates,
                  Stretch stretch, RemainingBox last) {
    std::vector<Stretch> parts = split(stretch);
    if (parts.size() == 1)
      return search(order, candidates, stretch, last);
    std::vector<std::pair<std::vector<uint32_t>, Stretch>> lists;
    for (const Stretch &part : parts) {
      std::vector<uint32_t> list;
      for (const RemainingBox &candidate : candidates)
        if (uint32_t box = order[candidate.rank];
            !placed[box] && sectionsOf[box].begin < part.end && part.begin < sectionsOf[box].end)
          list.push_back(box);
      if (!list.empty())
        lists.emplace_back(std::move(list), part);
    }
    // The smallest first: where it fails, the others need not be searched.
    std::sort(lists.begin(), lists.end(), [](const auto &a, const auto &b) {
      return std::pair(a.first.size(), a.second.begin) < std::pair(b.first.size(), b.second.begin);
    });
    return std::all_of(lists.begin(), lists.end(),
                       [&](const auto &each) { return solve(each.first, each.second); });
  }
};

/// The boxes between two times that none crosses, for each such stretch of time.
std::vector<std::vector<uint32_t>> partsOf(const Instance &instance) {
  std::vector<std::vector<uint32_t>> parts;
  uint32_t end = 0;
  for (uint32_t i = 0; i < instance.boxes.size(); ++i) {
    if (parts.empty() || instance.boxes[i].begin >= end)
      parts.emplace_back();
    parts.back().push_back(i);
    end = std::max(end, instance.boxes[i].end);
  }
  return parts;
}

/// Searches one part until it is solved, shown to have no solution, or the effort is spent.
PartSearch::Found searchPart(PartSearch &part, size_t size, Effort &effort) {
  uint64_t limit = 32 * size;
  for (unsigned tries = 0; effort.left != 0; ++tries) {
    if (tries % 3 == 0)
      limit *= 2;
    Effort share{std::min(limit, effort.left), effort.cancelled};
    const uint64_t given = share.left;
    PartSearch::Found found = part.run(tries, share);
    if (!effort.take(given - share.left))
      return PartSearch::Found::unknown;
    if (found != PartSearch::Found::unknown)
      return found;
  }
  return PartSearch::Found::unknown;
}

} // namespace

size_t largestPart(const Instance &instance) {
  size_t largest = 0;
  for (const std::vector<uint32_t> &part : partsOf(instance))
    largest = std::max(largest, part.size());
  return largest;
}

Layout searchExact(const Instance &instance, const Layout &start, uint64_t capacity, Effort &effort,
                   bool *none) {
  *none = false;
  Layout layout = start;
  for (std::vector<uint32_t> &members : partsOf(instance)) {
    bool isLow = std::all_of(members.begin(), members.end(), [&](uint32_t box) {
      return start.offsets[box] + instance.boxes[box].size <= capacity;
    });
    if (isLow)
      continue;
    const size_t size = members.size();
    if (size > largestExactPart)
      return {};
    PartSearch part(instance, std::move(members), capacity);
    PartSearch::Found found = searchPart(part, size, effort);
    *none = found == PartSearch::Found::no;
    if (found != PartSearch::Found::yes)
      return {};
    part.store(layout.offsets);
  }
  layout.peak = peakOf(instance, layout.offsets);
  return layout;
}

} // namespace gantry::packing
