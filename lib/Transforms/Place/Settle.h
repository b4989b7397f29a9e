// After the solver: what has no node of its own. Results of control flow get homes, and generators
// go to their users.
#pragma once

#include "PlacementInput.h"
#include "gantry/Analysis/Homes.h"

namespace gantry::place {

/// What was decided, while it is written down.
struct Placed {
  const Input &in;
  llvm::ArrayRef<placement::Decision> decisions;
  llvm::ArrayRef<DeviceAttr> devices; ///< by number in the problem

  /// The device of an op that has a node, else null.
  DeviceAttr deviceOf(mlir::Operation *op) const;
};

/// Sets `gantry.homes` on branches and loops. The ops around and in them have their devices.
void settleHomes(const Placed &placed);

/// Puts each generator without a node on the devices of its users, a clone on each. Branches and
/// loops have their homes.
void placeGenerators(const Placed &placed);

} // namespace gantry::place
