// What the passes that make a plan fit share.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace gantry {

/// Why a weight is copied in each run, in the ledger and in `explain`.
inline constexpr llvm::StringLiteral kMemoryLimitCause = "the memory limit";

/// Why the slices and joins of a batch in pieces are where they are.
inline constexpr llvm::StringLiteral kBatchSplitReason = "beside the pieces of the batch";

/// Why ops run on another device than they would with more memory.
inline constexpr llvm::StringLiteral kMovedReason = "where there is room";

/// Why an operand is there in panels, too, which a plan can do without.
inline constexpr llvm::StringLiteral kPackedReason = "packed once for the products that read it";

/// Behind the name of an op that computes a value again; a number follows.
inline constexpr llvm::StringLiteral kAgainSuffix = "/again_";

} // namespace gantry
