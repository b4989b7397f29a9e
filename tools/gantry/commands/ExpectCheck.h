// Outputs against values from elsewhere: --expect.
#pragma once

#include "Execution.h"

namespace gantry::tool {

/// Compares each output that has a reference with it: by the largest value (spec R5), or element by
/// element where --rtol or --atol is given. A line each on standard error; false when one differs.
Expected<bool> checkExpected(const Options &options, Execution &execution,
                             const std::vector<std::optional<GivenArray>> &references);

} // namespace gantry::tool
