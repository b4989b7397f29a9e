// Buffers that share bytes because one holds what is a part of the other: an operand of a
// concatenation in the place of its result, a slice where it was cut (docs/designs/memory.md).
//
// Two notes say what a launch only moves. Where Memory moves nothing for it, the buffers get a note
// instead: the number of the whole that they are of, and the byte of it that they begin at. The
// whole is the first one in its function, and begins at 0.
#pragma once

#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Dialect/Gantry/IR/Attributes.h"

namespace gantry::memory {

struct Share {
  int64_t whole;
  uint64_t begin;
};
/// Nothing for a buffer that has its bytes alone.
std::optional<Share> shareOf(plan::ir::BufferDeclOp buffer);
void setShare(plan::ir::BufferDeclOp buffer, Share share);

uint64_t beginOf(plan::ir::OutputOp output);
void setBegin(plan::ir::OutputOp output, uint64_t begin);

/// What gets a place: a buffer, and those that lie in it.
struct Whole {
  plan::ir::BufferDeclOp buffer;
  llvm::SmallVector<plan::ir::BufferDeclOp, 0> parts;

  /// While any of them lives.
  LiveRange live(const Timeline &time) const;
};

/// In the order of the function.
llvm::SmallVector<Whole> wholesOf(plan::ir::FuncOp func);

} // namespace gantry::memory
