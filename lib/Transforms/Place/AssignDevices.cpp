// Gives every compute op a device of the topology: its request, else the first device.

#include "gantry/Device/DeviceName.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_ASSIGNDEVICESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct AssignDevices : gantry::impl::AssignDevicesPassBase<AssignDevices> {
  void runOnOperation() override {
    auto topology = getOperation()->getAttrOfType<TopologyAttr>(kTopologyAttr);
    if (!topology || topology.getDevices().empty()) {
      getOperation().emitError("the module has no topology to place ops on");
      return signalPassFailure();
    }
    auto result = getOperation().walk([&](KernelOpInterface op) {
      return succeeded(assign(op, topology)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult assign(Operation *op, TopologyAttr topology) {
    auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    DeviceAttr device = request ? find(request, topology) : topology.getDevices().front();
    if (!device) {
      auto error = op->emitError() << "'" << cast<KernelOpInterface>(op).getLogName() << "' is placed on '"
                                   << DeviceName::parse(request.getSpelling().str())->withDefaultTask().str()
                                   << "': unknown device; the devices are ";
      llvm::interleaveComma(topology.getDevices(), error, [&](DeviceAttr d) { error << d.getSpelling(); });
      return error;
    }
    op->setAttr(kDeviceAttr, device);
    return success();
  }

  /// The first device that the request names, or null.
  static DeviceAttr find(DeviceAttr request, TopologyAttr topology) {
    DeviceName wanted = *DeviceName::parse(request.getSpelling().str());
    for (DeviceAttr device : topology.getDevices())
      if (wanted.matches(*DeviceName::parse(device.getSpelling().str())))
        return device;
    return {};
  }
};
} // namespace
