// The ops of a way back, which are first built at the end of the region that they are of, where
// they see what they read; then they move into a branch or loop of their own, and what they read of
// the way there is kept: a branch yields it, a loop stacks a row of it in each round.
#pragma once

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"

#include "llvm/ADT/SetVector.h"

namespace gantry {

class WayBack {
public:
  /// Ops that come to the end of the block from now on are the way back.
  explicit WayBack(mlir::Block &block);

  /// After the way back was built; `gradients` are what it gives, or null.
  void finish(llvm::ArrayRef<mlir::Value> gradients);
  /// Values of the way there that it reads, which have to be kept. What is as cheap to have again
  /// is not among them, it has clones of that: constants, and slices of what comes from outside.
  llvm::ArrayRef<mlir::Value> getKept() const { return kept.getArrayRef(); }
  /// Puts it to the end of `to`; `values` stand for what it reads, in the order of getKept, also in
  /// `gradients`.
  void moveTo(mlir::Block &to, mlir::ValueRange values,
              llvm::MutableArrayRef<mlir::Value> gradients);

private:
  bool isThere(mlir::Value value) const;
  bool isCheap(mlir::Operation *op) const;
  void keep(mlir::OpOperand &use);
  mlir::Operation *cloneOf(mlir::Operation *op);

  mlir::Block &block;
  mlir::Operation *mark;
  llvm::SmallVector<mlir::Operation *> clones, ops;
  llvm::DenseSet<mlir::Operation *> own; ///< both
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> cloned;
  llvm::SetVector<mlir::Value> kept;
};

/// What the regions of `op` read from outside and somebody wants the gradient of.
llvm::SmallVector<mlir::Value> wantedFromOutside(mlir::Operation *op, GradientBuilder &b);

/// Gives the op's results to `made`, which has them in front of its own, and what the graph says of
/// it.
void takePlace(mlir::Operation *op, mlir::Operation *made, GradientBuilder &b);

} // namespace gantry
