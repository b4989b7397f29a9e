// The calling convention of CPU kernels: generated ones in a plan's code and registered ones alike.
#pragma once

#include "gantry/Support/Bytes.h"

#include <cstdint>

namespace gantry::runtime {

/// Computes work items `begin`..`end`-1. `buffers` are the operands, then the results, in the order
/// of the plan's launch command; those that begin a tensor are aligned to bufferAlignment. Any
/// partition of the items gives the same bytes, and calls for disjoint ranges may run at the same
/// time.
using KernelFn = void (*)(void *const *buffers, int64_t begin, int64_t end);

} // namespace gantry::runtime
