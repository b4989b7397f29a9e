// The page of a report, as it lies in report.html with report-memory.js in it.
#pragma once

#include <string_view>

namespace gantry::show {

/// With the word GANTRY_REPORT_DATA where the JSON goes.
extern const std::string_view reportTemplate;

} // namespace gantry::show
