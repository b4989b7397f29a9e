// The memory planner: gives every buffer of an arena an offset so that buffers that are live at the
// same time share no byte, in as little memory as it can. Knows nothing of graphs; std only.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::packing {

struct Buffer {
  uint64_t size = 0;       ///< bytes
  uint32_t first = 0;      ///< live in steps first, first + 1, ..., last - 1: half-open, so that a
  uint32_t last = 0;       ///< buffer may take the place of one whose last use was the step before
  uint64_t alignment = 64; ///< of its offset; a power of two
  std::optional<uint64_t> fixedOffset; ///< where it must lie
};

struct Problem {
  std::vector<Buffer> buffers;
};

struct Solution {
  std::vector<uint64_t> offsets; ///< per buffer; 0 for one that is never live or has no bytes
  uint64_t peak = 0;             ///< bytes of the arena, a multiple of the smallest alignment
  uint64_t lowerBound = 0;       ///< no arena can be smaller

  /// Peak over bound; 1 is as good as can be.
  double ratio() const {
    return lowerBound == 0 ? 1 : static_cast<double>(peak) / static_cast<double>(lowerBound);
  }
};

/// A planner by itself, or the portfolio of them (Portfolio.cpp).
enum class Planner : uint8_t {
  portfolio,
  timeOrder,    ///< best fit in the order of time
  largestFirst, ///< the largest first into the smallest gap
  skyline,      ///< the lowest valley first, in the order of several keys
  ejection,     ///< what does not fit ejects what is in the way, and that goes elsewhere
  annealing,    ///< the skyline, with keys that change at random
  exact,        ///< every layout that matters, as far as the effort goes
};

/// How much may be tried. Results depend on it and on the problem, and on nothing else: no clock,
/// no number of threads.
struct Options {
  Planner planner = Planner::portfolio;
  /// A peak up to this is good enough, and the search goes on while it is over it; 0 for the bound,
  /// of which 0.2 % are missing at most before the search goes on after its first round.
  uint64_t capacity = 0;
  /// Rounds of the portfolio, each with eight times the effort of the one before; the first takes
  /// up to about a second, where the bound is not met before. Without any, what the quick planners
  /// give.
  unsigned rounds = 1;
  /// One part in so many of the effort of each round: for a layout of one plan of many.
  unsigned share = 1;
  /// Threads that planners of a round share; 0 for what the machine has.
  unsigned threads = 0;
};

/// No arena can be smaller: the largest sum of sizes, each rounded up to the smallest alignment, of
/// the buffers live in one step, or the end of a fixed one. The problem must be sound
/// (checkProblem).
uint64_t lowerBound(const Problem &problem);

/// Whether the problem itself makes sense: first <= last, alignments powers of two, sizes and their
/// sum under 2^62, fixed offsets aligned. Errors: INVALID_ARGUMENT, naming the buffer.
Status checkProblem(const Problem &problem);

/// The judge of every planner, and independent of them: a sweep over time with the set of live
/// ranges, O(n log n). Errors: INTERNAL, naming the two buffers that overlap or what else is wrong.
Status validate(const Problem &problem, const Solution &solution);

/// Plans and validates the result, always.
/// Errors: INVALID_ARGUMENT (checkProblem; fixed buffers that overlap; a planner that takes none),
/// DOES_NOT_FIT (a single planner that found nothing within its effort), INTERNAL (a defect here).
Expected<Solution> pack(const Problem &problem, const Options &options = {});

} // namespace gantry::packing
