// What makes a problem sound, and the judge of placements. Shares nothing with the simulator.
#include "gantry/AutoPlacement/AutoPlacement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace gantry::placement {

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static std::string taskName(size_t task) { return "task " + std::to_string(task); }
static std::string valueName(size_t value) { return "value " + std::to_string(value); }

static Status wrong(const std::string &what) {
  return Status::invalidArgument("placement problem: " + what);
}

static Status checkTask(const AutoProblem &problem, size_t t) {
  const AutoTask &task = problem.tasks[t];
  if (task.only != noIndex && task.only >= problem.numDevices())
    return wrong(taskName(t) + " has to run on a device that is not there");
  if (const size_t times = task.only == noIndex ? problem.numDevices() : 1;
      task.seconds.size() != times)
    return wrong(taskName(t) + " has times for " + std::to_string(task.seconds.size()) + " of " +
                 std::to_string(times) + " devices");
  if (std::any_of(task.seconds.begin(), task.seconds.end(), [](double s) { return !(s >= 0); }))
    return wrong(taskName(t) + " has a negative time");
  if (std::all_of(task.seconds.begin(), task.seconds.end(),
                  [](double s) { return s == notAllowed; }))
    return wrong(taskName(t) + " is allowed on no device");
  std::set<uint32_t> seen;
  for (const std::vector<uint32_t> *list : {&task.inputs, &task.outputs})
    for (uint32_t value : *list) {
      if (value >= problem.values.size())
        return wrong(taskName(t) + " names " + valueName(value) + " of " +
                     std::to_string(problem.values.size()));
      if (!seen.insert(value).second)
        return wrong(taskName(t) + " names " + valueName(value) + " twice");
    }
  return {};
}

static Status checkValues(const AutoProblem &problem) {
  std::vector<uint32_t> makers(problem.values.size(), noIndex);
  for (uint32_t t = 0; t < problem.tasks.size(); ++t)
    for (uint32_t value : problem.tasks[t].outputs) {
      if (makers[value] != noIndex)
        return wrong(valueName(value) + " is made by " + taskName(makers[value]) + " and " +
                     taskName(t));
      makers[value] = t;
    }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const AutoValue &value = problem.values[v];
    bool isMade = makers[v] != noIndex, hasHome = value.home < problem.numDevices();
    // A constant may have a home as well.
    if (isMade + (hasHome || value.isConstant) != 1)
      return wrong(valueName(v) + " is not one of: made by a task, at home on a device, constant");
  }
  for (const AutoEnd &end : problem.ends)
    if (end.value >= problem.values.size() || end.device >= problem.numDevices())
      return wrong("an end names " + valueName(end.value) + " or a device that is not there");
  return {};
}

static Status checkGroups(const AutoProblem &problem) {
  std::map<uint32_t, std::vector<double>> sums;
  for (const AutoTask &task : problem.tasks)
    if (task.group != noIndex) {
      std::vector<double> &sum = sums.try_emplace(task.group, problem.numDevices()).first->second;
      for (size_t d = 0; d < sum.size(); ++d)
        sum[d] += task.secondsOn(static_cast<uint32_t>(d));
    }
  for (const auto &[group, sum] : sums)
    if (std::all_of(sum.begin(), sum.end(), [](double s) { return s == notAllowed; }))
      return wrong("no device is allowed for all tasks of group " + std::to_string(group));
  return {};
}

