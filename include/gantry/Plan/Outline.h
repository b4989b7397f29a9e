// Outlines: plans to be told of and not to be run. They are there in a fraction of the time, since
// no code is made for them and no weights are copied.
//
// An outline is a plan file without segments: its code objects have no bytes, and code, constants
// and first values of variables lie in segment `nothingSaid`. Where in a segment the latter would
// lie is said, so that it is known how large the whole plan would be.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <cstdint>

namespace gantry::plan {

/// Whether some of the plan's bytes are left out.
bool isOutline(const fb::Plan &plan);

/// How many, but for those of code.
uint64_t bytesLeftOut(const fb::Plan &plan);

} // namespace gantry::plan
