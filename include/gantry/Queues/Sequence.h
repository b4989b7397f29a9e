// In which order the steps of one queue hold the fewest bytes.
//
// A step makes values and reads those of others; a value is held from the step that makes it to the
// last one that reads it. Which order needs the least memory is a hard question (it contains
// pebbling), so several ways are tried, each cheap, and the best one counts. All are functions of
// the problem alone: effort is bounded in states, ties go to what was given first. Knows nothing of
// graphs; std only.
#pragma once

#include <cstdint>
#include <vector>

namespace gantry::queues {

struct Step {
  std::vector<uint32_t> reads, makes; ///< values, each once
  std::vector<uint32_t> mayReplace;   ///< of those it reads, whose place the one it makes may take
  std::vector<uint32_t> after;        ///< steps that come before for other reasons
  uint64_t scratch = 0;               ///< bytes that it needs while it runs
};

struct Sequence {
  std::vector<Step> steps; ///< in an order in which they can run
  /// Bytes by value; 0 for what takes no memory that is planned. One that no step makes is there
  /// from the beginning and takes none.
  std::vector<uint64_t> bytes;
};

/// The most bytes held at a time when the steps run in that order; UINT64_MAX when they cannot: a
/// step is missing or comes twice, or before what it needs.
uint64_t peakOf(const Sequence &sequence, const std::vector<uint32_t> &order);

/// From the last steps back along what they read; of what a step reads, first what was given first
/// or, where a long way ends in the step and short ones join it, what was given last.
std::vector<uint32_t> orderDepthFirst(const Sequence &sequence, bool isLastFirst);

/// Always the step that leaves the fewest bytes.
std::vector<uint32_t> orderGreedily(const Sequence &sequence);

/// Step by step, with the best `width` sets of steps that may have run.
std::vector<uint32_t> orderByBeam(const Sequence &sequence, uint32_t width);

} // namespace gantry::queues
