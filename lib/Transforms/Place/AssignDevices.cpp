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
    auto copies = getOperation().walk([&](CopyOp op) {
      if (find(op.getDevice(), topology))
        return WalkResult::advance();
      (void)reportUnknown(op, "gantry.copy", "goes to", op.getDevice(), topology);
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted() || copies.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult assign(Operation *op, TopologyAttr topology) {
    auto request = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    DeviceAttr device =
        request ? find(request.getSpelling(), topology) : topology.getDevices().front();
    if (!device)
      return reportUnknown(op, cast<KernelOpInterface>(op).getLogName(), "is placed on",
                           request.getSpelling(), topology);
    op->setAttr(kDeviceAttr, device);
    return success();
  }

  static LogicalResult reportUnknown(Operation *op, StringRef name, StringRef what,
                                     StringRef wanted, TopologyAttr topology) {
    auto error = op->emitError() << "'" << name << "' " << what << " '"
                                 << DeviceName::parse(wanted.str())->withDefaultTask().str()
                                 << "': unknown device; the devices are ";
    llvm::interleaveComma(topology.getDevices(), error,
                          [&](DeviceAttr d) { error << d.getSpelling(); });
    return error;
  }

  /// The first device that the request names, or null.
  static DeviceAttr find(StringRef request, TopologyAttr topology) {
    DeviceName wanted = *DeviceName::parse(request.str());
    for (DeviceAttr device : topology.getDevices())
      if (wanted.matches(*DeviceName::parse(device.getSpelling().str())))
        return device;
    return {};
  }
};
} // namespace
