// What lib/Show says of a plan, as wide as the terminal, and where it goes.
#pragma once

#include "Options.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/Reports.h"
#include "gantry/Show/Text.h"

namespace gantry::tool {

using namespace show;

/// Columns of standard output: COLUMNS if that is a number, else those of the terminal, else
/// show::defaultWidth. Nothing that is printed is wider, as far as words allow.
size_t outputWidth();

/// The lines of a table on standard output.
std::string linesOf(const Table &table);

/// What the compiler remarked when it made the plan, on standard error, a line each.
void printRemarks(const plan::fb::Plan &plan);

/// On standard error: the placement log of every function, or of the named one.
void printPlacementLog(const plan::fb::Plan &plan, const std::string &function, PlacementLog style);

} // namespace gantry::tool
