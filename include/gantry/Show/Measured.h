// What the commands of a function took in real runs, to stand beside what is predicted: from
// `gantry bench --ops --json` or `gantry run --trace`, or from moments of a session.
#pragma once

#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gantry::show {

struct MeasuredCommand {
  double seconds = 0; ///< in a run, its passes of a loop together; of several runs the median
  /// Of a run that is shown as an example, seconds since it began; of a loop the first pass. None
  /// where commands were timed one by one.
  std::optional<std::pair<double, double>> moment;
};

struct Measured {
  std::string function; ///< of the plan
  uint64_t runs = 1;    ///< in which commands were timed
  double seconds = 0;   ///< of a run as a whole, the median; 0: not known
  std::unordered_map<const plan::fb::Command *, MeasuredCommand> commands;
};

/// Reads the JSON of `bench --ops` or a trace. INVALID_ARGUMENT for what is neither, and where it
/// is of another plan: commands that this one does not have, or has under other names.
Expected<Measured> readMeasured(std::string_view json, const plan::fb::Plan &plan);

/// Of one run, whose commands were done at these moments.
Measured measuredOf(const plan::fb::Function &function, std::span<const plan::Moment> moments);

} // namespace gantry::show
