// A run with its repetitions, and how much each of its places holds, kept up to date as repetitions
// come and go.
//
// Repetitions in front of a step run in the order of their steps, each at most once, so that the
// time of a run is its step and the step that it is in front of: two numbers, which other
// repetitions do not shift. A change costs the copies of the values that it touches, and a pass
// over the places between the old and the new ends of their lives.
#pragma once

#include "Graph.h"

#include <span>

namespace gantry::remat {

/// When something runs: in the upper half the step that it is in front of, its slot; in the lower
/// half the step that runs. A step of the run without repetitions has both alike, and so has the
/// end.
using Time = uint64_t;

inline Time timeOf(uint32_t slot, uint32_t step) { return uint64_t(slot) << 32 | step; }
inline uint32_t slotOf(Time time) { return uint32_t(time >> 32); }
inline uint32_t stepOf(Time time) { return uint32_t(time); }

/// From the run that makes it to the last one that uses it.
struct Copy {
  Time made = 0, last = 0;
  bool inPlace = false; ///< takes no bytes in the run that makes it
  bool isFree = false;  ///< in the place of a given value
};

struct Change {
  Again again;
  bool isAdded = true;
};

class Schedule {
public:
  explicit Schedule(const Graph &graph);

  const Graph &graph;

  /// Repetitions that are not there are added, those that are there taken away; each once.
  void apply(std::span<const Change> changes);
  /// Takes back what several calls of apply did, one after the other.
  void revert(std::span<const Change> changes);

  bool contains(Again again) const;
  /// By slot, then step.
  std::vector<Again> repetitions() const;
  size_t numRepetitions() const { return count; }

  uint64_t peak() const;
  /// What slots hold over a limit, added up.
  double excess(uint64_t limit) const;
  /// Of the repetitions.
  double secondsAgain() const { return seconds; }
  /// By slot, the most that is held while its repetitions and its step run; the end comes last.
  std::span<const int64_t> levels() const { return level; }
  /// The first run that holds the most in a slot.
  Time fullestRun(uint32_t slot) const;
  int64_t levelAt(Time time) const;

  std::span<const Copy> copiesOf(uint32_t value) const { return copies[value]; }
  /// The copy that a run at that time reads.
  const Copy &copyAt(uint32_t value, Time time) const;
  /// The first use of the value after that time, and the last one up to it, its making included.
  Time nextRead(uint32_t value, Time time) const;
  Time lastUse(uint32_t value, Time time) const;

private:
  /// A run of a slot, and what it holds over the slot's base.
  struct Run {
    uint32_t step;
    int64_t over;
  };
  /// Bytes held by all runs of [from, to).
  struct Span {
    Time from, to;
    int64_t bytes;
  };

  std::vector<std::vector<uint32_t>> slotsOf; ///< by step
  std::vector<std::vector<Run>> runs;         ///< by slot, by step
  std::vector<int64_t> base, level;           ///< by slot
  std::vector<std::vector<Copy>> copies;      ///< by value
  std::vector<uint32_t> touched;              ///< slots whose level is to be found anew
  std::vector<char> isTouched;
  std::vector<uint32_t> stamp; ///< by value, for `apply`
  uint32_t stamps = 0;
  std::vector<Copy> before; ///< of one value, for `apply`
  size_t count = 0;
  double seconds = 0;

  void insertRun(Again again);
  void eraseRun(Again again);
  void findCopies(uint32_t value, std::vector<Copy> &found) const;
  template <typename Visit>
  void forEachRead(uint32_t value, Visit &&visit) const;
  bool ends(uint32_t value, Time time) const;
  uint32_t placeOf(uint32_t value, Time made) const;
  bool isFree(uint32_t value, Time made, uint32_t place) const;
  void addDifference(std::span<const Copy> old, std::span<const Copy> now, int64_t bytes);
  void addSpan(const Span &span);
  void addInSlot(uint32_t slot, uint32_t firstStep, uint32_t endStep, int64_t bytes);
  void touch(uint32_t slot);
  void settle();
};

} // namespace gantry::remat