static Status checkCycles(const AutoProblem &problem) {
  std::vector<std::vector<uint32_t>> readers(problem.values.size());
  std::vector<uint32_t> waiting(problem.tasks.size());
  std::vector<char> isMade(problem.values.size());
  for (const AutoTask &task : problem.tasks)
    for (uint32_t value : task.outputs)
      isMade[value] = 1;
  for (uint32_t t = 0; t < problem.tasks.size(); ++t)
    for (uint32_t value : problem.tasks[t].inputs)
      if (isMade[value]) {
        readers[value].push_back(t);
        ++waiting[t];
      }
  std::vector<uint32_t> done;
  for (uint32_t t = 0; t < problem.tasks.size(); ++t)
    if (!waiting[t])
      done.push_back(t);
  for (size_t i = 0; i < done.size(); ++i)
    for (uint32_t value : problem.tasks[done[i]].outputs)
      for (uint32_t reader : readers[value])
        if (--waiting[reader] == 0)
          done.push_back(reader);
  if (done.size() == problem.tasks.size())
    return {};
  auto stuck = std::find_if(waiting.begin(), waiting.end(), [](uint32_t n) { return n != 0; });
  return wrong(taskName(stuck - waiting.begin()) + " waits for itself");
}

Status checkProblem(const AutoProblem &problem) {
  size_t n = problem.numDevices();
  if (n == 0)
    return wrong("there is no device");
  if (!(problem.links.empty() && problem.linkOf) && problem.links.size() != n * n)
    return wrong(std::to_string(problem.links.size()) + " links for " + std::to_string(n) +
                 " devices");
  for (const AutoLink &link : problem.links)
    if (link.queue >= problem.numQueues || !(link.latency >= 0) || !(link.secondsPerByte >= 0) ||
        (link.budget != noIndex && link.budget >= problem.budgets.size()))
      return wrong("a link has a negative time, or a queue or budget that is not there");
  for (size_t t = 0; t < problem.tasks.size(); ++t)
    GANTRY_RETURN_IF_ERROR(checkTask(problem, t));
  GANTRY_RETURN_IF_ERROR(checkValues(problem));
  GANTRY_RETURN_IF_ERROR(checkGroups(problem));
  return checkCycles(problem);
}

//===----------------------------------------------------------------------===//
// Links from the cost model
//===----------------------------------------------------------------------===//

void AutoProblem::setLinks(const Topology &topology, const CostModel &costs) {
  const uint32_t n = costs.numDevices();
  numQueues = 3 * n;
  std::vector<char> isHost(n);
  for (uint32_t d = 0; d < n; ++d)
    isHost[d] = *topology.logical[d].name.type == DeviceType::CPU;
  linkOf = [isHost, costs](uint32_t from, uint32_t to) {
    // Two sizes give the line: a copy of nothing costs nothing, so not 0.
    constexpr uint64_t small = 1, large = uint64_t(1) << 30;
    double least = costs.copySeconds(from, to, small);
    double slope = (costs.copySeconds(from, to, large) - least) / double(large - small);
    uint32_t queue = isHost[from] ? 3 * to : isHost[to] ? 3 * from + 1 : 3 * to + 2;
    return AutoLink{std::max(0.0, least - slope * small), slope, queue};
  };
  fillTable(n);
}

void AutoProblem::setBudget(const Topology &topology, const CopyBudget &budget) {
  std::array<uint32_t, copyDirectionNames.size()> numbers;
  for (size_t d = 0; d < numbers.size(); ++d) {
    numbers[d] = budget.bytes[d] ? static_cast<uint32_t>(budgets.size()) : noIndex;
    if (budget.bytes[d])
      budgets.push_back(*budget.bytes[d]);
  }
  std::vector<DeviceName> names;
  for (const LogicalDevice &device : topology.logical)
    names.push_back(device.name);
  linkOf = [without = linkOf, names, numbers](uint32_t from, uint32_t to) {
    AutoLink link = without(from, to);
    if (from != to)
      link.budget = numbers[static_cast<size_t>(copyDirection(names[from], names[to]))];
    return link;
  };
  fillTable(numDevices());
}

