// Plays one step on queues: what a placement costs. Fast enough to be asked for every move of the
// search; allocates nothing after the first run.
#pragma once

#include "Graph.h"

#include <tuple>

namespace gantry::placement {

/// What is to be small, the first first.
struct Score {
  uint64_t overflow = 0; ///< bytes over limits and budgets, of all of them together
  double seconds = 0;
  uint64_t copyBytes = 0;
};

/// Predictions closer than this are the same: sums of floating-point numbers.
inline constexpr double kSame = 1e-9;

class Simulator {
public:
  explicit Simulator(const OrderedGraph &graph);

  /// `devices` by place. Commands of a device are taken in the order of their places; a value is
  /// copied when its first reader on the target is queued, as soon as the copy queue is free.
  /// Stops as soon as it is sure that `toBeat` is better, with a score that is worse than any;
  /// nothing may then be asked about the run.
  Score run(std::span<const uint32_t> devices, const Score *toBeat = nullptr);

  // About the last run:
  uint64_t peak(uint32_t device) const { return peaks[device]; }
  double start(uint32_t place) const { return starts[place]; }
  double end(uint32_t place) const { return ends[place]; }
  /// Places that the end waited for, from first to last.
  std::vector<uint32_t> criticalPlaces() const;
  /// Whether the task had all it reads before its device was free.
  bool waitsForDevice(uint32_t place) const;
  /// All of it, in terms of the problem.
  AutoSchedule schedule() const;

private:
  struct Copy {
    uint32_t value, from, to;
    double start, end;
    uint32_t before; ///< the copy that the queue did before
    bool joined;     ///< in one transfer with that one
  };
  /// What a queue did last; a small copy that could have started then goes with it, as plans have
  /// it (gantry/Queues/Coalesce.h).
  struct Transfer {
    uint32_t from = noIndex, to = noIndex;
    double start = 0;
    double seconds = 0; ///< of its bytes
  };
  static constexpr uint32_t noCopy = noIndex;
  static constexpr Score hopeless{UINT64_MAX, notAllowed, UINT64_MAX};

  double &readyAt(uint32_t value, uint32_t device) { return ready[value * numDevices + device]; }
  void openValue(uint32_t value, uint32_t device, double time);
  double fetch(uint32_t value, uint32_t from, uint32_t to);
  uint64_t bytesOverBudgets() const;
  uint32_t sourceOf(uint32_t value, std::span<const uint32_t> devices) const;
  void countMemory(std::span<const uint32_t> devices);
  void countConstant(uint32_t value, std::span<const uint32_t> devices);
  uint32_t numberAt(uint32_t device, double time) const;
  void addLive(uint32_t device, uint32_t first, uint32_t last, uint64_t bytes);
  void addLargestSums();
  uint32_t copyTo(uint32_t value, uint32_t device) const;
  std::pair<uint32_t, uint32_t> waitedFor(uint32_t place) const;

  const OrderedGraph &graph;
  uint32_t numDevices;
  std::vector<double> starts, ends; ///< by place
  std::vector<double> rest;         ///< by place: from its end to that of the step, at least
  std::vector<double> ready;        ///< [value * devices + device]; infinite: not there
  std::vector<double> deviceFree;
  std::vector<uint32_t> before; ///< by place: what the device did before
  std::vector<uint32_t> lastOn; ///< by device
  std::vector<double> queueFree;
  std::vector<Transfer> transfers; ///< by queue
  std::vector<uint32_t> lastCopy;  ///< by queue
  std::vector<Copy> copies;
  std::vector<uint32_t> devicesOfRun;
  std::vector<uint32_t> numberOf;            ///< by place: among the tasks of its device
  std::vector<std::vector<double>> startsOn; ///< by device: of its tasks
  std::vector<std::vector<int64_t>> changes; ///< by device and number: of live bytes
  std::vector<uint32_t> lastCopied;          ///< by value: number at its source when copies end
  std::vector<uint32_t> lastRead;            ///< by device: number, of the value at hand
  std::vector<uint32_t> touched;             ///< devices that read the constant at hand
  std::vector<char> isTouched;               ///< by device
  std::vector<char> livesToEnd;              ///< by value
  std::vector<uint64_t> peaks;
  std::vector<uint64_t> copied; ///< by budget
  double finish = 0;
  uint64_t copyBytes = 0;
};

} // namespace gantry::placement
