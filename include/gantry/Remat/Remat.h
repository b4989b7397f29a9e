// Rematerialisation (activation checkpointing): which steps of a run are run again later, so that
// what they make need not be held until then, in as few seconds as are found within a limit of
// bytes. Knows nothing of graphs; std only.
//
// What is held. The steps run once, in the order given; in front of each, and at the end, steps
// that ran before may run again. A run makes new copies of all the values of its step, and a read
// takes the copy made last. A copy is held from the run that makes it to its last reader, which is
// before the value is made again; one that nobody reads is held by the run that makes it alone. The
// last copy of a value in `kept` is held to the end. A run holds what lives across it, what it
// reads, what it makes and its scratch; the peak is the most that any run, or the end, holds.
//
// Given values are those that no step makes: inputs, weights. They are there all the time and take
// no bytes.
//
// In place. An operand in `replaces` that a run reads last, its copy being neither read again nor
// kept, gives its place to a result: one after the other, in their order, each to the first result
// of as many bytes that has no place yet. Such a result takes no bytes of its own in that run, and
// none at all where the place is a given value's, or was taken from one: so an update of a weight
// takes no bytes as long as nobody reads the old weight later, else it takes its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::remat {

struct Step {
  double seconds = 0;
  std::vector<uint32_t> reads;    ///< values, none twice; given, or made by steps before
  std::vector<uint32_t> makes;    ///< values, of which it is the only maker
  std::vector<uint32_t> replaces; ///< of those it reads, whose places its results may take
  uint64_t scratch = 0;           ///< bytes that it needs while it runs
  bool mayRepeat = true;          ///< whether it gives the same values each time, and does no more
};

struct Problem {
  std::vector<Step> steps;         ///< in the order in which they run
  std::vector<uint64_t> bytes;     ///< by value
  uint64_t limit = 0;              ///< bytes that may be held at a time
  std::vector<uint32_t> kept = {}; ///< values that must be there at the end
};

/// Runs `step` once more in front of `before`, or at the end where that is the number of steps.
struct Again {
  uint32_t step = 0, before = 0;
  bool operator==(const Again &) const = default;
};

struct Answer {
  std::vector<Again> again; ///< those in front of one step run in the order given
  uint64_t peak = 0;        ///< bytes
  double seconds = 0;       ///< of the whole run, added up in the order in which steps run
};

/// A solver by itself, or all of them.
enum class Solver : uint8_t {
  portfolio,
  chains, ///< dynamic programming over the cuts that one value crosses
  greedy, ///< seconds per byte at the fullest step, with all that has to run again counted
  search, ///< greedy, then part of the answer taken back and decided again
};

/// Whether the problem makes sense: indices in range, none twice in a list, one maker a value,
/// which comes before its readers; seconds finite and not negative; under 2^60 bytes together and
/// 2^31 steps. Empty when it does.
std::string checkProblem(const Problem &problem);

/// The fewest seconds found within the limit; else the least peak found. Of a sound problem. The
/// answer depends on problem and effort alone; effort counts repetitions put in and taken back. The
/// first answer is complete even without any.
Answer solve(const Problem &problem, uint64_t effort, Solver solver = Solver::portfolio);

/// The judge, which shares no code with the solvers: plays the run with a copy for each value made,
/// and holds peak and seconds against what it finds. Empty when right; the limit is not its
/// business.
std::string check(const Problem &problem, const Answer &answer);

/// No answer holds less. Of a sound problem.
uint64_t leastPeak(const Problem &problem);

} // namespace gantry::remat
