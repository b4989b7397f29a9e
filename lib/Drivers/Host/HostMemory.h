// How much memory the machine, or the container that we are in, has and has free.
#pragma once

#include "gantry/Runtime/Driver.h"

namespace gantry::runtime {

/// From /proc/meminfo (MemTotal, MemAvailable), lowered to what the cgroup of the process allows.
Expected<MemoryInfo> readHostMemory();

} // namespace gantry::runtime
