// Teams of lanes that add up in the order that the reduction has (Order.h): what each lane takes of
// a row, and how partial sums meet, by shuffles in a warp and in shared memory beyond it.
#pragma once

#include "Kernel.h"
#include "Order.h"

namespace gantry::gpu {

/// Threads that add up together: `lanes` of them, `stride` apart.
struct Team {
  int64_t lanes = 1, stride = 1;
  Value lane;   ///< of this thread in its team
  int64_t rows; ///< of the whole kernel, for memory that is not shared
};

/// The elements of a row that are one lane's, in rounds of one piece.
class Share {
public:
  /// A row of elements of the given sizes. Unrolled, the same indices are given each time, so that
  /// what is known of an element stays known.
  Share(KernelEmitter &kernel, const Team &team, llvm::ArrayRef<int64_t> sizes, int64_t piece,
        bool isUnrolled);

  struct LanePiece {
    llvm::SmallVector<Indices> at; ///< of its elements, one index for each of the sizes
    Value isThere;                 ///< null when it always is; else indices are in bounds anyway
  };

  /// Emits a body for each of the lane's pieces. It has values to go on with and gives the next.
  using Body = llvm::function_ref<llvm::SmallVector<Value>(const LanePiece &, ValueRange)>;
  llvm::SmallVector<Value> forEach(ValueRange first, Body body);

private:
  LanePiece make(Value round);
  llvm::SmallVector<Value> rounds(int64_t begin, int64_t end, int64_t together, ValueRange first,
                                  Body body);

  KernelEmitter &kernel;
  Team team;
  llvm::SmallVector<int64_t> sizes;
  int64_t piece, pieces, wholeRounds;
  bool isUnrolled;
  std::vector<LanePiece> known;
};

/// The results of a reduction at its parallel `loops` (null where it reduces), in every lane of the
/// team. All threads of the block get here together.
llvm::SmallVector<Value> addUp(KernelEmitter &kernel, mlir::linalg::GenericOp op, ValueRange loops,
                               const Team &team, Share &share);

} // namespace gantry::gpu
