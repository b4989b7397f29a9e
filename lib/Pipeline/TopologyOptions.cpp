// What a module is compiled for: its own topology when the file carries one, else the flags'.
//
// The machine that compiles is not asked (spec D5): without a word about devices it is the host
// alone, with nothing known about it, so that the same graph gives the same plan everywhere.

#include "gantry/Device/Topology.h"

#include "TopologyOptions.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Pipeline/Pipeline.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gantry;

static TopologyFlags flagsOf(const CompileOptions &options) {
  return {options.devices, options.topology, options.visible, options.splits, options.simulate};
}

/// Names and limits alone: a list of devices says nothing of drivers and rates.
static bool haveSameDevices(const Topology &a, const Topology &b) {
  return llvm::equal(a.logical, b.logical, [](const LogicalDevice &x, const LogicalDevice &y) {
    return x.name == y.name && x.limit == y.limit;
  });
}

/// The file wins; flags that list devices must then list the same. The other flags change what the
/// file says, as they change what another flag says.
static FailureOr<Topology> mergeWithModule(ModuleOp module, TopologyFlags flags) {
  const Topology own = getTopology(module);
  if (!flags.devices.empty() || !flags.file.empty()) {
    TopologyFlags list{flags.devices, flags.file};
    Expected<Topology> listed = applyFlags(list, own);
    if (!listed)
      return module.emitError() << listed.status().message();
    if (flags.file.empty() ? !haveSameDevices(*listed, own) : *listed != own)
      return module.emitError() << "the file's " << kTopologyAttr << " has the devices "
                                << own.deviceList() << "; "
                                << (flags.file.empty() ? "--devices" : "--topology")
                                << " contradicts it with " << listed->deviceList()
                                << "; remove one of them";
  }
  flags.devices.clear();
  flags.file.clear();
  Expected<Topology> topology = applyFlags(flags, own);
  if (!topology)
    return module.emitError() << topology.status().message();
  return topology.take();
}

LogicalResult gantry::setTopologyFromOptions(ModuleOp module, const CompileOptions &options) {
  TopologyFlags flags = flagsOf(options);
  if (module->hasAttr(kTopologyAttr)) {
    if (!flags.any())
      return success();
    FailureOr<Topology> topology = mergeWithModule(module, std::move(flags));
    if (failed(topology))
      return failure();
    setTopology(module, *topology);
    return success();
  }
  Expected<Topology> topology = applyFlags(flags, Topology::hostOnly());
  if (!topology)
    return emitError(UnknownLoc::get(module.getContext())) << topology.status().message();
  setTopology(module, *topology);
  return success();
}
