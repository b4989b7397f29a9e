// The metadata behind a plan's handle, for the parts of the runtime library that tell of plans.
#pragma once

#include "gantry-c/runtime.h"
#include "gantry/Plan/PlanFile.h"

namespace gantry::capi {

const plan::fb::Plan &metadataOf(const gantry_plan_t &plan);

} // namespace gantry::capi
