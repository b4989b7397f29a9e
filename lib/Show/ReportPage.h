// The page of a report, as it lies in Report/page.html, with style and scripts in it.
#pragma once

#include <string_view>

namespace gantry::show {

/// With the words GANTRY_REPORT_TITLE and GANTRY_REPORT_DATA where these go.
extern const std::string_view reportTemplate;

} // namespace gantry::show
