// When the buffers of a function live: the numbers of its commands, and of each buffer the first
// and the last.
#pragma once

#include "gantry/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/DenseMap.h"

namespace gantry::memory {

/// Numbers of a function's commands in program order, nested ones in their place.
struct Timeline {
  llvm::DenseMap<mlir::Operation *, uint32_t> at;  ///< first number of a command
  llvm::DenseMap<mlir::Operation *, uint32_t> end; ///< one past the last, nested ones included
  llvm::SmallVector<mlir::Operation *> ops;        ///< by number

  explicit Timeline(planir::FuncOp func) { number(func.getBody()); }

private:
  void number(mlir::Region &region);
};

/// Half-open; empty for a buffer that nothing uses.
struct LiveRange {
  uint32_t first = 0, last = 0;
};

/// Over the numbers of the buffer's users, widened to the whole of each loop that uses it but does
/// not contain its declaration.
LiveRange liveRange(planir::BufferDeclOp buffer, const Timeline &time);

} // namespace gantry::memory
