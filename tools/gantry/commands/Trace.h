// What ran when, as JSON of the trace event format, which ui.perfetto.dev and chrome://tracing
// draw.
//
// A process for each device and one for the runs; in it a track for each queue. On a queue a slice
// is a launch, copy or fill, with what the plan says of it.
#pragma once

#include "gantry/Plan/Plan_generated.h"
#include "gantry/Runtime/Executor.h"

#include <span>
#include <string>
#include <vector>

namespace gantry::tool {

/// A run as it was seen; seconds since the first began.
struct TracedRun {
  double start = 0;
  double end = 0;
  std::vector<runtime::CommandEvent> events; ///< their times are since `start`
};

/// `function` is of `plan`, and the events are its commands.
std::string traceAsJSON(const plan::fb::Plan &plan, const plan::fb::Function &function,
                        std::span<const TracedRun> runs);

} // namespace gantry::tool
