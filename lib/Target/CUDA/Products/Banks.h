// Shared memory has 32 banks of four bytes: lanes of a warp that want different words of one bank
// wait for each other. What lanes want is known when code is made, so that the space between lines
// can be chosen by counting.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace gantry::gpu {

/// How often the banks are gone over for an access of `bytes` a lane, at these places in bytes.
int64_t countPasses(llvm::ArrayRef<int64_t> places, int64_t bytes);

/// The same for the first warp, at a place for each of its lanes.
int64_t countPasses(llvm::function_ref<int64_t(int64_t lane)> place, int64_t bytes);

/// The stride of lines of `length`, a multiple of `step` and at most `most` longer, that costs
/// least; of those the smallest.
int64_t chooseStride(int64_t length, int64_t step, int64_t most,
                     llvm::function_ref<int64_t(int64_t)> cost);

} // namespace gantry::gpu
