// Products of int8 whose factors are both computed.
#pragma once

#include "Requantization.h"

namespace gantry {

/// The sums, in i32, of centred bytes times centred bytes that no constant decides; null where
/// there is no such form: each side has one zero point at most.
mlir::Value sumComputedInt8(MatmulOp op, const Centred &left, const Centred &right, Maker &b);

} // namespace gantry
