// The drivers that are built in, put together at one place.
#pragma once

#include "gantry/Runtime/Runtime.h"

namespace gantry::runtime {

/// A runtime with them: host, sim.
std::shared_ptr<Runtime> createRuntime(RuntimeOptions options = {});

} // namespace gantry::runtime
