// What a module is compiled for: its own topology when the file carries one, else the flags'.
//
// The machine that compiles is not asked (spec D5): without a word about devices it is the host
// alone, with nothing known about it, so that the same graph gives the same plan everywhere.

#include "gantry/Device/Topology.h"

#include "TopologyOptions.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/Target.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gantry;

/// Names and limits alone: a list of devices says nothing of drivers and rates.
static bool haveSameDevices(const Topology &a, const Topology &b) {
  return llvm::equal(a.logical, b.logical, [](const LogicalDevice &x, const LogicalDevice &y) {
    return x.name == y.name && x.limit == y.limit;
  });
}

/// The file wins; flags that list devices must then list the same. The other flags change what the
/// file says, as they change what another flag says.
static FailureOr<Topology> mergeWithModule(ModuleOp module, TopologyRequest request) {
  const Topology own = getTopology(module);
  if (const std::optional<Topology> &listed = request.devices;
      listed && (request.isComplete ? *listed != own : !haveSameDevices(*listed, own)))
    return module.emitError() << "the file's " << kTopologyAttr << " has the devices "
                              << own.deviceList() << "; "
                              << (request.isComplete ? "--topology" : "--devices")
                              << " contradicts it with " << listed->deviceList()
                              << "; remove one of them";
  request.devices.reset();
  Expected<Topology> topology = request.applyTo(own);
  if (!topology)
    return module.emitError() << topology.status().message();
  return topology.take();
}

LogicalResult gantry::checkAlso(ModuleOp module, const CompileOptions &options) {
  const Topology topology = getTopology(module);
  for (StringRef driver : options.also) {
    if (!findTarget(driver))
      return emitError(UnknownLoc::get(module.getContext()))
             << "no target for driver '" << driver << "' in --also; this compiler makes code for "
             << driversWithTargets();
    if (llvm::none_of(topology.logical, [&](const LogicalDevice &device) {
          return mayStandIn(driver, topology.physical[device.physical].driver);
        }))
      return emitError(UnknownLoc::get(module.getContext()))
             << "--also=" << driver << " adds nothing: the driver " << driver
             << " runs all devices of the plan that it can run, or there are none; the devices are "
             << topology.deviceList();
  }
  return success();
}

LogicalResult gantry::setTopologyFromOptions(ModuleOp module, const CompileOptions &options) {
  if (module->hasAttr(kTopologyAttr)) {
    if (!options.devices.any())
      return success();
    FailureOr<Topology> topology = mergeWithModule(module, options.devices);
    if (failed(topology))
      return failure();
    setTopology(module, *topology);
    return success();
  }
  Expected<Topology> topology = options.devices.applyTo(Topology::hostOnly());
  if (!topology)
    return emitError(UnknownLoc::get(module.getContext())) << topology.status().message();
  setTopology(module, *topology);
  return success();
}
