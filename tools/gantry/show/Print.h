// What lib/Show says of a plan, on standard error.
#pragma once

#include "Options.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/Reports.h"

namespace gantry::tool {

using namespace show;

/// What the compiler remarked when it made the plan, a line each.
void printRemarks(const plan::fb::Plan &plan);

/// The placement log of every function, or of the named one.
void printPlacementLog(const plan::fb::Plan &plan, const std::string &function, PlacementLog style);

} // namespace gantry::tool
