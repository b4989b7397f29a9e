// Transposed convolutions as convolutions.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Puts a convolution without strides in the place of one whose window is a multiple of its
/// strides; others stay as they are.
void replaceByConvolution(ConvTransposeOp op);

} // namespace gantry
