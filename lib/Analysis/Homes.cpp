#include "gantry/Analysis/Homes.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"

using namespace mlir;
using namespace gantry;

Homes::Homes(ModuleOp module) {
  const Topology topology = getTopology(module);
  auto attrOf = [&](const DeviceName &name) { return DeviceAttr::get(module.getContext(), name); };
  for (const LogicalDevice &device : topology.logical) {
    DeviceName host = device.name;
    host.type = DeviceType::CPU;
    host.id = 0;
    hosts[attrOf(device.name)] = attrOf(host);
    if (device.name != host)
      continue;
    severalTasks |= hostDevice != nullptr;
    if (!hostDevice)
      hostDevice = attrOf(host);
  }
}

std::string Homes::nameOf(DeviceAttr device) const {
  return severalTasks ? device.getName().str() : device.getName().shortStr();
}

DeviceAttr Homes::hostOf(DeviceAttr device) const {
  DeviceAttr host = hosts.lookup(device);
  return host ? host : hostDevice;
}

//===----------------------------------------------------------------------===//
// Where values live
//===----------------------------------------------------------------------===//

static DeviceAttr ownDevice(Operation *op) { return op->getAttrOfType<DeviceAttr>(kDeviceAttr); }

static DeviceAttr memberOf(SeveralDevicesOpInterface op, unsigned member) {
  return cast<DeviceAttr>(op.getMemberDevices()[member]);
}

DeviceAttr Homes::homeOfResult(OpResult result) const {
  Operation *op = result.getOwner();
  if (auto several = dyn_cast<SeveralDevicesOpInterface>(op))
    return memberOf(several, several.getMemberOfResult(result.getResultNumber()));
  unsigned index = result.getResultNumber();
  if (auto known = decided.find(op); known != decided.end())
    return known->second[index];
  auto homes = op->getAttrOfType<ArrayAttr>(kHomesAttr);
  auto home = homes && index < homes.size() ? dyn_cast<DeviceAttr>(homes[index]) : DeviceAttr();
  return home ? home : hostDevice;
}

DeviceAttr Homes::homeOfArgument(BlockArgument argument) const {
  if (auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())) {
    auto home = func.getArgAttrOfType<DeviceAttr>(argument.getArgNumber(), kDeviceAttr);
    return home ? home : hostDevice;
  }
  OpResult carried = resultOf(argument);
  return carried ? homeOfResult(carried) : hostDevice;
}

DeviceAttr Homes::homeOf(Value value) const {
  // Until Place has brought its operand there, a view that asks for a device stands for it.
  for (Operation *op = value.getDefiningOp(); isView(op); op = value.getDefiningOp()) {
    if (DeviceAttr asked = ownDevice(op))
      return asked;
    value = op->getOperand(0);
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return homeOfArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ConstantOp>(op))
    return {};
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getDevice();
  if (isa<RegionBranchOpInterface, SeveralDevicesOpInterface>(op))
    return homeOfResult(cast<OpResult>(value));
  return ownDevice(op);
}

DeviceAttr Homes::askedHomeOf(Value value) const {
  auto constant = skipViews(value).getDefiningOp<ConstantOp>();
  return constant ? ownDevice(constant) : homeOf(value);
}

DeviceAttr Homes::deviceOf(Operation *op) const {
  if (auto several = dyn_cast<SeveralDevicesOpInterface>(op))
    return memberOf(several, 0);
  if (DeviceAttr device = ownDevice(op); device || !op->getNumRegions())
    return device;
  uint64_t most = 0;
  DeviceAttr device;
  if (op->hasAttr(kHomesAttr))
    for (OpResult result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType());
          type && type.hasStaticShape() && getByteSize(type) >= most) {
        most = getByteSize(type);
        device = homeOfResult(result);
      }
  if (!device)
    op->walk([&](KernelOpInterface nested) {
      device = ownDevice(nested);
      return device ? WalkResult::interrupt() : WalkResult::advance();
    });
  return device;
}

//===----------------------------------------------------------------------===//
// Where uses need them
//===----------------------------------------------------------------------===//

DeviceAttr Homes::neededBy(OpOperand &use) const {
  Operation *op = use.getOwner();
  if (isView(op) || isa<CopyOp>(op))
    return {};
  if (auto func = dyn_cast<func::FuncOp>(op->getParentOp());
      func && op->hasTrait<OpTrait::IsTerminator>()) {
    auto home = func.getResultAttrOfType<DeviceAttr>(use.getOperandNumber(), kDeviceAttr);
    return home ? home : hostDevice;
  }
  // The host decides which way to go; everything else that enters or leaves becomes a result.
  if (isa<RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(op)) {
    OpResult result = resultOf(use);
    return result ? homeOfResult(result) : hostDevice;
  }
  if (isa<AssertIndicesOp>(op))
    return hostDevice;
  if (isa<AllReduceOp>(op))
    return ownDevice(op);
  if (auto several = dyn_cast<SeveralDevicesOpInterface>(op))
    return memberOf(several, several.getMemberOfOperand(use.getOperandNumber()));
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return {};
  DeviceAttr device = ownDevice(op);
  return llvm::is_contained(kernel.getHostOperands(), use.getOperandNumber()) ? hostOf(device)
                                                                              : device;
}

//===----------------------------------------------------------------------===//
// Before Place
//===----------------------------------------------------------------------===//

static DeviceAttr orHost(func::FuncOp func, DeviceAttr asked) {
  DeviceName host;
  host.type = DeviceType::CPU;
  host.id = 0;
  return asked ? asked : DeviceAttr::get(func.getContext(), host);
}

DeviceAttr gantry::requestOfArgument(func::FuncOp func, unsigned index) {
  return orHost(func, func.getArgAttrOfType<DeviceAttr>(index, kDeviceAttr));
}

DeviceAttr gantry::requestOfResult(func::FuncOp func, unsigned index) {
  return orHost(func, func.getResultAttrOfType<DeviceAttr>(index, kDeviceAttr));
}
