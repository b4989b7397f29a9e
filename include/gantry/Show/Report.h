// A page for the browser with pictures of a plan, or of two: what runs where, when, and what lies
// where in memory.
#pragma once

#include "gantry/Show/Explain.h"
#include "gantry/Show/Measured.h"

#include <span>
#include <string>
#include <vector>

namespace gantry::show {

/// A plan, and what runs of its functions took: of each at most one.
struct Reported {
  const Subject &subject; ///< of its question only the function counts
  std::vector<Measured> measured;
};

/// HTML that stands on its own: it loads nothing, and draws what is in the data that is put into
/// it. Of two plans it shows also what differs.
std::string reportPage(std::span<const Reported> plans);

/// The data of one plan, a JSON object: what explainAsJson gives and, of each function, "summary",
/// "reasons", "values", "arenas" with their peaks, "commands" with what they read from, when they
/// run as predicted and what they took, and "repeats" of those. Of two an object with such "plans",
/// their "diff" as diffAsJSON gives it, and its "groups" in few rows.
std::string reportData(std::span<const Reported> plans);

} // namespace gantry::show
