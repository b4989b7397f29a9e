// For devices that are short of memory: what comes in from the host comes as early as there is
// room.
#pragma once

#include "gantry/Analysis/LiveRanges.h"

namespace gantry::memory {

/// Moves each copy into a transient buffer of `device` that brings what the host keeps (a constant,
/// or a value that was sent there) down to where, from then on until its last reader, no more than
/// `room` bytes live. First come those that are read first. What else lives is as `time` says. Each
/// is noted (kGatedAttr) to come after the launches of the device in front of it. Tells whether any
/// copy moved; what has no room anywhere stands in front of its first reader.
bool gateCopies(plan::ir::FuncOp func, mlir::StringAttr device, uint64_t room,
                const Timeline &time);

/// Takes the notes off: from now on, what shares bytes says what waits.
void ungateCopies(plan::ir::FuncOp func);

} // namespace gantry::memory
