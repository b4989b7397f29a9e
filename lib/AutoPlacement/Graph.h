// A problem of automatic placement in the form that the search works on: tasks numbered by their
// place in one order, edges in flat arrays. The numbering comes from structure alone, so whatever
// breaks ties by it does not depend on names or on the order that tasks came in (spec P12).
#pragma once

#include "gantry/AutoPlacement/AutoPlacement.h"

#include <map>
#include <span>

namespace gantry::placement {

/// Lists of numbers, one after the other.
class Lists {
public:
  Lists() = default;
  Lists(std::vector<uint32_t> begins, std::vector<uint32_t> items)
      : begins(std::move(begins)), items(std::move(items)) {}

  void startNext() { begins.push_back(static_cast<uint32_t>(items.size())); }
  void push(uint32_t item) { items.push_back(item); }
  std::span<const uint32_t> operator[](size_t i) const {
    size_t end = i + 1 < begins.size() ? begins[i + 1] : items.size();
    return {items.data() + begins[i], end - begins[i]};
  }

private:
  std::vector<uint32_t> begins, items;
};

/// Who makes each value and who reads it.
struct Edges {
  explicit Edges(const AutoProblem &problem);
  std::vector<uint32_t> maker; ///< by value; noIndex for arguments and constants
  Lists readers;               ///< by value: tasks, ascending
};

/// Makers before readers; within that, as they came.
std::vector<uint32_t> anyOrder(const AutoProblem &problem, const Edges &edges);

/// A number for each task that says what it is and where in the graph it stands; equal for tasks
/// that are structurally the same.
std::vector<uint64_t> structuralKeys(const AutoProblem &problem, const Edges &edges);

/// Makers before readers, along each path to its end before the next begins: little is live.
std::vector<uint32_t> depthFirstOrder(const AutoProblem &problem, const Edges &edges,
                                      std::span<const uint64_t> keys);

/// The tasks with the longest way to the end first: what everything waits for starts early. Times
/// are those of `devices` (by task) with their copies, or when it is empty of the best devices with
/// free copies.
std::vector<uint32_t> rankOrder(const AutoProblem &problem, const Edges &edges,
                                std::span<const uint64_t> keys,
                                std::span<const uint32_t> devices = {});

/// Where everything is, by the numbers of an OrderedGraph.
struct Assignment {
  std::vector<uint32_t> devices; ///< by place
  /// By value: constants that come from their home in each step. Empty: none.
  std::vector<char> streamed = {};
  /// By device: as in AutoPlacement.
  std::vector<uint32_t> spare = {};
  /// Places in the order in which they are queued, makers before readers. Empty: as numbered.
  std::vector<uint32_t> order = {};

  bool operator==(const Assignment &) const = default;
  bool isStreamed(uint32_t value) const { return !streamed.empty() && streamed[value]; }
};

/// The problem with tasks numbered by `order`.
struct OrderedGraph {
  OrderedGraph(const AutoProblem &problem, std::vector<uint32_t> order);

  uint32_t numTasks() const { return static_cast<uint32_t>(taskAt.size()); }
  uint32_t numValues() const { return static_cast<uint32_t>(bytes.size()); }
  double turningOf(uint32_t value, uint32_t device) const {
    return turning.empty() ? 0 : turning[size_t(value) * numDevices + device];
  }
  double secondsOn(uint32_t place, uint32_t device) const {
    const double *own = seconds.data() + firstSecond[place];
    if (only[place] == noIndex)
      return own[device];
    return device == only[place] ? *own : notAllowed;
  }
  /// By device, or of a task with an only device that number alone.
  std::span<const double> secondsOf(uint32_t place) const {
    return {seconds.data() + firstSecond[place], only[place] == noIndex ? numDevices : 1};
  }
  /// Of a copy that goes alone, on a queue that is free.
  double copySeconds(uint32_t value, uint32_t from, uint32_t to) const {
    if (from == to)
      return 0;
    const AutoLink &link = problem.link(from, to);
    return link.latency + static_cast<double>(bytes[value]) * link.secondsPerByte;
  }
  bool isAllowed(uint32_t place, uint32_t device) const {
    return secondsOn(place, device) != notAllowed;
  }

  /// The placement in terms of this graph, whose order takes the place of its own.
  Assignment assignmentOf(const AutoPlacement &placement) const;
  AutoPlacement placementOf(const Assignment &decision) const;

  const AutoProblem &problem;
  uint32_t numDevices;
  std::vector<uint32_t> taskAt;      ///< place → task
  std::vector<size_t> firstSecond;   ///< by place: in `seconds`
  std::vector<uint32_t> only;        ///< by place: the device that it has to run on, or noIndex
  std::vector<double> seconds;       ///< by place, then device
  Lists inputs, outputs;             ///< by place: values
  std::vector<uint64_t> bytes;       ///< by value, rounded up to what an allocation takes
  std::vector<uint64_t> copiedBytes; ///< by value, as budgets count them
  std::vector<uint32_t> maker;       ///< by value: place
  Lists readers;                     ///< by value: places, ascending
  std::vector<uint32_t> home;        ///< by value: device of an argument, source of streams
  std::vector<char> isConstant;      ///< by value
  std::vector<uint32_t> buffer;      ///< by value: that it shares, below numBuffers; noIndex: none
  std::vector<double> turning;       ///< [value * devices + device]; empty: none
  std::vector<char> isPart;          ///< by value: of its buffer, whoever copies it
  uint32_t numBuffers = 0;
  std::vector<uint32_t> constants;     ///< values
  std::vector<uint32_t> originalValue; ///< value → value of the problem
  std::vector<AutoEnd> ends;
  std::vector<uint32_t> atom;               ///< by place: tasks of one group share an atom
  std::vector<std::vector<uint32_t>> atoms; ///< places that move together, by first place

private:
  void addValue(const AutoValue &value, std::map<uint32_t, uint32_t> &bufferOf);
};

} // namespace gantry::placement
