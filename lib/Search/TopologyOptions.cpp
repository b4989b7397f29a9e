// What a module is compiled for: its own topology when the file carries one, else the flags'; and
// what targets are asked for.
//
// The machine that compiles is not asked (spec D5): without a word about devices it is the host
// alone, with nothing known about it, so that the same graph gives the same plan everywhere.

#include "TopologyOptions.h"

#include "gantry/Device/GPUArch.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/Target.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

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

/// Whether every driver of --also has a target and devices to stand in at.
static LogicalResult checkAlso(ModuleOp module, const CompileOptions &options) {
  const Topology topology = getTopology(module);
  for (StringRef driver : options.code.also) {
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

/// Of GPUs whose architecture is known; each once, oldest first.
static FailureOr<std::vector<std::string>> archsOf(const Topology &topology, Location at) {
  std::set<uint32_t> archs;
  for (const PhysicalDevice &device : topology.physical) {
    if (device.type() != DeviceType::GPU || device.architecture == 0)
      continue;
    std::optional<uint32_t> arch = gpuArchFor(device.architecture);
    if (!arch)
      return emitError(at) << "'" << device.name.str() << "' of the topology is "
                           << gpuArchName(device.architecture) << "; kernels are made for "
                           << gpuArchName(gpuArchs[0]) << " and newer";
    archs.insert(*arch);
  }
  std::vector<std::string> names;
  for (uint32_t arch : archs)
    names.push_back(gpuArchName(arch));
  return names;
}

/// One set of kernels runs on all architectures that they are for.
static LogicalResult checkMath(const Topology &topology, ArrayRef<std::string> archs,
                               const CompileOptions &options, Location at) {
  auto isGPU = [](const PhysicalDevice &device) { return device.type() == DeviceType::GPU; };
  // Where no GPU is there is nothing that would round.
  if (options.code.math != Math::tf32 || llvm::none_of(topology.physical, isGPU))
    return success();
  if (archs.empty())
    return emitError(at)
           << "--math=tf32 needs tensor cores of sm_80, and kernels are for sm_75 unless another "
              "architecture is asked for; add --gpu-arch=sm_80 or newer";
  for (StringRef arch : archs)
    if (gpuArchNumber(arch) < kTensorCoreArch)
      return emitError(at) << "--math=tf32 needs tensor cores of sm_80, and "
                           << (options.code.gpuArchs.empty() ? "the topology has a GPU of "
                                                             : "--gpu-arch asks for ")
                           << arch;
  return success();
}

std::vector<std::string> gantry::findTargets(ModuleOp module, const CompileOptions &options) {
  std::set<std::string> names;
  auto add = [&](StringRef driver) {
    if (const Target *target = findTarget(driver))
      names.insert(target->getName().str());
  };
  add(driverName(Driver::host));
  for (const PhysicalDevice &device : getTopology(module).physical)
    add(driverName(device.driver));
  llvm::for_each(options.code.also, add);
  return {names.begin(), names.end()};
}

/// The architectures that kernels of GPUs are for: those of --gpu-arch, else those of the
/// topology's GPUs, oldest first; none: the default.
static FailureOr<std::vector<std::string>> findGPUArchs(ModuleOp module,
                                                        const CompileOptions &options) {
  const Location at = UnknownLoc::get(module.getContext());
  const Topology topology = getTopology(module);
  FailureOr<std::vector<std::string>> archs = options.code.gpuArchs;
  if (options.code.gpuArchs.empty())
    archs = archsOf(topology, at);
  if (failed(archs) || failed(checkMath(topology, *archs, options, at)))
    return failure();
  return archs;
}

/// What flags say of libraries, and for the rest what the file says. An empty list is a word, too:
/// without any, products on GPUs of NVIDIA are by a library where that is estimated to be faster.
static ArrayAttr findLibraries(ModuleOp module, ArrayAttr said, const CompileOptions &options) {
  std::vector<StringRef> names;
  const StringRef collectives(plan::collectiveLibrary);
  auto isForNVIDIA = [](const PhysicalDevice &device) { return device.driver == Driver::cuda; };
  if (options.code.libraries)
    llvm::append_range(names, *options.code.libraries);
  else if (!said && llvm::any_of(getTopology(module).physical, isForNVIDIA))
    names.push_back(kAutomaticLibraries);
  if (options.code.libraryCollectives.value_or(false))
    names.push_back(collectives);
  if (said)
    for (auto name : said.getAsRange<StringAttr>())
      if (name == collectives ? !options.code.libraryCollectives : !options.code.libraries)
        names.push_back(name.getValue());
  return names.empty() && !options.code.libraries && !said
             ? ArrayAttr()
             : Builder(module.getContext()).getStrArrayAttr(names);
}

static ArrayAttr listOf(MLIRContext *context, ArrayRef<std::string> texts) {
  return Builder(context).getStrArrayAttr(llvm::to_vector_of<StringRef>(texts));
}

LogicalResult gantry::setTargetsFromOptions(ModuleOp module, const CompileOptions &options) {
  if (failed(checkAlso(module, options)))
    return failure();
  FailureOr<std::vector<std::string>> archs = findGPUArchs(module, options);
  if (failed(archs))
    return failure();
  MLIRContext *context = module.getContext();
  NamedAttrList machines;
  if (!options.code.cpus.empty())
    machines.append(findTarget(driverName(Driver::host))->getName(),
                    listOf(context, options.code.cpus));
  if (!archs->empty())
    machines.append(kCUDATarget, listOf(context, *archs));
  const TargetsAttr said = TargetsAttr::of(module);
  const auto asked = TargetsAttr::get(
      context, options.code.also.empty() ? ArrayAttr() : listOf(context, options.code.also),
      machines.empty() ? DictionaryAttr() : machines.getDictionary(context), options.code.math,
      findLibraries(module, said.getLibraries(), options),
      options.code.gpuStages ? options.code.gpuStages : said.getStages());
  if (asked.saysNothing())
    module->removeAttr(kTargetsAttr);
  else
    module->setAttr(kTargetsAttr, asked);
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
