// Where a function holds most on a device, and which ops around there can go through their rows in
// pieces, one piece after the other.
#pragma once

#include "gantry/Analysis/Homes.h"

#include "llvm/ADT/SetVector.h"

namespace gantry {

/// Ops that compute their results row by row from each other and from what is around them.
struct RowRegion {
  llvm::SetVector<mlir::Operation *> ops; ///< in the order of the block
  llvm::SetVector<mlir::Value> inputs;    ///< from outside, read row by row
  llvm::SetVector<mlir::Value> outputs;   ///< read outside
  mlir::Operation *next = nullptr;        ///< in front of which the pieces can stand
  int64_t batch = 0;                      ///< what the rows of all its values are multiples of
};

/// The region of ops on `device` that, in so many pieces, takes most off what the block holds where
/// that is most; none where no region takes a tenth off. What is in `done` stays as it is.
///
/// What is held is an estimate: values in the order of the block, from the op that makes them to
/// the last one that reads them, elementwise results in the place of an operand.
std::optional<RowRegion> findRowRegion(mlir::Block &block, DeviceAttr device, const Homes &homes,
                                       int64_t pieces,
                                       const llvm::DenseSet<mlir::Operation *> &done);

} // namespace gantry
