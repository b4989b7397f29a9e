// The processes of a job as threads of one process, for tests: no launcher, no library.
#pragma once

#include "gantry/Runtime/Transport.h"

namespace gantry::runtime {

/// One transport for each of `ranks` threads. They move bytes by copying them, as soon as all
/// members of an exchange have begun it.
std::vector<std::unique_ptr<Transport>> makeProcessTransports(uint32_t ranks);

} // namespace gantry::runtime
