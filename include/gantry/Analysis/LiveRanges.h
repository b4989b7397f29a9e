// When the buffers of a function live: the numbers of its commands, and of each buffer the first
// and the last.
#pragma once

#include "gantry/Analysis/Segments.h"
#include "gantry/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/DenseMap.h"

namespace gantry::memory {

/// Numbers of a function's commands in program order, nested ones in their place.
///
/// With costs, a command ends where the first one stands that is predicted to start after it is
/// done: what runs at the same time on other queues lies between. Without, one past its own number,
/// as if one queue ran all.
struct Timeline {
  llvm::DenseMap<mlir::Operation *, uint32_t> at;  ///< first number of a command
  llvm::DenseMap<mlir::Operation *, uint32_t> end; ///< one past the last, nested ones included
  llvm::SmallVector<mlir::Operation *> ops;        ///< by number

  explicit Timeline(plan::ir::FuncOp func, const schedule::CommandCosts *costs = nullptr);

private:
  void number(mlir::Region &region);
  void stretch(llvm::ArrayRef<mlir::Operation *> commands, const schedule::CommandCosts &costs);
};

/// Half-open; empty for a buffer that nothing uses.
struct LiveRange {
  uint32_t first = 0, last = 0;
};

/// Over the numbers of the buffer's users, widened to the whole of each loop that uses it but does
/// not contain its declaration.
LiveRange liveRange(plan::ir::BufferDeclOp buffer, const Timeline &time);

/// Of a plan.arena of transient values: how many bytes more its device would have to have, so that
/// nothing waits for memory that is in use at the predicted time.
inline constexpr llvm::StringLiteral kShortAttr = "plan.short";

/// Of the same, where what the host keeps comes in as early as there is room for it: one part of
/// the room in so many is lost between buffers; 0: none.
inline constexpr llvm::StringLiteral kLostAttr = "plan.lost";

/// Bytes of the inputs and outputs on a device, of the function that has most of them there: they
/// are bound per run and count against its limit.
uint64_t boundBytes(mlir::ModuleOp module, mlir::StringAttr device);

} // namespace gantry::memory
