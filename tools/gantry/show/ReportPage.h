// The page of `gantry report`, as it lies in report.html.
#pragma once

#include <string_view>

namespace gantry::tool {

/// With the word GANTRY_REPORT_DATA where the JSON goes.
extern const std::string_view reportPage;

} // namespace gantry::tool
