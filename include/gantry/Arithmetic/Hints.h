// What those who write functions may know of an argument, and tell the arithmetic of it. A hint
// makes a function shorter and changes none of its bits; one that is lost on the way costs time
// only.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace gantry {

/// On a `math.exp`: its argument is at most 0, or NaN.
inline constexpr llvm::StringLiteral kAtMostZeroAttr = "gantry.at_most_zero";

} // namespace gantry
