// The same graph planned for several numbers of tasks, side by side: what more workers would bring.
#pragma once

#include "gantry/Show/Explain.h"

#include <map>
#include <string>
#include <vector>

namespace gantry::show {

/// What a run of a function is predicted to take, by the plan's own clock and ledger.
struct ScalingPoint {
  double step = 0;                      ///< seconds
  double compute = 0;                   ///< of the device that computes longest
  double exchange = 0;                  ///< of the task that is longest in exchanges with others
  double hidden = 0;                    ///< of these, those in which a device of the task computes
  uint64_t sent = 0;                    ///< bytes of the task that sends most
  std::map<DeviceType, uint64_t> peaks; ///< bytes of the fullest device of each type
};
ScalingPoint scalingPointOf(const Subject &subject, const plan::fb::Function &function);

/// A number of tasks, and what its plan says by function, or why there is none.
struct ScalingRow {
  uint32_t tasks = 0;
  std::string failure;
  std::map<std::string, ScalingPoint> functions;
};

/// A table for each function. Efficiency is that of strong scaling, since a graph's shapes are
/// those of all tasks together: of n tasks with steps of T(n), n0 T(n0) / (n T(n)), n0 the first
/// number of tasks that has a plan.
std::string scalingForPeople(const std::vector<ScalingRow> &rows, size_t width);
/// {"rows": [{"tasks", "functions": [{"function", "predicted_seconds", ...}]}, {"tasks", "error"}]}
std::string scalingAsJson(const std::vector<ScalingRow> &rows);

} // namespace gantry::show
