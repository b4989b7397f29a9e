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
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::placement {

inline constexpr uint32_t noIndex = UINT32_MAX;

/// Of more devices than this there are no tables by task and device, or by pairs of devices: those
/// of jobs, whose ops nearly all say which task they are of.
inline constexpr uint32_t kMostInTables = 128;

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
  /// Values of one number that are made on one device lie in the same bytes: parts of a whole, or
  /// a result in the place of an operand. noIndex: in bytes of its own.
  uint32_t buffer = noIndex;
  /// It is the whole or a part of one; else it has bytes of its own where it is copied from, since
  /// nothing may then be written in its place.
  bool isPart = false;
  /// By device: seconds that it takes there to bring the value from the layout in which it is
  /// copied into the one in which it is read, before its first reader, or back, behind its maker.
  /// Empty: none anywhere.
  std::vector<double> turning = {};
};

/// One kernel.
struct AutoTask {
  std::vector<uint32_t> inputs;  ///< values, none twice
  std::vector<uint32_t> outputs; ///< values that this task makes
  /// By device; notAllowed where it must not run. Of a task with an `only` device one number.
  std::vector<double> seconds;
  uint32_t group = noIndex; ///< tasks of one group go to one device
  uint64_t key = 0;         ///< what the task is (op, attributes), but never its name
  uint32_t only = noIndex;  ///< the device that it has to run on; noIndex: see `seconds`

  double secondsOn(uint32_t device) const {
    if (only == noIndex)
      return seconds[device];
    return device == only ? seconds.front() : notAllowed;
  }
};

/// A value that must be on a device at the end. Where it is made there, it is made in the caller's
/// memory.
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
  std::vector<uint64_t> limits; ///< bytes by device; 0: none
  std::vector<AutoLink> links;  ///< [from * devices + to]; empty: as `linkOf` says
  /// Of devices of which a table of all pairs would be large.
  std::function<AutoLink(uint32_t from, uint32_t to)> linkOf = {};
  uint32_t numQueues = 0;        ///< of copies
  std::vector<uint64_t> budgets; ///< bytes that the copies of a step may have together
  std::vector<AutoValue> values;
  std::vector<AutoTask> tasks;
  std::vector<AutoEnd> ends;
  /// By device: one part in so many of the room for streams that is free at least, as plans showed;
  /// 0: none. Empty: none anywhere.
  std::vector<uint32_t> leastSpare = {};

  uint32_t numDevices() const { return static_cast<uint32_t>(limits.size()); }
  AutoLink link(uint32_t from, uint32_t to) const {
    return links.empty() ? linkOf(from, to) : links[from * limits.size() + to];
  }

  /// Takes links and copy queues from the cost model: per device one queue in from CPUs, one out to
  /// them, one in from other devices, as plans have them.
  void setLinks(const Topology &topology, const CostModel &costs);

  /// Holds the copies of a step to a budget (spec X4), after setLinks.
  void setBudget(const Topology &topology, const CopyBudget &budget);

private:
  void fillTable(uint32_t devices);
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
  /// Streamed constants come as early as there is room for them, by the order of the tasks. By
  /// device: one part in so many of the room is left free, since what else comes may come earlier
  /// than by that order; 0: none. Empty: none anywhere.
  std::vector<uint32_t> spare = {};
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

/// No placement takes fewer seconds: the largest of the longest path, each value taking the best
/// way for itself; the work that even a perfect division leaves to the busiest device; and the
/// Lagrangian bound of both together with what constants are over the limits, which comes in each
/// step through the devices' queues or makes tasks go elsewhere.
double lowerBound(const AutoProblem &problem);

struct AutoOptions {
  /// Tasks that local search may simulate in all: what its time goes by, on any machine.
  uint64_t maxVisits = 2'400'000;
  /// Fewer devices win unless more are better by this part.
  double worthwhile = 1e-6;
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

/// What moves of one kind won on the way to a placement.
struct AutoGain {
  std::string kind; ///< "borders", "streams", ...
  uint32_t moves = 0;
  double seconds = 0; ///< of a step; moves that make it fit may cost some
};

/// A placement that was found.
struct AutoCandidate {
  std::string start; ///< where the search began: "one device", "pieces", ...
  AutoPlacement placement;
  double seconds = 0;               ///< of a step
  std::vector<AutoGain> gains = {}; ///< since the start, by kind
};

struct AutoOutcome {
  AutoPlacement placement;
  AutoSchedule schedule;
  /// It and others that are within limits and budgets, best first and of several kinds: how memory
  /// is laid out may make one of them the better plan. Where none is, it alone.
  std::vector<AutoCandidate> candidates;
  double lowerBound = 0;
  AutoCandidate unlimited;      ///< the best that was found for devices without limits
  bool fits = false;            ///< else the placement is the one least over limits and budgets
  std::string start;            ///< where the search began: "one device", "pieces", ...
  std::vector<AutoTried> tried; ///< the starts as they were, before moves
  uint32_t steps = 0;           ///< placements that local search tried
  uint32_t moves = 0;           ///< and took
};

/// Searches. Deterministic; depends on names and numbering of nothing but devices: equal structure
/// gives equal placements (spec P12). The result is never predicted to be slower than any of
/// `starts` that is within limits and budgets. `before`: what was found for the same problem with
/// other limits; what would be without any is not searched for again. Errors: those of
/// checkProblem.
Expected<AutoOutcome> searchPlacement(const AutoProblem &problem, const AutoOptions &options = {},
                                      std::span<const AutoStart> starts = {},
                                      const AutoOutcome *before = nullptr);

/// Seconds of a step that a byte more under the limit of a device is predicted to save, and that a
/// byte less would cost: infinite where nothing was found that fits then.
struct AutoPrice {
  double more = 0, less = 0;
};

/// By device, from a placement that fits; of one without limit 0. A short search with limits that
/// are a little larger and smaller: deterministic, too.
std::vector<AutoPrice> priceMemory(const AutoProblem &problem, const AutoPlacement &placement);

/// The problem on its first devices alone; nothing where it needs others.
std::optional<AutoProblem> withFirstDevices(const AutoProblem &problem, uint32_t count);

} // namespace gantry::placement
