// Makes a run fit: at its fullest place, values that are held across it are made again in front of
// their next readers instead, first those that free most bytes for the seconds of all that has to
// run again for them.
#pragma once

#include "Schedule.h"
#include "gantry/Support/Random.h"

namespace gantry::remat {

/// Counted: repetitions put in or taken back, and sixteen that are only thought of as one.
class Effort {
public:
  explicit Effort(uint64_t left) : left(left) {}

  void spend(uint64_t changes) { left -= std::min(left, changes); }
  void think(uint64_t changes) {
    thought += changes;
    spend(thought / 16);
    thought %= 16;
  }
  bool isSpent() const { return left == 0; }
  uint64_t numLeft() const { return left; }

private:
  uint64_t left, thought = 0;
};

/// How values are chosen.
struct Taste {
  bool byArea = false;   ///< counts all places over the limit that a value is held across
  bool isEarly = false;  ///< makes values again while operands are there, too, not just when they
                         ///< are read
  double ignored = 1e-6; ///< seconds that are as good as none, as a part of a step's on average
  double noise = 0;      ///< chance multiplies what a value is worth by up to 1 + noise, or divides
  uint32_t bold = 0;     ///< times that more may be held elsewhere than is no longer held there
  size_t most = SIZE_MAX; ///< values that are looked at in one place
};

class Greedy {
public:
  Greedy(Schedule &schedule, uint64_t limit, Effort &effort, Random &random)
      : schedule(schedule), graph(schedule.graph), limit(limit), effort(effort), random(random),
        chainOfStep(graph.numSteps), chainOfValue(graph.numValues) {}

  /// Until no place holds more than the limit, or nothing found makes it less. What was done is
  /// appended to `done`.
  void run(Taste taste, std::vector<Change> &done);

private:
  /// A value that need not be held across the fullest place.
  struct Candidate {
    uint32_t value = 0;
    uint32_t slot = 0;  ///< in front of which it is made again
    double worth = 0;   ///< bytes a second
    uint64_t state = 0; ///< of the run when that was found
    std::vector<Change> changes;
  };

  /// What to do with an operand that is no longer held where it is needed again, and for which
  /// there is no room until then.
  enum class Missing { hold, holdSmall, make };

  Schedule &schedule;
  const Graph &graph;
  uint64_t limit;
  Effort &effort;
  Random &random;
  std::vector<uint32_t> numOver; ///< by slot, slots before it that hold more than the limit
  std::vector<uint32_t> chainOfStep, chainOfValue; ///< the chain that they were seen in last
  uint32_t chain = 0;

  bool freeAt(Time fullest, Taste &taste, double &excess, std::vector<Change> &done);
  bool tryOne(const Candidate &candidate, Time fullest, Taste &taste, double &excess);
  void countOver();
  std::vector<Candidate> candidatesAt(Time fullest, const Taste &taste);
  std::vector<uint32_t> slotsFor(uint32_t value, Time fullest, const Taste &taste);
  bool mayEnd(uint32_t value, Time fullest) const;
  bool rate(Candidate &candidate, Time fullest, const Taste &taste);
  bool findChain(Candidate &candidate, Time fullest, Missing missing, double &seconds,
                 int64_t &bytes);
  bool fits(uint32_t firstSlot, uint32_t lastSlot, int64_t bytes) const;
};

} // namespace gantry::remat
