// Ways back of convolutions as convolutions.
#pragma once

#include "gantry/Dialect/Gantry/IR/Gantry.h"

namespace gantry {

/// Puts a convolution without strides in the place of one that has none, or whose window is a
/// multiple of its strides; others stay as they are.
void replaceByConvolution(ConvTransposeOp op);

/// The same for the gradient of a filter of f32 with enough channels.
void replaceByConvolution(ConvFilterGradOp op);

} // namespace gantry
