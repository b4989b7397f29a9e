// Attributes that passes leave for later ones: what a graph's author does not write, and what is
// lost by the time that it is needed.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace gantry {

/// Of an op that was made as a part of its user: which part. Until it has a name.
inline constexpr llvm::StringLiteral kPartAttr = "gantry.part";
/// Of a gantry.while: how often its body is known to run.
inline constexpr llvm::StringLiteral kTripsAttr = "gantry.trips";

} // namespace gantry
