// What Place is asked from outside the graph, parsed, and what can be asked about placements.
#pragma once

#include "gantry/Placement/Lock.h"
#include "gantry/Placement/Placement.h"
#include "gantry/Placement/Rules.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace gantry {

struct PlacementRequests {
  bool follow = false; ///< ops without a request go to their largest inputs
  bool soft = false;   ///< what requests are that do not say (spec P5)
  std::vector<placement::Rule> rules;
  placement::Lock lock;
  placement::Changes changes; ///< made last; indices are those of an answer about the same module
};

/// The pass gantry-assign-devices with requests from outside.
std::unique_ptr<mlir::Pass> createAssignDevicesPass(PlacementRequests requests);

/// Where the module, after Place, has every op that a lock can hold.
std::vector<placement::LockEntry> placementLockOf(mlir::ModuleOp module);

/// The least that would have to change for ops to be on a device (spec P10).
struct WhyNotAnswer {
  std::string text;           ///< in words; ops with the same advice together
  placement::Changes changes; ///< what the advice comes to; empty when there is none
};

/// Asks about the ops that the pattern describes. `module` is one before Place and stays as it is.
/// Errors are diagnostics: no such op, no such device.
llvm::FailureOr<WhyNotAnswer> explainWhyNot(mlir::ModuleOp module,
                                            const PlacementRequests &requests,
                                            const placement::OpPattern &ops,
                                            const DeviceName &device);

} // namespace gantry
