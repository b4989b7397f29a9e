// For devices that are short of memory: copies that come in as late as they can, and that go out as
// early.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

namespace gantry::memory {

/// Whether it is a copy from another device into a buffer that Memory places on `device`.
bool comesIn(plan::ir::CopyOp copy, mlir::StringAttr device);

/// Makes a copy for each value of the transfers into such buffers: each can come when it is needed.
/// Gives all copies into them.
llvm::SmallVector<plan::ir::CopyOp> separateCopies(plan::ir::FuncOp func, mlir::StringAttr device);

/// Moves each copy into a transient buffer of `device` down to where `ahead` launches are left
/// before the first command that uses the buffer (or to the end of its segment), past nothing that
/// writes its source. Tells whether any copy moved. The buffers wait at the other end instead.
bool delayCopies(plan::ir::FuncOp func, mlir::StringAttr device, unsigned ahead);

/// Moves each copy out of a transient buffer of `device` up, to where one launch runs between what
/// makes the value and the copy: what is made meanwhile waits. Tells whether any copy moved.
bool hurryCopies(plan::ir::FuncOp func, mlir::StringAttr device);

} // namespace gantry::memory
