// In which order the terms of a reduction are added up, and how two partial results become one.
//
// The order is a property of the reduction alone: of its loops, its type and what it reads first,
// never of the ops around it or of the way that computes it. So a kernel gives the same bits
// whatever it was fused with. A *team* of lanes takes pieces of neighbouring terms in turns: lane l
// of n has pieces l, l + n, l + 2n, ... and adds them one after the other; then the lanes' sums are
// joined by twos, fours, eights.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace gantry::gpu {

struct Order {
  int64_t lanes = 1;        ///< a power of two; one adds up in order
  int64_t piece = 1;        ///< terms that a lane takes together
  bool isAlongRows = false; ///< neighbouring terms are neighbours in memory

  bool operator==(const Order &) const = default;
};

/// Lanes of a team are never more.
inline constexpr int64_t kMostLanes = 512;

/// Whether teams may add up the op's terms: some operand has an element for each (a product of
/// matrices has none), and partial results can be joined.
bool isJoined(mlir::linalg::GenericOp op);

/// One lane for what is not joined.
Order orderOf(mlir::linalg::GenericOp op);

/// The same of a row of `count` terms, of which `inner` follow each other, summed in so many bits.
Order orderOfRow(int64_t count, int64_t inner, int64_t bits);

/// Sizes of the loops that reduce, and how many iterations they have together.
llvm::SmallVector<int64_t> termSizesOf(mlir::linalg::GenericOp op);
int64_t termsOf(mlir::linalg::GenericOp op);

/// Joins two partial results of a reduction: by the op that takes each term, or, of the best
/// element and its place, by the comparison that prefers one of them.
class Joiner {
public:
  static std::optional<Joiner> of(mlir::linalg::GenericOp op);

  /// The partial result of no terms; null where that is what the reduction starts with.
  mlir::Value neutral(mlir::ImplicitLocOpBuilder &b) const;
  llvm::SmallVector<mlir::Value> join(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange x,
                                      mlir::ValueRange y) const;

private:
  mlir::Value isBetter(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value than) const;

  mlir::linalg::GenericOp op;
  mlir::Operation *last = nullptr;
  mlir::Value better, candidate; ///< of a best element: whether it is, and the element
};

} // namespace gantry::gpu
