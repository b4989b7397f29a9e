// Structured kernels (scan, sort, scatter, attention): one op that takes elements in an order of
// its own, as the code of threads; a file for each kind of op, and here what they have in common.
//
// Each kind says first how many threads a block has and then emits, between the loads and stores
// of whole buffers, what these threads do.
#pragma once

#include "Launch.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/LoopBuilder.h"

namespace gantry::gpu {

/// Threads of a block for each kind.
int64_t threadsOf(AttentionOp op);
int64_t threadsOf(CumsumOp op);
int64_t threadsOf(TopKOp op);
inline int64_t threadsOf(ScatterElementsOp) { return kMostThreads; }
inline int64_t threadsOf(ScatterNdOp) { return kMostThreads; }

/// Whether attention goes along its keys: in f32, with queries and values that shared memory holds.
/// Other attention is products and a softmax.
bool isByTiles(AttentionOp op);

/// How tensor cores compute attention: a warp has sixteen queries, a tile so many keys.
struct CoreAttentionTiles {
  int64_t warps, keys;

  int64_t threads() const { return warps * kWarp; }
};

/// Nothing for GPUs without them, and for other sizes and types than they have a kernel for.
std::optional<CoreAttentionTiles> coreTilesOf(AttentionOp op, int64_t arch);

void emit(AttentionOp op, Launch &launch);
void emit(AttentionOp op, const CoreAttentionTiles &tiles, Launch &launch);
void emit(CumsumOp op, Launch &launch);
void emit(TopKOp op, Launch &launch);
void emit(ScatterElementsOp op, Launch &launch);
void emit(ScatterNdOp op, Launch &launch);

/// The buffer of an operand: an argument of the kernel, or a constant that belongs to it, which the
/// module keeps.
Value bufferOf(Launch &launch, Value operand);

/// A tensor as lines along an axis, which all other dimensions number.
struct Lines {
  llvm::SmallVector<int64_t> others;
  unsigned axis;
  int64_t length;

  Lines(llvm::ArrayRef<int64_t> shape, unsigned axis);
  int64_t count() const;
  /// Indices of the elements of line `number`; the axis is left open.
  Indices take(Emitter &e, Value number) const;
  Indices element(Indices line, Value i) const {
    line[axis] = i;
    return line;
  }
};

void barrier(Emitter &e);

} // namespace gantry::gpu
