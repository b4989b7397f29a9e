#include "gantry/Analysis/Homes.h"

#include "gantry/Device/DeviceName.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::copy;

Homes::Homes(ModuleOp module) {
  const Topology topology = getTopology(module);
  auto attrOf = [&](const DeviceName &name) {
    return DeviceAttr::get(module.getContext(), name.str());
  };
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
  Expected<DeviceName> name = DeviceName::parse(device.getSpelling().str());
  return name && !severalTasks ? name->shortStr() : device.getSpelling().str();
}

DeviceAttr Homes::hostOf(DeviceAttr device) const {
  DeviceAttr host = hosts.lookup(device);
  return host ? host : hostDevice;
}

DeviceAttr Homes::askedHomeOf(Value value) const {
  auto constant = skipViews(value).getDefiningOp<ConstantOp>();
  return constant ? constant->getAttrOfType<DeviceAttr>(kDeviceAttr) : homeOf(value);
}

/// Homes of the results of a branch or loop, set by Place.
static DeviceAttr homeOfResult(Operation *op, unsigned index) {
  auto homes = op->getAttrOfType<ArrayAttr>(kHomesAttr);
  return homes && index < homes.size() ? dyn_cast<DeviceAttr>(homes[index]) : DeviceAttr();
}

DeviceAttr Homes::named(StringAttr spelling) const {
  return DeviceAttr::get(spelling.getContext(), spelling.getValue());
}

DeviceAttr Homes::homeOfArgument(BlockArgument argument) const {
  Operation *owner = argument.getOwner()->getParentOp();
  DeviceAttr home;
  if (auto func = dyn_cast<func::FuncOp>(owner))
    home = func.getArgAttrOfType<DeviceAttr>(argument.getArgNumber(), kDeviceAttr);
  else
    home = homeOfResult(owner, argument.getArgNumber());
  return home ? home : hostDevice;
}

DeviceAttr Homes::homeOf(Value value) const {
  value = skipViews(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return homeOfArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<ConstantOp>(op))
    return {};
  if (auto copy = dyn_cast<CopyOp>(op))
    return named(copy.getDeviceAttr());
  if (isa<IfOp, WhileOp>(op)) {
    DeviceAttr home = homeOfResult(op, cast<OpResult>(value).getResultNumber());
    return home ? home : hostDevice;
  }
  return op->getAttrOfType<DeviceAttr>(kDeviceAttr);
}

DeviceAttr Homes::neededByTerminator(OpOperand &use) const {
  Operation *parent = use.getOwner()->getParentOp();
  DeviceAttr home;
  if (auto func = dyn_cast<func::FuncOp>(parent))
    home = func.getResultAttrOfType<DeviceAttr>(use.getOperandNumber(), kDeviceAttr);
  else if (auto loop = dyn_cast<WhileOp>(parent);
           !loop || use.getOwner()->getParentRegion() != &loop.getConditionBody())
    home = homeOfResult(parent, use.getOperandNumber());
  return home ? home : hostDevice;
}

DeviceAttr Homes::neededBy(OpOperand &use) const {
  Operation *op = use.getOwner();
  if (isView(op) || isa<CopyOp>(op))
    return {};
  if (op->hasTrait<OpTrait::IsTerminator>())
    return neededByTerminator(use);
  if (isa<IfOp>(op))
    return hostDevice;
  if (isa<WhileOp>(op)) {
    DeviceAttr home = homeOfResult(op, use.getOperandNumber());
    return home ? home : hostDevice;
  }
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return {};
  auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  return llvm::is_contained(kernel.getHostOperands(), use.getOperandNumber()) ? hostOf(device)
                                                                              : device;
}

static std::string describeOp(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  std::string text = kernel ? kernel.getLogName().str() : op->getName().getStringRef().str();
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
    text += " '" + name.getValue().str() + "'";
  return text;
}

std::string copy::describeUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto func = dyn_cast<func::FuncOp>(op->getParentOp());
      func && op->hasTrait<OpTrait::IsTerminator>()) {
    unsigned index = use.getOperandNumber();
    auto name = func.getResultAttrOfType<StringAttr>(index, kNameAttr);
    return (name ? "result '" + name.getValue().str() + "'" : "result " + std::to_string(index)) +
           " of '@" + func.getSymName().str() + "'";
  }
  std::string place = describeLocation(op->getLoc());
  return describeOp(op) + (place.empty() ? "" : " at " + place);
}

std::string copy::describeValue(Value value) {
  value = skipViews(value);
  while (auto copy = value.getDefiningOp<CopyOp>())
    value = skipViews(copy.getInput());
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    auto name = constant->getAttrOfType<StringAttr>(kNameAttr);
    return name ? "the constant '" + name.getValue().str() + "'" : "a constant";
  }
  if (Operation *op = value.getDefiningOp())
    return "the result of " + describeOp(op);
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto name = func ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr)
                       : StringAttr()) {
    bool variable = func.getArgAttr(argument.getArgNumber(), kVariableAttr) != nullptr;
    return (variable ? "variable '" : "'") + name.getValue().str() + "'";
  }
  return "argument " + std::to_string(argument.getArgNumber());
}
