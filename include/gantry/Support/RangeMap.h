// Values of ranges of addresses: an access to some bytes cuts the ranges at its ends, so that each
// piece of it has one value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace gantry {

template <typename Value>
class RangeMap {
public:
  /// Calls `visit` with the value of each piece of begin..end-1, in order; bytes that have none yet
  /// get Value(). The first answer of `visit` that is not empty (an optional) ends it and is given.
  template <typename Visit>
  auto visit(uint64_t begin, uint64_t end, Visit visit)
      -> decltype(visit(std::declval<Value &>())) {
    if (begin >= end)
      return {};
    cut(begin);
    cut(end);
    for (uint64_t at = begin; at < end;) {
      auto found = ranges.lower_bound(at);
      if (found == ranges.end() || found->first > at) {
        const uint64_t gapEnd = found == ranges.end() ? end : std::min(end, found->first);
        found = ranges.emplace(at, Range{gapEnd, {}}).first;
      }
      if (auto answer = visit(found->second.value))
        return answer;
      at = found->second.end;
    }
    return {};
  }

  /// The bytes have no value from now on.
  void erase(uint64_t begin, uint64_t end) {
    cut(begin);
    cut(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
  }
  void clear() { ranges.clear(); }

private:
  struct Range {
    uint64_t end = 0;
    Value value;
  };

  /// Makes `at` a border between ranges, if it lies inside of one.
  void cut(uint64_t at) {
    auto after = ranges.upper_bound(at);
    if (after == ranges.begin())
      return;
    auto &[begin, range] = *std::prev(after);
    if (begin == at || range.end <= at)
      return;
    Range second = range;
    range.end = at;
    ranges.emplace(at, std::move(second));
  }

  std::map<uint64_t, Range> ranges; ///< by begin; disjoint
};

} // namespace gantry
