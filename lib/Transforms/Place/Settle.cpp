#include "Settle.h"

#include "gantry/Analysis/Flow.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

DeviceAttr Placed::deviceOf(Operation *op) const {
  auto node = in.nodeOf.find(op);
  if (node == in.nodeOf.end())
    return {};
  // A copy may have been settled since.
  auto copy = dyn_cast<CopyOp>(op);
  return copy ? copy.getDevice() : devices[decisions[node->second].device];
}

//===----------------------------------------------------------------------===//
// Homes of results
//===----------------------------------------------------------------------===//

namespace {
class HomeSettler {
public:
  explicit HomeSettler(const Placed &placed) : placed(placed), homes(placed.in.module) {
    for (uint32_t device : placement::preference(placed.in.problem))
      bestFirst.push_back(placed.devices[device]);
  }

  void visit(Block &block) {
    for (Operation &op : block)
      if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
        settle(branch);
  }

private:
  void settle(RegionBranchOpInterface op) {
    // Until its regions are known, what a loop carries is where it comes from.
    homes.decide(op, llvm::map_to_vector(op->getResults(), [&](OpResult result) {
                   return homeOf(initialSource(op, result));
                 }));
    for (Region &region : op->getRegions())
      visit(region.front());
    auto decided =
        llvm::map_to_vector(op->getResults(), [&](OpResult result) { return decide(op, result); });
    homes.decide(op, decided);
    op->setAttr(kHomesAttr, ArrayAttr::get(op->getContext(),
                                           SmallVector<Attribute>(decided.begin(), decided.end())));
  }

  /// Where the regions make it, the best where they differ; else where it comes from, or goes to.
  DeviceAttr decide(RegionBranchOpInterface op, OpResult result) {
    llvm::SmallDenseSet<DeviceAttr> made;
    for (OpOperand *source : yieldedSources(op, result))
      made.insert(homeOf(source));
    if (DeviceAttr best = bestOf(made))
      return best;
    DeviceAttr initial = homeOf(initialSource(op, result));
    return initial ? initial : firstUse(result);
  }

  DeviceAttr homeOf(OpOperand *source) const {
    return source ? homes.askedHomeOf(source->get()) : DeviceAttr();
  }

  DeviceAttr bestOf(const llvm::SmallDenseSet<DeviceAttr> &devices) const {
    auto best = llvm::find_if(bestFirst, [&](DeviceAttr each) { return devices.contains(each); });
    return best == bestFirst.end() ? DeviceAttr() : *best;
  }

  /// The best device of those that use the value, for values that no device makes; else the host.
  DeviceAttr firstUse(Value value) const {
    llvm::SmallDenseSet<DeviceAttr> used;
    for (OpOperand &use : value.getUses())
      if (DeviceAttr device = placed.deviceOf(use.getOwner()))
        used.insert(device);
    DeviceAttr best = bestOf(used);
    return best ? best : homes.host();
  }

  const Placed &placed;
  Homes homes;
  SmallVector<DeviceAttr> bestFirst;
};
} // namespace

void place::settleHomes(const Placed &placed) {
  HomeSettler settler(placed);
  for (auto func : placed.in.module.getOps<func::FuncOp>())
    if (!func.isExternal())
      settler.visit(func.getBody().front());
}

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// Where operand `use` is wanted; null for a use that takes the value where it is.
static DeviceAttr wantedBy(const Placed &placed, const Homes &homes, OpOperand &use) {
  DeviceAttr device = placed.deviceOf(use.getOwner());
  return device ? device : homes.neededBy(use);
}

/// Devices on which `value` is wanted, also through views.
static void collectWanted(const Placed &placed, const Homes &homes, Value value,
                          llvm::SmallSetVector<DeviceAttr, 4> &found) {
  for (OpOperand &use : value.getUses()) {
    if (DeviceAttr device = wantedBy(placed, homes, use))
      found.insert(device);
    else if (isView(use.getOwner()))
      collectWanted(placed, homes, use.getOwner()->getResult(0), found);
  }
}

void place::placeGenerators(const Placed &placed) {
  const Input &in = placed.in;
  Homes homes(in.module);
  std::vector<uint32_t> order = placement::preference(in.problem);
  MLIRContext *context = in.module.getContext();
  for (Operation *op : in.generators) {
    auto kernel = cast<KernelOpInterface>(op);
    auto hasKernel = [&](uint32_t device) {
      return kernel.hasKernel(*in.problem.devices[device].type, kernelElementType(op));
    };
    llvm::SmallSetVector<DeviceAttr, 4> wanted;
    collectWanted(placed, homes, op->getResult(0), wanted);
    SmallVector<uint32_t> devices;
    for (uint32_t device : order)
      if (wanted.contains(placed.devices[device]) && hasKernel(device))
        devices.push_back(device);
    auto decide = [&](Operation *made, uint32_t device, StringRef rule, StringRef reason) {
      made->setAttr(kDeviceAttr, placed.devices[device]);
      made->setAttr(kPlacementAttr, DecisionAttr::get(context, rule, reason, {}, false));
    };
    if (devices.empty()) {
      uint32_t device = *llvm::find_if(order, hasKernel);
      decide(op, device, "default", "GPUs before CPUs, then the lowest id");
      continue;
    }
    decide(op, devices.front(), "inferred", "goes with what uses it");
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    for (uint32_t device : ArrayRef(devices).drop_front()) {
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      Operation *clone = builder.clone(*op);
      decide(clone, device, "inferred", "goes with what uses it; a clone");
      if (name)
        clone->setAttr(kNameAttr,
                       StringAttr::get(context, name.getValue() + "@" +
                                                    in.shortName(in.problem.devices[device])));
      op->getResult(0).replaceUsesWithIf(clone->getResult(0), [&](OpOperand &use) {
        return wantedBy(placed, homes, use) == placed.devices[device];
      });
    }
  }
}
