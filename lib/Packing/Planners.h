// The planners of the portfolio (Portfolio.cpp). Each is a function of its arguments alone: effort
// is counted in what is done, never in time. Only ejection and packLargestFirst take fixed boxes.
#pragma once

#include "Instance.h"

#include <atomic>

namespace gantry::packing {

/// What a planner may spend, and what tells it that nobody waits for its answer any more.
struct Effort {
  uint64_t left = 0;                            ///< in the planner's own unit
  const std::atomic<bool> *cancelled = nullptr; ///< may be null

  /// Takes some; false when there is no more.
  bool take(uint64_t amount = 1) {
    if (left < amount || (cancelled && cancelled->load(std::memory_order_relaxed)))
      return left = 0, false;
    left -= amount;
    return true;
  }
};

/// TimeOrder.cpp: best fit in the order of time.
Layout packInTimeOrder(const Instance &instance);

/// Annealing.cpp: the skyline with keys that change at random; effort in placements.
Layout anneal(const Instance &instance, const Layout &start, uint64_t target, uint64_t seed,
              Effort &effort);

/// Boxes of a part that the exact search looks at; of more it would see too little.
inline constexpr size_t largestExactPart = 1000;
/// Boxes of the largest part that no other part of the instance shares a time with.
size_t largestPart(const Instance &instance);

/// Exact.cpp: a layout of at most `capacity`, if the search finds one; effort in nodes and
/// their candidates. Parts of the
/// instance where `start` is low enough stay. Empty when there is none or the effort is spent.
/// `*none`: it has been shown that there is none.
Layout searchExact(const Instance &instance, const Layout &start, uint64_t capacity, Effort &effort,
                   bool *none);

/// BestFit.cpp: the largest first into the smallest gap; takes fixed boxes.
Layout packLargestFirst(const Instance &instance);

/// Ejection.cpp: lowers the peak of `start` towards `target`; takes fixed boxes. Effort in pairs of
/// boxes looked at.
Layout eject(const Instance &instance, const Layout &start, uint64_t target, uint64_t seed,
             Effort &effort);

/// Portfolio.cpp: the best of all; the effort as the options say.
Layout searchPortfolio(const Instance &instance, const Options &options);
/// One of them by itself. Errors as of pack().
Expected<Layout> planAlone(const Instance &instance, const Options &options);

} // namespace gantry::packing
