// What a placement lock (spec P13) holds of a module that has been placed.

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Transforms/Placement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

/// What goes with its uses would not be cloned for them any more.
static bool goesWithItsUses(KernelOpInterface op, DecisionAttr decision) {
  return isMadeOfNothing(op) && decision.getRule() == "inferred";
}

std::vector<placement::LockEntry> gantry::placementLockOf(ModuleOp module) {
  std::vector<placement::LockEntry> entries;
  module.walk([&](KernelOpInterface op) {
    auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    auto func = op->getParentOfType<func::FuncOp>();
    if (decision && device && name && func && !goesWithItsUses(op, decision))
      entries.push_back({func.getSymName().str(), name.str(), device.getName(), 0});
  });
  return entries;
}
