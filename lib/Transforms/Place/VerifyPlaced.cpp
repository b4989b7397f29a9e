// After Place: every compute op has a device of the topology, and control flow has homes.

#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_VERIFYPLACEDPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct VerifyPlaced : gantry::impl::VerifyPlacedPassBase<VerifyPlaced> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (getOperation()->hasAttr(kTopologyAttr))
      for (const LogicalDevice &device : getTopology(getOperation()).logical)
        devices.insert(DeviceAttr::get(&getContext(), device.name));
    auto result = getOperation().walk([&](Operation *op) {
      return succeeded(check(op)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    devices.clear();
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult check(Operation *op) {
    if (isa<KernelOpInterface>(op) && !isView(op) &&
        !isDevice(op->getAttrOfType<DeviceAttr>(kDeviceAttr)))
      return op->emitOpError("has no device of the topology after Place");
    if (auto several = dyn_cast<SeveralDevicesOpInterface>(op)) {
      if (!llvm::all_of(several.getMemberDevices().getAsRange<DeviceAttr>(),
                        [&](DeviceAttr device) { return isDevice(device); }))
        return op->emitOpError("has a member that is no device of the topology after Place");
      return verify(op); // members stay in tasks of their own
    }
    if (!isa<RegionBranchOpInterface>(op))
      return success();
    auto homes = op->getAttrOfType<ArrayAttr>(kHomesAttr);
    if (homes && homes.size() == op->getNumResults() &&
        llvm::all_of(homes, [&](Attribute home) { return isDevice(dyn_cast<DeviceAttr>(home)); }))
      return success();
    return op->emitOpError("has no homes for its results after Place");
  }

  bool isDevice(DeviceAttr device) const { return device && devices.contains(device); }

  DenseSet<Attribute> devices;
};
} // namespace
