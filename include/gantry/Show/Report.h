// A page for the browser with pictures of a plan: what runs where, when, and what lies where in
// memory.
#pragma once

#include "gantry/Show/Explain.h"

#include <string>

namespace gantry::show {

/// HTML that stands on its own: it loads nothing, and draws what is in the data that is put into
/// it. Of Question only the function counts.
std::string reportPage(const Subject &subject);

/// That data, a JSON object: what explainAsJson gives and, of each function, "summary", "values",
/// "arenas" with their peaks, "commands" with what they read from and when they run as predicted,
/// and "repeats" of those.
std::string reportData(const Subject &subject);

} // namespace gantry::show
