// After Place: every compute op has a device of the topology.

#include "gantry/Transforms/Passes.h"

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
    auto topology = getOperation()->getAttrOfType<TopologyAttr>(kTopologyAttr);
    auto result = getOperation().walk([&](KernelOpInterface op) {
      auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
      if (device && topology && llvm::is_contained(topology.getDevices(), device))
        return WalkResult::advance();
      op->emitOpError("has no device of the topology after Place");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
