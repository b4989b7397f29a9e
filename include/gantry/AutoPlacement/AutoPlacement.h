// Automatic placement (spec P11): which device each task of a graph runs on, and in which order,
// so that one step is predicted to take the least time within the memory of every device and the
// budgets for copies.
//
// Knows nothing of IR: a task is what becomes one kernel, a value what may have to be copied. The
// search looks for the best placement without limits first. Where that has no room, it makes room:
// it moves tasks to devices that have some, the host among them, or streams constants, that is,
// leaves them on the host and copies them in each step. simulate() is what it asks, lowerBound()
// what it is measured against, validateSchedule() the judge of both.
#pragma once

#include "gantry/Device/CopyBudget.h"
#include "gantry/Device/CostModel.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace gantry::placement {

inline constexpr uint32_t noIndex = UINT32_MAX;

/// Seconds of a task on a device that it may not run on.
inline constexpr double notAllowed = std::numeric_limits<double>::infinity();

/// Something that tasks read. Made by the task that lists it among its outputs; else an argument,
/// which is at `home` when the step begins, or a constant.
struct AutoValue {
  uint64_t bytes = 0;
  /// Of an argument: its device, where the step takes no memory for it. Of a constant: the device
  /// from which it can be streamed, or none.
  uint32_t home = noIndex;
  /// On every device that reads it before the step, and in its memory, unless it is streamed.
  bool isConstant = false;
};

/// One kernel.
struct AutoTask {
  std::vector<uint32_t> inputs;  ///< values, none twice
  std::vector<uint32_t> outputs; ///< values that this task makes
  std::vector<double> seconds;   ///< by device; notAllowed where it must not run
  uint32_t group = noIndex;      ///< tasks of one group go to one device
  uint64_t key = 0;              ///< what the task is (op, attributes), but never its name
};

/// A value that must be on a device at the end.
struct AutoEnd {
  uint32_t value = 0;
  uint32_t device = 0;
};

/// A way for copies. Copies of one queue take turns.
struct AutoLink {
  double latency = 0;
  double secondsPerByte = 0;
  uint32_t queue = 0;
  uint32_t budget = noIndex; ///< that its bytes count for
};

struct AutoProblem {
  std::vector<uint64_t> limits;  ///< bytes by device; 0: none
  std::vector<AutoLink> links;   ///< [from * devices + to]
  uint32_t numQueues = 0;        ///< of copies
  std::vector<uint64_t> budgets; ///< bytes that the copies of a step may have together
  std::vector<AutoValue> values;
  std::vector<AutoTask> tasks;
  std::vector<AutoEnd> ends;

  uint32_t numDevices() const { return static_cast<uint32_t>(limits.size()); }
  const AutoLink &link(uint32_t from, uint32_t to) const {
    return links[from * limits.size() + to];
  }

  /// Takes links and copy queues from the cost model: per device one queue in from CPUs, one out to
  /// them, one in from other devices, as plans have them.
  void setLinks(const Topology &topology, const CostModel &costs);

  /// Holds the copies of a step to a budget (spec X4), after setLinks.
  void setBudget(const Topology &topology, const CopyBudget &budget);
};

/// Whether the problem makes sense: indices in range, one maker a value, no cycle, a device allowed
/// for every task and group, times not negative. Errors: INVALID_ARGUMENT, naming task or value.
Status checkProblem(const AutoProblem &problem);

/// Device of each task, and the order in which they are queued.
struct AutoPlacement {
  std::vector<uint32_t> devices; ///< by task
  std::vector<uint32_t> order;   ///< tasks, makers before readers
  /// By value, 1 for constants that stay at their home and are copied in each step to the other
  /// devices that read them, into transient memory. Empty: none.
  std::vector<char> streamed = {};
  /// By device: how many tasks before its first reader there a streamed constant may begin to
  /// come. Empty: from the beginning of the step.
  std::vector<uint32_t> ahead = {};
};

struct AutoCopy {
  uint32_t value = 0, from = 0, to = 0;
  double start = 0, end = 0;
  /// In one transfer with the copy before it on its queue: both start and end at the same time, and
  /// the latency is paid once.
  bool joined = false;
};

/// What happens in one step. Devices and copy queues take their commands in order.
struct AutoSchedule {
  std::vector<double> start, end; ///< seconds, by task
  std::vector<AutoCopy> copies;   ///< in the order of their queues; at most one a value and target
  std::vector<uint64_t> peaks;    ///< bytes by device: constants and the most that is ever live
  double seconds = 0;             ///< until every result is at its place
  uint64_t copyBytes = 0;
  /// Tasks that the end waits for, first to last.
  std::vector<uint32_t> criticalPath;
};

/// Plays one step of a sound problem; the placement's devices must be allowed.
AutoSchedule simulate(const AutoProblem &problem, const AutoPlacement &placement);

/// Whether no device holds more than its limit, and copies are within their budgets.
bool fitsMemory(const AutoProblem &problem, const AutoSchedule &schedule);
bool fitsBudgets(const AutoProblem &problem, const AutoSchedule &schedule);

/// The judge, independent of the simulator and slower: every constraint of the problem holds, no
/// queue does two things at once, nothing is read before it is there, peaks are within the limits
/// and no less than what a second count gives, copies are within the budgets. Errors: INTERNAL,
/// naming what is wrong.
Status validateSchedule(const AutoProblem &problem, const AutoPlacement &placement,
                        const AutoSchedule &schedule);

/// No placement takes fewer seconds: the larger of the longest path, each value taking the best
/// way for itself, and the work that even a perfect division leaves to the busiest device.
double lowerBound(const AutoProblem &problem);

struct AutoOptions {
  uint32_t maxSteps = 2000; ///< placements that local search may try
  /// Tasks that it may simulate in all, so that time stays linear in the size of the graph.
  uint64_t maxVisits = 20'000'000;
  /// Fewer devices win unless more are better by this part.
  double worthwhile = 1e-3;
};

/// A placement to begin with, by its name.
struct AutoStart {
  std::string name; ///< "default", ...
  AutoPlacement placement;
};

/// The best that came of the starts of one name.
struct AutoTried {
  std::string name;
  double seconds = notAllowed; ///< infinite: none of them is within limits and budgets
};

struct AutoOutcome {
  AutoPlacement placement;
  AutoSchedule schedule;
  /// Where limits make it slower: others that are within them, of other kinds, the best first. How
  /// memory is laid out may make one of them the better plan.
  std::vector<AutoPlacement> others;
  double lowerBound = 0;
  double unlimited = 0;         ///< seconds of the best that was found for devices without limits
  bool fits = false;            ///< else the placement is the one least over limits and budgets
  std::string start;            ///< where the search began: "one device", "pieces", ...
  std::vector<AutoTried> tried; ///< the starts as they were, before moves
  uint32_t steps = 0;           ///< placements that local search tried
  uint32_t moves = 0;           ///< and took
};

/// Searches. Deterministic; depends on names and numbering of nothing: equal structure gives equal
/// placements (spec P12). The result is never predicted to be slower than any of `starts` that is
/// within limits and budgets. Errors: those of checkProblem.
Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options = {},
                                      std::span<const AutoStart> starts = {});

} // namespace gantry::placement
