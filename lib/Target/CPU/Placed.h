// Ops that the CPU's target makes the kernels of.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Device/Topology.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/Target.h"

namespace gantry::cpu {

struct Placed {
  Topology topology;
  CostModel costs;
  std::vector<std::string> also; ///< drivers that the plan is to run with as well

  Placed(mlir::ModuleOp module, std::vector<std::string> also)
      : topology(getTopology(module)), costs(CostModel::of(topology)), also(std::move(also)) {}

  /// The one target for an op on a CPU; null for others: GPUs and those that stand in for them keep
  /// their form.
  const Target *targetOf(mlir::Operation *op) const {
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    if (device && device.getName().type != DeviceType::CPU)
      return nullptr;
    Driver own = driverOf(topology, device);
    const Target *target = findTarget(driverName(own));
    if (!target || target->getName() != kCPUTarget)
      return nullptr;
    for (const std::string &driver : also)
      if (mayStandIn(driver, own) && findTarget(driver) != target)
        return nullptr;
    return target;
  }

  uint32_t numberOf(mlir::Operation *op) const {
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    for (auto [i, logical] : llvm::enumerate(topology.logical))
      if (device && logical.name.str() == device.getSpelling())
        return i;
    return 0;
  }
};

} // namespace gantry::cpu
