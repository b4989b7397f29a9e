// What the pictures of one plan are drawn from.
#pragma once

#include "gantry/Show/Report.h"

namespace gantry::show {

/// The object of reportData for one plan.
std::string planData(const Reported &reported);

} // namespace gantry::show
