// What Place is asked from outside the graph, parsed, and what can be asked about placements.
#pragma once

#include "gantry/Placement/Lock.h"
#include "gantry/Placement/Rules.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace gantry {

struct PlacementRequests {
  bool follow = false; ///< ops without a request go to their largest inputs
  bool soft = false;   ///< what requests are that do not say (spec P5)
  std::vector<placement::Rule> rules;
  placement::Lock lock;
};

/// The pass gantry-assign-devices with requests from outside.
std::unique_ptr<mlir::Pass> createAssignDevicesPass(PlacementRequests requests);

/// Where the module, after Place, has every op that a lock can hold.
std::vector<placement::LockEntry> placementLockOf(mlir::ModuleOp module);

/// The least that would have to change for the op of that name, or of that log name, to be on the
/// device (spec P10), in words. `module` is one before Place and stays as it is. Errors are
/// diagnostics: no such op, no such device.
llvm::FailureOr<std::string> explainWhyNot(mlir::ModuleOp module, const PlacementRequests &requests,
                                           llvm::StringRef op, const DeviceName &device);

} // namespace gantry
