#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;

TargetMap::TargetMap(ModuleOp module)
    : topology(getTopology(module)), costs(CostModel::of(topology)), asked(TargetsAttr::of(module)),
      ofHost(targetsFor(Driver::host)) {
  for (auto [i, logical] : llvm::enumerate(topology.logical)) {
    numbers[DeviceAttr::get(module.getContext(), logical.name)] = i;
    all.push_back(targetsFor(topology.physical[logical.physical].driver));
  }
}

SmallVector<StringRef> TargetMap::standInsFor(Driver own) const {
  SmallVector<StringRef> drivers;
  if (ArrayAttr names = asked.getDrivers())
    for (auto name : names.getAsRange<StringAttr>())
      if (mayStandIn(name.getValue(), own))
        drivers.push_back(name.getValue());
  return drivers;
}

SmallVector<const Target *, 1> TargetMap::targetsFor(Driver own) const {
  SmallVector<const Target *, 1> targets{findTarget(driverName(own))};
  for (StringRef driver : standInsFor(own))
    if (const Target *other = findTarget(driver); other && !llvm::is_contained(targets, other))
      targets.push_back(other);
  return targets;
}

ArrayRef<const Target *> TargetMap::targetsOf(Operation *op) const {
  auto number = numbers.find(op->getAttr(kDeviceAttr));
  return number == numbers.end() ? ArrayRef(ofHost) : ArrayRef(all[number->second]);
}

bool TargetMap::isOnlyOf(Operation *op, StringRef target, DeviceType type) const {
  auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
  ArrayRef<const Target *> targets = targetsOf(op);
  return (device ? device.getName().type : DeviceType::CPU) == type && targets.size() == 1 &&
         targets.front() && targets.front()->getName() == target;
}

bool TargetMap::mayBeOf(Operation *op, StringRef target) const {
  return llvm::any_of(targetsOf(op),
                      [&](const Target *each) { return each && each->getName() == target; });
}

uint32_t TargetMap::deviceNumberOf(Operation *op) const {
  return numbers.lookup(op->getAttr(kDeviceAttr));
}
