// Plays one step on queues: what a placement costs. Fast enough to be asked for every move of the
// search; allocates nothing after the first run.
//
// It is the discrete-event simulation by which plans order their commands
// (gantry/Queues/Predict.h): devices run their tasks in the given order, copy queues take what is
// ready first, and small copies that are ready together are one transfer
// (gantry/Queues/Coalesce.h). So what the search believes is what the plan then does.
#pragma once

#include "Graph.h"

#include <tuple>

namespace gantry::placement {

/// What is to be small, the first first.
struct Score {
  uint64_t overflow = 0; ///< bytes over limits and budgets, of all of them together
  double seconds = 0;
  uint64_t copyBytes = 0;
  uint32_t turns = 0;
};

/// Predictions closer than this are the same: sums of floating-point numbers.
inline constexpr double kSame = 1e-9;

class Simulator {
public:
  explicit Simulator(const OrderedGraph &graph);

  /// Stops as soon as it is sure that `toBeat` is better, with a score that is worse than any;
  /// nothing may then be asked about the run.
  Score run(const Assignment &decision, const Score *toBeat = nullptr);

  // About the last run:
  /// What the run cost, in tasks that it played: copies cost as much, and the bound and the room
  /// for streams are looked for over all tasks.
  uint32_t numVisited() const {
    return started + uint32_t(copies.size()) + graph.numTasks() / kTasksOfBoundPerVisit +
           (hasStreams ? graph.numTasks() / kTasksOfRoomPerVisit : 0);
  }
  uint64_t peak(uint32_t device) const { return peaks[device]; }
  uint64_t overflow(uint32_t device) const {
    uint64_t limit = graph.problem.limits[device];
    return limit && peaks[device] > limit ? peaks[device] - limit : 0;
  }
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
    uint32_t gate;   ///< the place whose end let it go
    bool joined;     ///< in one transfer with that one
  };
  /// A copy whose value is there, or will be.
  struct Pending {
    double ready;
    uint32_t turn; ///< what is ready at the same time goes in this order
    uint32_t value, from, to, gate;
    bool operator<(const Pending &other) const { // a heap's top is the first to go
      return std::tie(ready, turn) > std::tie(other.ready, other.turn);
    }
  };
  static constexpr uint32_t noCopy = noIndex;
  static constexpr Score hopeless{UINT64_MAX, notAllowed, UINT64_MAX};
  static constexpr uint32_t kTasksOfBoundPerVisit = 8, kTasksOfRoomPerVisit = 2;

  double &readyAt(uint32_t value, uint32_t device) { return ready[value * numDevices + device]; }
  double leastSeconds();
  double leastSecondsOfStreams() const;
  void reset();
  double turningBefore(uint32_t place) const;
  void offerTask(uint32_t device);
  void offerCopy(uint32_t queue);
  uint32_t nextOffer() const;
  double startTask(uint32_t device);
  void startTransfer(uint32_t queue);
  void appear(uint32_t value, uint32_t device, double time);
  void send(uint32_t value, uint32_t from, double time);
  void sendTo(uint32_t value, uint32_t from, uint32_t to, double time, uint32_t gate = noIndex);
  void collectStreams();
  void beginStreams();
  void findRoomByOrder();
  void gateStreams(uint32_t device);
  void sendStreams(uint32_t device, uint32_t numDone, double time, uint32_t gate);
  uint64_t bytesOverBudgets() const;
  bool isResident(uint32_t value, uint32_t device) const;
  uint32_t sourceOf(uint32_t value) const;
  void countMemory();
  void countConstant(uint32_t value);
  /// Of a device: before its first task, each task, and behind each task until the next one starts.
  static uint32_t slotOf(uint32_t number) { return 2 * number + 1; }
  uint32_t slotFrom(uint32_t device, double time) const;
  uint32_t slotUntil(uint32_t device, double time) const;
  bool isMadeForCaller(uint32_t value, uint32_t device) const;
  void addMade(uint32_t value, uint32_t device, uint32_t last, bool isCopied);
  void addShared();
  uint32_t lastReader(uint32_t value, uint32_t device) const;
  void addLive(uint32_t device, uint32_t first, uint32_t last, uint64_t bytes);
  void addLargestSums();
  uint32_t copyTo(uint32_t value, uint32_t device) const;
  std::pair<uint32_t, uint32_t> waitedFor(uint32_t place) const;

  const OrderedGraph &graph;
  uint32_t numDevices, numQueues;
  const Assignment *decision = nullptr; ///< while it runs
  std::vector<double> starts, ends;     ///< by place
  std::vector<double> rest;             ///< by place: from its end to that of the step, at least
  std::vector<double> restFrom;         ///< by place: the same from its start
  std::vector<double> restOf;           ///< by device: of the first of its tasks
  std::vector<double> ready; ///< [value * devices + device]; infinite: not there, nor on its way
  std::vector<double> inputsReady; ///< by place
  std::vector<uint32_t> missing;   ///< by place: inputs that are not there yet
  std::vector<double> free;        ///< devices, then copy queues
  std::vector<double> offers; ///< the same: when it could start what is next; infinite: nothing
  std::vector<std::vector<uint32_t>> tasksOn; ///< by device: places
  std::vector<uint32_t> nextOn;               ///< by device: of those
  std::vector<std::vector<Pending>> pending;  ///< by queue, heaps
  /// A copy of a streamed constant, by numbers of tasks on its target: which read it, and how many
  /// have to be done before there is room for it.
  struct Streamed {
    uint32_t firstReader, lastReader, value, gate;
  };
  std::vector<std::vector<Streamed>> streams; ///< by target, by first reader
  std::vector<uint32_t> nextStream;           ///< by target
  std::vector<uint32_t> devicesOfRun;
  std::vector<uint32_t> before;              ///< by place: what the device did before
  std::vector<uint32_t> turn;                ///< by place: when it is queued
  std::vector<uint32_t> lastCopy;            ///< by queue
  std::vector<std::vector<uint32_t>> endsOf; ///< by value: devices that want it at the end
  std::vector<Copy> copies;
  std::vector<uint32_t> numberOf;            ///< by place: among the tasks of its device
  std::vector<std::vector<double>> startsOn; ///< by device: of its tasks
  std::vector<std::vector<int64_t>> changes; ///< by device and slot: of live bytes
  std::vector<uint32_t> lastCopied; ///< by value: number at its source when copies end, or noCopy
  std::vector<uint32_t> touched;    ///< devices that read the constant at hand
  std::vector<char> isTouched;      ///< by device
  /// Bytes that several values share on a device, while any of them lives.
  struct Shared {
    uint32_t first = noIndex, last = 0;
    uint64_t bytes = 0;
  };
  std::vector<Shared> shared;  ///< [buffer * devices + device]
  std::vector<uint64_t> taken; ///< by number, of the device at hand
  std::vector<uint64_t> peaks;
  std::vector<uint64_t> copied; ///< by budget
  double finish = 0;
  uint64_t copyBytes = 0;
  uint32_t turns = 0;
  uint32_t started = 0;
  bool hasStreams = false; ///< that were given room
};

} // namespace gantry::placement
