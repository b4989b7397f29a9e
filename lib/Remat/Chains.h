// Dynamic programming over chains (Revolve, Rotor). A run is cut where one value alone goes on to
// what comes behind it on the way there; what is between two cuts, a stage, is run again from the
// value at its beginning. Which stages keep what the way back reads of them, which keep a part of
// it and which only the value at their end is optimal for the chain; what else the run holds is
// taken as it was.
#pragma once

#include "Schedule.h"

namespace gantry::remat {

/// Repetitions for several limits around the given one, since what stages hold is estimated: the
/// first for the limit itself. None where the run is no chain.
std::vector<std::vector<Again>> solveChain(const Schedule &plain, uint64_t limit);

} // namespace gantry::remat
