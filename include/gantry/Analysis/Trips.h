// How often loops go round, where that is known when compiling.
//
// Such a loop carries a counter that starts at a constant and gets a constant more each time, and
// goes on while the counter is on the right side of a constant, and nothing else ends it.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// How often the body of the loop runs; nothing where that is not known.
std::optional<int64_t> tripsOf(WhileOp loop);

} // namespace gantry
