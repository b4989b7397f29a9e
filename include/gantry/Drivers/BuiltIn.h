// The drivers that are built in, put together at one place.
#pragma once

#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Drivers/EmulatedDriver.h"
#include "gantry/Runtime/Runtime.h"

#include <optional>

namespace gantry::runtime {

/// A runtime with them: host, sim and cuda, which is emulated when that is asked for.
std::shared_ptr<Runtime> createRuntime(RuntimeOptions options = {},
                                       std::optional<EmulatorChecks> emulate = {},
                                       CUDAOptions cuda = {});

} // namespace gantry::runtime
