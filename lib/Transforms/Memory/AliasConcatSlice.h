// Concat and slice aliasing: values are placed so that nothing needs to be moved.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

namespace gantry::memory {

/// Takes away launches that only join or cut buffers, and notes on these that they share bytes
/// (Analysis/SharedBuffers.h). What cannot share is copied.
///
/// It stays where one buffer could be written while another one of its bytes is still read, and
/// where more bytes would be live than at the fullest moment of its device.
void aliasConcatSlice(plan::ir::FuncOp func);

} // namespace gantry::memory
