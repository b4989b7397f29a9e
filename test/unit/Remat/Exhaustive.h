// The best answer of a small problem by Dijkstra's algorithm over everything that a run can be in:
// how many steps ran, which values are held, which of these lie in the place of a given one. It
// knows nothing of last readers: a value is dropped when there is no room for what runs next, in
// every way that makes just enough room.
#pragma once

#include "gantry/Remat/Remat.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>

namespace gantry::test {

class Exhaustive {
public:
  explicit Exhaustive(const remat::Problem &problem) : problem(problem) {
    for (const remat::Step &step : problem.steps) {
      uint64_t makes = 0, reads = 0;
      for (uint32_t value : step.makes)
        makes |= bit(value);
      for (uint32_t value : step.reads)
        reads |= bit(value);
      made.push_back(makes);
      read.push_back(reads);
      allMade |= makes;
    }
    for (uint32_t value : problem.kept)
      kept |= bit(value);
  }

  static constexpr double never = std::numeric_limits<double>::infinity();

  /// Seconds of the fastest run within the limit; `never` without one.
  double fewestSeconds(uint64_t limit) {
    double seconds = secondsAgain(limit);
    for (const remat::Step &step : problem.steps)
      seconds += step.seconds;
    return seconds;
  }

  /// The least peak of all runs.
  uint64_t leastPeak() {
    uint64_t low = 0, high = 0; // the peak is in [low, high]
    for (uint64_t bytes : problem.bytes)
      high += bytes;
    for (const remat::Step &step : problem.steps)
      high += step.scratch;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (secondsAgain(middle) == never)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

private:
  struct State {
    uint32_t ran;
    uint64_t held, free;
    bool operator==(const State &) const = default;
  };
  struct Hash {
    size_t operator()(const State &s) const {
      uint64_t x = s.held * 0x9E3779B97F4A7C15ull ^ (s.free + s.ran) * 0xBF58476D1CE4E5B9ull;
      return size_t(x ^ x >> 29);
    }
  };
  struct Entry {
    double cost;
    State state;
    bool operator<(const Entry &other) const {
      return cost != other.cost ? cost > other.cost : state.ran < other.state.ran;
    }
  };

  const remat::Problem &problem;
  std::vector<uint64_t> made, read; ///< by step
  uint64_t allMade = 0, kept = 0;
  std::priority_queue<Entry> queue;
  std::unordered_map<State, double, Hash> costs;

  static uint64_t bit(uint32_t value) { return uint64_t(1) << value; }

  template <typename Visit>
  static void forEach(uint64_t values, Visit &&visit) {
    for (; values != 0; values &= values - 1)
      visit(uint32_t(std::countr_zero(values)));
  }

  uint64_t bytesOf(uint64_t values, uint64_t free) const {
    uint64_t sum = 0;
    forEach(values & allMade & ~free, [&](uint32_t value) { sum += problem.bytes[value]; });
    return sum;
  }

  /// What may still be of use once so many steps ran.
  uint64_t usefulAfter(uint32_t ran) const {
    uint64_t useful = kept;
    for (uint32_t step = uint32_t(problem.steps.size()); step-- > 0;)
      if (step >= ran || (problem.steps[step].mayRepeat && (made[step] & useful)))
        useful |= read[step];
    return useful;
  }

  void reach(const State &state, double cost) {
    auto [place, isNew] = costs.try_emplace(state, cost);
    if (!isNew && place->second <= cost)
      return;
    place->second = cost;
    queue.push({cost, state});
  }

  /// Drops values in every way that frees so many bytes and no value too many.
  void drop(const State &state, double cost, const std::vector<uint32_t> &values, size_t at,
            uint64_t missing, uint64_t freed, uint64_t least) {
    if (freed >= missing) {
      if (missing == 0 || freed - least < missing)
        reach(state, cost);
      return;
    }
    if (at == values.size())
      return;
    const uint64_t bytes = problem.bytes[values[at]];
    drop({state.ran, state.held & ~bit(values[at]), state.free}, cost, values, at + 1, missing,
         freed + bytes, std::min(least, bytes));
    drop(state, cost, values, at + 1, missing, freed, least);
  }

  /// Every way in which a step can run: with any of the operands that it replaces ending.
  void run(const State &from, double cost, uint32_t index, uint64_t limit) {
    const remat::Step &step = problem.steps[index];
    if ((read[index] & ~from.held) != 0)
      return;
    const bool isNext = index == from.ran;
    const uint32_t ran = from.ran + isNext;
    const uint64_t useful = usefulAfter(ran);
    const uint64_t before = from.held & ~made[index];
    for (uint32_t choice = 0; choice < 1u << step.replaces.size(); ++choice) {
      uint64_t ended = 0, placed = 0, free = from.free & before;
      for (size_t i = 0; i < step.replaces.size(); ++i) {
        if (!(choice >> i & 1))
          continue;
        const uint32_t operand = step.replaces[i];
        ended |= bit(operand);
        for (uint32_t result : step.makes)
          if (!(placed & bit(result)) && problem.bytes[result] == problem.bytes[operand]) {
            placed |= bit(result);
            if (!(allMade & bit(operand)) || (free & bit(operand)))
              free |= bit(result);
            break;
          }
      }
      const uint64_t during =
          bytesOf(before, free) + bytesOf(made[index] & ~placed, 0) + step.scratch;
      State next{ran, ((before & ~ended) | made[index]) & (useful | ~allMade), 0};
      next.free = free & next.held;
      const double more = cost + (isNext ? 0 : step.seconds);
      std::vector<uint32_t> droppable;
      forEach(before & allMade & ~free & ~read[index], [&](uint32_t value) {
        if (problem.bytes[value] > 0)
          droppable.push_back(value);
      });
      drop(next, more, droppable, 0, during > limit ? during - limit : 0, 0, UINT64_MAX);
    }
  }

  /// Seconds of repetitions alone: what runs once costs nothing, so that few states are looked at.
  double secondsAgain(uint64_t limit) {
    queue = {};
    costs.clear();
    uint64_t all = 0;
    for (uint32_t value = 0; value < problem.bytes.size(); ++value)
      all |= bit(value);
    reach({0, all & ~allMade, 0}, 0);
    while (!queue.empty()) {
      const auto [cost, state] = queue.top();
      queue.pop();
      if (costs[state] < cost)
        continue;
      if (state.ran == problem.steps.size() && (kept & ~state.held) == 0)
        return cost;
      for (uint32_t index = 0; index <= state.ran && index < problem.steps.size(); ++index)
        if (index == state.ran || problem.steps[index].mayRepeat)
          run(state, cost, index, limit);
    }
    return never;
  }
};

} // namespace gantry::test
