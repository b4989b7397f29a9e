// Copies from global to shared memory that a thread does not wait for (`cp.async`, from sm_80 on).
//
// What a thread has asked for since the last `closeCopies` is a group; `waitForCopies` says how
// many of the last groups may still be on their way. Other threads see the bytes behind a barrier.
#pragma once

#include "Elements.h"

namespace gantry::gpu {

/// From `from` to `to`, which are in one line, `count` elements: 4, 8 or 16 bytes, and at both ends
/// where such an access may begin. Where `isThere`, which may be null, does not hold, zeros are
/// written instead and nothing is read.
void copyLater(mlir::ImplicitLocOpBuilder &b, Value from, Value fromAt, Value to, Value toAt,
               int64_t count, Value isThere = Value());

void closeCopies(mlir::ImplicitLocOpBuilder &b);
void waitForCopies(mlir::ImplicitLocOpBuilder &b, int64_t groupsLeft);

/// The pointers that copies take of buffers become those of their descriptors, whose indices have
/// that width. An index of a narrow module would not hold an address.
void lowerPointers(mlir::Operation *module, unsigned indexBits);

} // namespace gantry::gpu
