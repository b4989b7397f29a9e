// Dynamic programming over chains, after Revolve and Rotor: which stages keep what the way back
// reads of them, which keep a part of it, and which only the value at their end. Optimal for the
// chain as its stages are measured; what else the run holds is taken as it is without repetitions.
#pragma once

#include "Schedule.h"

namespace gantry::remat {

/// Repetitions, by slot, then step, for several limits around the given one, since what stages hold
/// is an estimate. None where the run is no chain.
std::vector<std::vector<Again>> solveChain(const Schedule &plain, uint64_t limit);

} // namespace gantry::remat
