// Which convolutions may leave their borders out (docs/designs/cpu-contractions.md).
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Marks `made`, which is what `conv` becomes, if its border's zeros may be left out: where that
/// changes a bit, it is the sign of a sum of zero, and that must not be seen. What adds +0 for
/// that alone is dropped where the next addition hides the sign as well.
void allowSkippedBorder(ConvOp conv, ConvOp made);

/// Whether what a pad puts around its input are zeros, as convolutions add them.
bool addsZeros(PadOp pad);

} // namespace gantry
