// Measures what `bench --ops` shows: times of the commands, and what the devices can do at best.
#pragma once

#include "Execution.h"
#include "OpTimes.h"

namespace gantry::tool {

/// The roofs of the plan's devices: the rates of its topology; those of hosts that it does not give
/// are measured, in about half a second.
std::vector<Roof> roofsFor(const Execution &execution);

/// Runs `runs` times, each command timed. On simulated devices once: all runs take the same.
Expected<OpTimes> measureOps(Execution &execution, size_t runs);

} // namespace gantry::tool
