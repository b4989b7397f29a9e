// What of a problem stays as it is while repetitions come and go.
#pragma once

#include "gantry/Remat/Remat.h"

#include <cstdint>
#include <vector>

namespace gantry::remat {

inline constexpr uint32_t none = UINT32_MAX;

struct Graph {
  explicit Graph(const Problem &problem);

  const Problem &problem;
  uint32_t numSteps, numValues;
  std::vector<uint32_t> maker;                ///< by value; none of given ones
  std::vector<std::vector<uint32_t>> readers; ///< by value, ascending
  std::vector<char> isKept;                   ///< by value
  /// By value: bytes that holding it takes, 0 of given ones.
  std::vector<int64_t> held;
  /// By value: whether it may lie in the place of a given one, itself or by its operand, in any
  /// answer.
  std::vector<char> mayBeFree;
  /// By step: the values whose copies change when it runs once more or once less. Those that it
  /// makes and reads, and results that may take the places of these.
  std::vector<std::vector<uint32_t>> affected;
  double seconds = 0; ///< of a run without repetitions

  bool isGiven(uint32_t value) const { return maker[value] == none; }
  const Step &makerOf(uint32_t value) const { return problem.steps[maker[value]]; }

private:
  void findFree();
  void findAffected();
};

} // namespace gantry::remat
