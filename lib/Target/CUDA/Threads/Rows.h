// A row of elements, the reductions over it and what is computed from these, by one team of lanes.
//
// Unrolled, a lane's elements are values: what one reduction has read or computed, the next and the
// result take from registers. Rows of more elements than fit there are read again by each.
#pragma once

#include "Sums.h"

namespace gantry::gpu {

class Rows {
public:
  /// Rows of `tensor`, which `dims` number. Of `kept` the reductions count. `ops` are all that
  /// is computed for a row.
  Rows(Value tensor, llvm::ArrayRef<Kept> kept, llvm::ArrayRef<unsigned> dims,
       llvm::ArrayRef<mlir::linalg::GenericOp> ops);

  /// Whether all reductions have one value for each row, over elements that are shared among lanes
  /// alike.
  bool apply() const { return doApply; }
  int64_t count() const { return rows; }
  const Order &order() const { return theOrder; }
  llvm::ArrayRef<int64_t> sizes() const { return rowSizes; }

  /// What is written over: nothing that a row is computed from, an argument perhaps, or what the
  /// row is computed from, in shared memory.
  enum class Overwrites { nothing, argument, row };

  /// The row that is computed: the indices of its dimensions in the tensor, and whether it is
  /// there; null when it always is.
  struct Row {
    llvm::SmallVector<Value> at;
    Value isThere;
    Overwrites overwrites;
  };
  using Write = llvm::function_ref<void(const Indices &, Value)>;
  /// Every thread of the block gets here; `write` is given each element of the row.
  void emit(KernelEmitter &kernel, const Team &team, const Row &row, Write write);

private:
  bool isUnrolled() const;
  void readAhead(KernelEmitter &kernel, Share &share);
  Indices placeOf(const Indices &inner) const;
  void keep(KernelEmitter &kernel, const Kept &kept, const Team &team, Share &share);
  void writeElements(KernelEmitter &kernel, const Team &team, Share &share, Write write);
  void writePiece(KernelEmitter &kernel, const Share::LanePiece &piece, Write write);

  Value tensor;
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  llvm::SmallVector<Kept> kept; ///< the reductions
  llvm::SmallVector<unsigned> rowDims, innerDims;
  llvm::SmallVector<int64_t> rowSizes, innerSizes, terms;
  Order theOrder;
  int64_t rows = 1;
  bool doApply = false;

  Indices at; ///< of the tensor; those of the row are known
};

} // namespace gantry::gpu