void AutoProblem::fillTable(uint32_t devices) {
  links.clear();
  for (uint32_t from = 0; devices <= kMostInTables && from < devices; ++from)
    for (uint32_t to = 0; to < devices; ++to)
      links.push_back(linkOf(from, to));
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
class Judge {
public:
  Judge(const AutoProblem &problem, const AutoPlacement &placement, const AutoSchedule &schedule)
      : problem(problem), placement(placement), schedule(schedule),
        position(problem.tasks.size(), noIndex), maker(problem.values.size(), noIndex) {}

  Status run() {
    GANTRY_RETURN_IF_ERROR(checkShape());
    GANTRY_RETURN_IF_ERROR(checkPlaces());
    GANTRY_RETURN_IF_ERROR(checkCopies());
    GANTRY_RETURN_IF_ERROR(checkReads());
    GANTRY_RETURN_IF_ERROR(checkQueues());
    GANTRY_RETURN_IF_ERROR(checkEnd());
    GANTRY_RETURN_IF_ERROR(checkBudgets());
    return checkMemory();
  }

private:
  static Status fail(const std::string &what) { return Status::internal("placement: " + what); }

  static bool isSame(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
  }
  /// Not after, but for rounding.
  static bool isBefore(double a, double b) { return a <= b || isSame(a, b); }

  uint32_t deviceOf(uint32_t task) const { return placement.devices[task]; }

  uint32_t sourceOf(uint32_t value) const {
    return maker[value] == noIndex ? problem.values[value].home : deviceOf(maker[value]);
  }

  Status checkShape() {
    size_t n = problem.tasks.size();
    auto isOfEach = [](size_t size, size_t all) { return size == 0 || size == all; };
    if (placement.devices.size() != n || placement.order.size() != n ||
        schedule.start.size() != n || schedule.end.size() != n ||
        schedule.peaks.size() != problem.numDevices() ||
        !isOfEach(placement.streamed.size(), problem.values.size()) ||
        !isOfEach(placement.spare.size(), problem.numDevices()))
      return fail("it is not about these tasks, values and devices");
    for (size_t v = 0; v < placement.streamed.size(); ++v)
      if (placement.streamed[v] &&
          (!problem.values[v].isConstant || problem.values[v].home == noIndex))
        return fail(valueName(v) + " is streamed, but no constant with a home");
    for (uint32_t i = 0; i < n; ++i) {
      if (placement.order[i] >= n || position[placement.order[i]] != noIndex)
        return fail("the order does not list every task once");
      position[placement.order[i]] = i;
    }
    for (uint32_t t = 0; t < n; ++t)
      for (uint32_t value : problem.tasks[t].outputs)
        maker[value] = t;
    return {};
  }

  bool isStreamed(uint32_t value) const {
    return !placement.streamed.empty() && placement.streamed[value];
  }
  /// Whether it is there before the step without being brought.
  bool isResident(uint32_t value, uint32_t device) const {
    const AutoValue &v = problem.values[value];
    return v.isConstant && (!isStreamed(value) || v.home == device);
  }

  Status checkPlaces() {
    std::map<uint32_t, uint32_t> deviceOfGroup;
    for (uint32_t t = 0; t < problem.tasks.size(); ++t) {
      const AutoTask &task = problem.tasks[t];
      uint32_t device = deviceOf(t);
      if (device >= problem.numDevices() || task.secondsOn(device) == notAllowed)
        return fail(taskName(t) + " is on device " + std::to_string(device) +
                    ", where it may not run");
      if (!isSame(schedule.end[t], schedule.start[t] + task.secondsOn(device) + turningAt(t)))
        return fail(taskName(t) + " takes another time than it should");
      if (schedule.start[t] < 0)
        return fail(taskName(t) + " starts before the step");
      if (task.group != noIndex &&
          deviceOfGroup.try_emplace(task.group, device).first->second != device)
        return fail("group " + std::to_string(task.group) + " is on two devices");
    }
    return {};
  }

  Status checkCopies() {
    for (const AutoCopy &copy : schedule.copies) {
      if (copy.from == copy.to || copy.from != sourceOf(copy.value))
        return fail("a copy of " + valueName(copy.value) + " from where it is not");
      if (isResident(copy.value, copy.to))
        return fail("a copy of " + valueName(copy.value) + ", which is there");
      if (maker[copy.value] != noIndex && !isBefore(schedule.end[maker[copy.value]], copy.start))
        return fail(valueName(copy.value) + " is copied before it is made");
      if (!arrival.emplace(std::pair(copy.value, copy.to), copy.end).second)
        return fail(valueName(copy.value) + " is copied twice to device " +
                    std::to_string(copy.to));
    }
    return {};
  }

  /// When a value is on a device, or nothing.
  const double *arrivalOf(uint32_t value, uint32_t device) {
    if (sourceOf(value) == device) {
      static const double begin = 0;
      return maker[value] == noIndex ? &begin : &schedule.end[maker[value]];
    }
    auto found = arrival.find({value, device});
    return found == arrival.end() ? nullptr : &found->second;
  }

  Status checkReads() {
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      for (uint32_t value : problem.tasks[t].inputs) {
        if (isResident(value, deviceOf(t)))
          continue;
        if (maker[value] != noIndex && position[maker[value]] > position[t])
          return fail(taskName(t) + " is queued before the maker of " + valueName(value));
        const double *time = arrivalOf(value, deviceOf(t));
        if (!time || !isBefore(*time, schedule.start[t]))
          return fail(taskName(t) + " reads " + valueName(value) + " before it is there");
      }
    return {};
  }

  Status checkQueues() {
    std::map<uint32_t, double> free; // by device
    for (uint32_t task : placement.order) {
      if (!isBefore(free[deviceOf(task)], schedule.start[task]))
        return fail("device " + std::to_string(deviceOf(task)) + " does two things at once");
      free[deviceOf(task)] = schedule.end[task];
    }
    std::map<uint32_t, std::vector<const AutoCopy *>> queues;
    for (const AutoCopy &copy : schedule.copies)
      queues[problem.link(copy.from, copy.to).queue].push_back(&copy);
    for (const auto &[queue, copies] : queues)
      GANTRY_RETURN_IF_ERROR(checkCopyQueue(queue, copies));
    return {};
  }

  /// Transfers take turns; what one holds beside its first copy is small.
  Status checkCopyQueue(uint32_t queue, const std::vector<const AutoCopy *> &copies) {
    double free = 0;
    for (size_t first = 0, end = 0; first < copies.size(); first = end) {
      const AutoCopy &lead = *copies[first];
      const AutoLink &link = problem.link(lead.from, lead.to);
      double seconds = 0;
      for (end = first; end < copies.size() && (end == first || copies[end]->joined); ++end) {
        const AutoCopy &copy = *copies[end];
        if (copy.from != lead.from || copy.to != lead.to || copy.start != lead.start ||
            copy.end != lead.end || copy.joined != (end > first))
          return fail("a copy of " + valueName(copy.value) +
                      " goes with another that it cannot join");
        // As arenas are laid out in steps of 64 bytes, so are copies.
        seconds += static_cast<double>(roundedBytes(copy.value)) * link.secondsPerByte;
      }
      if (!isSame(lead.end, lead.start + link.latency + seconds))
        return fail("a copy of " + valueName(lead.value) + " takes another time than it should");
      if (end > first + 1 && !isBefore(seconds, link.latency))
        return fail("copies of " + valueName(lead.value) +
                    " and others go together, but are not small");
      if (!isBefore(free, lead.start))
        return fail("queue " + std::to_string(queue) + " does two things at once");
      free = lead.end;
    }
    return {};
  }

  Status checkEnd() {
    double last = 0;
    for (double end : schedule.end)
      last = std::max(last, end);
    for (const AutoCopy &copy : schedule.copies)
      last = std::max(last, copy.end);
    if (!isSame(last, schedule.seconds))
      return fail("the step ends at another time than its last command");
    for (const AutoEnd &end : problem.ends)
      if (!problem.values[end.value].isConstant && !arrivalOf(end.value, end.device))
        return fail(valueName(end.value) + " does not reach its end");
    return {};
  }

  /// Counts what has to be copied whatever the schedule says: each value once to each device that
  /// needs it.
  Status checkBudgets() {
    std::set<std::pair<uint32_t, uint32_t>> needed; // value, device
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      for (uint32_t value : problem.tasks[t].inputs)
        needed.emplace(value, deviceOf(t));
    for (const AutoEnd &end : problem.ends)
      if (!problem.values[end.value].isConstant)
        needed.emplace(end.value, end.device);
    std::vector<uint64_t> copied(problem.budgets.size());
    for (auto [value, device] : needed) {
      if (isResident(value, device) || sourceOf(value) == device)
        continue;
      uint32_t budget = problem.link(sourceOf(value), device).budget;
      if (budget != noIndex)
        copied[budget] += problem.values[value].bytes;
    }
    for (size_t b = 0; b < copied.size(); ++b)
      if (copied[b] > problem.budgets[b])
        return fail(std::to_string(copied[b]) + " bytes are copied of a budget of " +
                    std::to_string(problem.budgets[b]));
    return {};
  }

  /// The stated peaks hold what is live at any time, and are within the limits.
  Status checkMemory() {
    for (uint32_t device = 0; device < problem.numDevices(); ++device) {
      uint64_t needed = countPeak(device), stated = schedule.peaks[device];
      if (needed > stated)
        return fail("device " + std::to_string(device) + " needs " + std::to_string(needed) +
                    " bytes, more than the " + std::to_string(stated) + " that are stated");
      if (uint64_t limit = problem.limits[device]; limit && stated > limit)
        return fail("device " + std::to_string(device) + " takes " + std::to_string(stated) +
                    " bytes, over its limit of " + std::to_string(limit));
    }
    return {};
  }

  double turningOf(uint32_t value, uint32_t device) const {
    const std::vector<double> &turning = problem.values[value].turning;
    return turning.empty() ? 0 : turning[device];
  }

  /// Seconds for other layouts: of what comes from elsewhere, at its first reader; of what goes
  /// elsewhere, at its maker.
  double turningAt(uint32_t t) const {
    const uint32_t device = deviceOf(t);
    double sum = 0;
    for (uint32_t value : problem.tasks[t].inputs)
      if (turningOf(value, device) > 0 && sourceOf(value) != device) {
        bool isFirst = true;
        for (uint32_t other = 0; other < problem.tasks.size(); ++other) {
          const std::vector<uint32_t> &inputs = problem.tasks[other].inputs;
          isFirst &= deviceOf(other) != device || position[other] >= position[t] ||
                     std::find(inputs.begin(), inputs.end(), value) == inputs.end();
        }
        sum += isFirst ? turningOf(value, device) : 0;
      }
    for (uint32_t value : problem.tasks[t].outputs) {
      if (turningOf(value, device) == 0)
        continue;
      bool leaves = std::any_of(problem.ends.begin(), problem.ends.end(), [&](const AutoEnd &end) {
        return end.value == value && end.device != device;
      });
      for (uint32_t other = 0; other < problem.tasks.size(); ++other) {
        const std::vector<uint32_t> &inputs = problem.tasks[other].inputs;
        leaves |= deviceOf(other) != device &&
                  std::find(inputs.begin(), inputs.end(), value) != inputs.end();
      }
      sum += leaves ? turningOf(value, device) : 0;
    }
    return sum;
  }

  /// When a value lies on a device: from the start of what brings it to the end of what reads it.
  using Spans = std::map<uint32_t, std::pair<double, double>>;

  bool isMadeForCaller(uint32_t value, uint32_t device) const {
    return std::any_of(problem.ends.begin(), problem.ends.end(), [&](const AutoEnd &end) {
      return end.value == value && end.device == device;
    });
  }

  bool isCopiedFrom(uint32_t value, uint32_t device) const {
    return std::any_of(schedule.copies.begin(), schedule.copies.end(), [&](const AutoCopy &copy) {
      return copy.value == value && copy.from == device;
    });
  }

  /// Values that lie in the same bytes there: the most of their bytes, while any of them lives.
  std::vector<std::pair<int64_t, std::pair<double, double>>> holdingsOn(uint32_t device) {
    std::map<uint32_t, std::pair<int64_t, std::pair<double, double>>> buffers;
    std::vector<std::pair<int64_t, std::pair<double, double>>> all;
    for (const auto &[value, span] : liveOn(device)) {
      const bool isMade = maker[value] != noIndex && deviceOf(maker[value]) == device;
      if (isMade && isMadeForCaller(value, device))
        continue;
      const uint32_t buffer = problem.values[value].buffer;
      if (buffer == noIndex || !isMade ||
          (!problem.values[value].isPart && isCopiedFrom(value, device))) {
        all.push_back({roundedBytes(value), span});
        continue;
      }
      auto [known, isNew] = buffers.try_emplace(buffer, roundedBytes(value), span);
      auto &[bytes, whole] = known->second;
      bytes = std::max(bytes, roundedBytes(value));
      whole = {std::min(whole.first, span.first), std::max(whole.second, span.second)};
    }
    for (const auto &[buffer, holding] : buffers)
      all.push_back(holding);
    return all;
  }

  Spans liveOn(uint32_t device) {
    Spans live;
    auto use = [&](uint32_t value, double end) {
      if (auto span = live.find(value); span != live.end())
        span->second.second = std::max(span->second.second, end);
    };
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      if (deviceOf(t) == device)
        for (uint32_t value : problem.tasks[t].outputs)
          live[value] = {schedule.start[t], schedule.end[t]};
    std::set<uint32_t> read;
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      if (deviceOf(t) == device)
        read.insert(problem.tasks[t].inputs.begin(), problem.tasks[t].inputs.end());
    // What is brought for the caller alone goes into the caller's memory.
    for (const AutoCopy &copy : schedule.copies)
      if (copy.to == device && read.count(copy.value))
        live[copy.value] = {copy.start, copy.end};
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      if (deviceOf(t) == device)
        for (uint32_t value : problem.tasks[t].inputs)
          use(value, schedule.end[t]);
    for (const AutoCopy &copy : schedule.copies)
      if (copy.from == device)
        use(copy.value, copy.end);
    return live;
  }

  uint64_t countPeak(uint32_t device) {
    std::set<uint32_t> constants;
    for (uint32_t t = 0; t < problem.tasks.size(); ++t)
      for (uint32_t value : problem.tasks[t].inputs)
        if (const AutoValue &v = problem.values[value];
            v.isConstant && (isStreamed(value) ? v.home : deviceOf(t)) == device)
          constants.insert(value);
    struct Change {
      double time;
      int64_t bytes;
    };
    std::vector<Change> changes;
    for (const auto &[bytes, span] : holdingsOn(device)) {
      changes.push_back({span.first, bytes});
      changes.push_back({span.second, -bytes});
    }
    std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) {
      return std::pair(a.time, a.bytes) < std::pair(b.time, b.bytes); // ends before beginnings
    });
    int64_t now = 0, most = 0;
    for (const Change &change : changes)
      most = std::max(most, now += change.bytes);
    for (uint32_t value : constants)
      most += roundedBytes(value);
    return static_cast<uint64_t>(most);
  }

  int64_t roundedBytes(uint32_t value) const {
    return static_cast<int64_t>((problem.values[value].bytes + 63) / 64 * 64);
  }

  const AutoProblem &problem;
  const AutoPlacement &placement;
  const AutoSchedule &schedule;
  std::vector<uint32_t> position, maker;
  std::map<std::pair<uint32_t, uint32_t>, double> arrival; ///< of copies: value, device
};
} // namespace

Status validateSchedule(const AutoProblem &problem, const AutoPlacement &placement,
                        const AutoSchedule &schedule) {
  return Judge(problem, placement, schedule).run();
}

} // namespace gantry::placement
