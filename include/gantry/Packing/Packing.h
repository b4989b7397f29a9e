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
};

/// How much may be tried. Results depend on it, and on nothing else: no clock, no chance.
struct Options {
  /// Orders of the buffers that packSkyline may try; it stops at the first that meets the bound.
  unsigned maxOrders = 26;
  /// Fewer are tried for big problems: at most this many placements in all, but one order always.
  uint64_t maxPlacements = 1'000'000;
};

/// Largest sum of sizes, each rounded up to the smallest alignment, of the buffers live in one
/// step. The problem must be sound (checkProblem).
uint64_t lowerBound(const Problem &problem);

/// Whether the problem itself makes sense: first <= last, alignments powers of two, sizes and their
/// sum under 2^62, fixed offsets aligned. Errors: INVALID_ARGUMENT, naming the buffer.
Status checkProblem(const Problem &problem);

/// The judge of every planner, and independent of them: a sweep over time with the set of live
/// ranges, O(n log n). Errors: INTERNAL, naming the two buffers that overlap or what else is wrong.
Status validate(const Problem &problem, const Solution &solution);

/// Plans with the best planner for the problem and validates the result, always.
/// Errors: INVALID_ARGUMENT (checkProblem; fixed buffers that overlap), INTERNAL (a defect here).
Expected<Solution> pack(const Problem &problem, const Options &options = {});

/// Skyline planner (Skyline.cpp), near-linear; the problem must be sound and without fixed offsets.
Solution packSkyline(const Problem &problem, const Options &options = {});

/// Largest first into the smallest gap that it fits (BestFit.cpp); takes fixed offsets, which must
/// not overlap. O(n * simultaneously live).
Solution packBestFit(const Problem &problem);

} // namespace gantry::packing
