// The judge of answers, and of problems. It shares no code with the solvers, so that one mistake
// cannot hide in both: they keep a profile of levels, this plays the run copy by copy.
#include "gantry/Remat/Remat.h"

#include <algorithm>
#include <cmath>

namespace gantry::remat {

namespace {

template <typename T>
bool contains(const std::vector<T> &list, T element) {
  return std::ranges::find(list, element) != list.end();
}

std::string nameOf(const char *what, size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Whether all are values, none of them twice; else what is wrong.
std::string checkList(const Problem &problem, const std::vector<uint32_t> &values,
                      const std::string &who) {
  for (uint32_t value : values)
    if (value >= problem.bytes.size())
      return who + " value " + std::to_string(value) + ", and there are " +
             std::to_string(problem.bytes.size());
  std::vector<uint32_t> sorted = values;
  std::ranges::sort(sorted);
  auto twice = std::ranges::adjacent_find(sorted);
  return twice == sorted.end() ? "" : who + " value " + std::to_string(*twice) + " twice";
}

std::string checkStep(const Problem &problem, size_t index) {
  const Step &step = problem.steps[index];
  const std::string name = nameOf("step", index);
  if (!std::isfinite(step.seconds) || step.seconds < 0)
    return name + " takes " + std::to_string(step.seconds) + " seconds";
  for (auto [values, verb] : {std::pair(&step.reads, " reads"), std::pair(&step.makes, " makes"),
                              std::pair(&step.replaces, " replaces")})
    if (std::string wrong = checkList(problem, *values, name + verb); !wrong.empty())
      return wrong;
  for (uint32_t value : step.replaces)
    if (!contains(step.reads, value))
      return name + " replaces value " + std::to_string(value) + ", which it does not read";
  return "";
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

/// One copy of a value.
struct Copy {
  uint32_t value;
  size_t lastRun;       ///< that uses it: reads it, or made it
  bool isGiven = false; ///< takes no bytes: a given value, or in the place of one
};

/// The run as it is played: which step each of its runs is of, and which copies it uses.
struct Play {
  const Problem &problem;
  std::vector<uint32_t> steps; ///< by run
  std::vector<Copy> copies;
  std::vector<std::vector<size_t>> read, made; ///< copies by run, in the order of the step's lists
  double seconds = 0;
  uint64_t peak = 0;

  Play(const Problem &problem, const std::vector<Again> &again) : problem(problem) {
    order(again);
    makeCopies();
    hold();
  }

private:
  void order(const std::vector<Again> &again) {
    std::vector<std::vector<uint32_t>> inFront(problem.steps.size() + 1);
    for (const Again &one : again)
      inFront[one.before].push_back(one.step);
    for (uint32_t step = 0; step <= problem.steps.size(); ++step) {
      steps.insert(steps.end(), inFront[step].begin(), inFront[step].end());
      if (step < problem.steps.size())
        steps.push_back(step);
    }
  }

  /// Who makes and who uses each copy last.
  void makeCopies() {
    std::vector<bool> isMade(problem.bytes.size());
    for (const Step &step : problem.steps)
      for (uint32_t value : step.makes)
        isMade[value] = true;
    std::vector<size_t> latest(problem.bytes.size()); // copy by value
    for (uint32_t value = 0; value < problem.bytes.size(); ++value)
      if (!isMade[value]) {
        latest[value] = copies.size();
        copies.push_back({value, 0, true});
      }
    read.resize(steps.size());
    made.resize(steps.size());
    for (size_t run = 0; run < steps.size(); ++run) {
      const Step &step = problem.steps[steps[run]];
      seconds += step.seconds;
      for (uint32_t value : step.reads) {
        copies[latest[value]].lastRun = run;
        read[run].push_back(latest[value]);
      }
      for (uint32_t value : step.makes) {
        latest[value] = copies.size();
        made[run].push_back(copies.size());
        copies.push_back({value, run});
      }
    }
    for (uint32_t value : problem.kept)
      copies[latest[value]].lastRun = steps.size();
  }

  uint64_t bytesOf(size_t copy) const {
    return copies[copy].isGiven ? 0 : problem.bytes[copies[copy].value];
  }

  /// The copies of the run that lie in the place of an operand; those of given values are marked.
  std::vector<size_t> placeResults(size_t run) {
    const Step &step = problem.steps[steps[run]];
    std::vector<size_t> placed;
    for (uint32_t operand : step.replaces) {
      size_t from = read[run][std::ranges::find(step.reads, operand) - step.reads.begin()];
      if (copies[from].lastRun != run)
        continue;
      auto result = std::ranges::find_if(made[run], [&](size_t copy) {
        return problem.bytes[copies[copy].value] == problem.bytes[operand] &&
               !contains(placed, copy);
      });
      if (result == made[run].end())
        continue;
      copies[*result].isGiven = copies[from].isGiven;
      placed.push_back(*result);
    }
    return placed;
  }

  void hold() {
    uint64_t held = 0; // by copies that are used again
    for (size_t run = 0; run < steps.size(); ++run) {
      std::vector<size_t> placed = placeResults(run);
      uint64_t during = held + problem.steps[steps[run]].scratch;
      for (size_t copy : made[run])
        if (!contains(placed, copy))
          during += bytesOf(copy);
      peak = std::max(peak, during);
      for (size_t copy : made[run])
        if (copies[copy].lastRun > run)
          held += bytesOf(copy);
      for (size_t copy : read[run])
        if (copies[copy].lastRun == run)
          held -= bytesOf(copy);
    }
    peak = std::max(peak, held);
  }
};

} // namespace

std::string checkProblem(const Problem &problem) {
  constexpr uint64_t most = uint64_t(1) << 60;
  if (problem.steps.size() >= uint64_t(1) << 31)
    return std::to_string(problem.steps.size()) + " steps";
  uint64_t total = 0;
  auto add = [&](uint64_t bytes) {
    total += std::min(bytes, most);
    return total < most;
  };
  for (uint64_t bytes : problem.bytes)
    if (!add(bytes))
      return "the values have 2^60 bytes or more together";
  std::vector<bool> isMade(problem.bytes.size()), isRead(problem.bytes.size());
  double seconds = 0;
  for (size_t i = 0; i < problem.steps.size(); ++i) {
    const Step &step = problem.steps[i];
    if (std::string wrong = checkStep(problem, i); !wrong.empty())
      return wrong;
    if (!add(step.scratch))
      return nameOf("step", i) + ": values and scratch have 2^60 bytes or more together";
    for (uint32_t value : step.reads)
      isRead[value] = true;
    for (uint32_t value : step.makes) {
      if (isMade[value])
        return nameOf("step", i) + " makes " + nameOf("value", value) + ", as another step does";
      if (isRead[value])
        return nameOf("step", i) + " makes " + nameOf("value", value) + ", which is read before";
      isMade[value] = true;
    }
    seconds += step.seconds;
  }
  if (!std::isfinite(seconds))
    return "the steps take no finite number of seconds together";
  return checkList(problem, problem.kept, "kept are:");
}

std::string check(const Problem &problem, const Answer &answer) {
  if (std::string wrong = checkProblem(problem); !wrong.empty())
    return wrong;
  for (size_t i = 0; i < answer.again.size(); ++i) {
    const Again &again = answer.again[i];
    const std::string name = nameOf("repetition", i) + ": ";
    if (again.step >= problem.steps.size() || again.before > problem.steps.size())
      return name + nameOf("step", again.step) + " in front of " + std::to_string(again.before) +
             ", and there are " + std::to_string(problem.steps.size());
    if (again.before <= again.step)
      return name + nameOf("step", again.step) + " in front of " + std::to_string(again.before) +
             ", before it has run";
    if (!problem.steps[again.step].mayRepeat)
      return name + nameOf("step", again.step) + " may not run again";
  }
  Play play(problem, answer.again);
  if (play.peak != answer.peak)
    return "the peak is " + std::to_string(play.peak) + ", not " + std::to_string(answer.peak);
  if (play.seconds != answer.seconds)
    return "the run takes " + std::to_string(play.seconds) + " s, not " +
           std::to_string(answer.seconds);
  return "";
}

} // namespace gantry::remat
