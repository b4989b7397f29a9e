// The best answer of a small problem by Dijkstra's algorithm over everything that a run can be in:
// how many steps ran, which values are held, which of these lie in the place of a given one. It
// knows nothing of last readers: values are dropped whenever that may help.
#pragma once

#include "gantry/Remat/Remat.h"

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
  double fewestSeconds(uint64_t limit) { return search(limit, false); }
  /// The least peak of all runs.
  uint64_t leastPeak() { return uint64_t(search(UINT64_MAX, true)); }

  size_t states = 0; ///< that were looked at

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
    bool operator<(const Entry &other) const { return cost > other.cost; }
  };

  const remat::Problem &problem;
  std::vector<uint64_t> made, read; ///< by step
  uint64_t allMade = 0, kept = 0;
  std::priority_queue<Entry> queue;
  std::unordered_map<State, double, Hash> costs;

  static uint64_t bit(uint32_t value) { return uint64_t(1) << value; }

  uint64_t bytesOf(uint64_t values, uint64_t free) const {
    uint64_t sum = 0;
    for (values &= allMade & ~free; values != 0; values &= values - 1)
      sum += problem.bytes[uint32_t(__builtin_ctzll(values))];
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

  /// Every way in which a step can run: with any of the operands that it replaces ending.
  void run(const State &from, double cost, uint32_t index, uint64_t limit, bool forPeak) {
    const remat::Step &step = problem.steps[index];
    if ((read[index] & ~from.held) != 0)
      return;
    const bool isNext = index == from.ran;
    const uint32_t ran = from.ran + isNext;
    const uint64_t useful = usefulAfter(ran);
    for (uint32_t choice = 0; choice < 1u << step.replaces.size(); ++choice) {
      uint64_t held = from.held & ~made[index], free = from.free & ~made[index];
      uint64_t ended = 0, placed = 0, madeFree = 0;
      for (size_t i = 0; i < step.replaces.size(); ++i) {
        if (!(choice >> i & 1))
          continue;
        uint32_t operand = step.replaces[i];
        ended |= bit(operand);
        for (uint32_t result : step.makes)
          if (!(placed & bit(result)) && problem.bytes[result] == problem.bytes[operand]) {
            placed |= bit(result);
            if (!(allMade & bit(operand)) || (free & bit(operand)))
              madeFree |= bit(result);
            break;
          }
      }
      uint64_t during = bytesOf(held, free) + bytesOf(made[index] & ~placed, 0) + step.scratch;
      if (during > limit)
        continue;
      State next{ran, ((held & ~ended) | made[index]) & (useful | ~allMade), 0};
      next.free = (free | madeFree) & next.held;
      reach(next, forPeak ? std::max(cost, double(during)) : cost + step.seconds);
    }
  }

  double search(uint64_t limit, bool forPeak) {
    queue = {};
    costs.clear();
    uint64_t given = 0;
    for (uint32_t value = 0; value < problem.bytes.size(); ++value)
      given |= bit(value);
    reach({0, given & ~allMade, 0}, 0);
    while (!queue.empty()) {
      auto [cost, state] = queue.top();
      queue.pop();
      if (costs[state] < cost)
        continue;
      ++states;
      if (state.ran == problem.steps.size() && (kept & ~state.held) == 0) {
        return cost;
      }
      for (uint32_t index = 0; index <= state.ran && index < problem.steps.size(); ++index)
        if (index == state.ran || problem.steps[index].mayRepeat)
          run(state, cost, index, limit, forPeak);
      for (uint64_t values = state.held & allMade & ~state.free; values != 0;
           values &= values - 1) {
        uint64_t dropped = values & -values;
        if (problem.bytes[uint32_t(__builtin_ctzll(dropped))] > 0)
          reach({state.ran, state.held & ~dropped, state.free & ~dropped}, cost);
      }
    }
    return never;
  }
};

} // namespace gantry::test
