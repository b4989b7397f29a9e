// Homes of values, generators beside their users.

#include "Settle.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::place;

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

void Homes::set(Value value, std::optional<uint32_t> device) {
  if (device)
    homes[value] = *device;
}

void Homes::run() {
  for (auto func : in.module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    for (BlockArgument argument : func.getArguments()) {
      auto node = in.argumentNodes.find({func, argument.getArgNumber()});
      set(argument, node == in.argumentNodes.end() ? in.host : decisions[node->second].device);
    }
    visit(func.getBody().front());
  }
}

void Homes::visit(Block &block) {
  for (Operation &op : block) {
    if (auto branch = dyn_cast<IfOp>(op))
      visitIf(branch);
    else if (auto loop = dyn_cast<WhileOp>(op))
      visitWhile(loop);
    else if (auto node = in.nodeOf.find(&op); node != in.nodeOf.end())
      for (Value result : op.getResults())
        set(result, decisions[node->second].device);
    else if (isView(&op))
      set(op.getResult(0), of(op.getOperand(0)));
  }
}

static ArrayAttr devicesAttr(const Input &in, ArrayRef<uint32_t> homes) {
  SmallVector<Attribute> attrs;
  for (uint32_t home : homes)
    attrs.push_back(DeviceAttr::get(in.module.getContext(), in.problem.devices[home].str()));
  return ArrayAttr::get(in.module.getContext(), attrs);
}

/// A result lives where both branches make it, else where the better of the two devices is.
void Homes::visitIf(IfOp op) {
  visit(op.getThenBody().front());
  visit(op.getElseBody().front());
  SmallVector<uint32_t> results;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    std::optional<uint32_t> home;
    for (uint32_t device : placement::preference(in.problem))
      for (Region *region : {&op.getThenBody(), &op.getElseBody()})
        if (!home && of(region->front().getTerminator()->getOperand(i)) == device)
          home = device;
    results.push_back(home ? *home : firstUse(result));
    set(result, results.back());
  }
  op->setAttr(kHomesAttr, devicesAttr(in, results));
}

/// A carried value lives where the body makes the next one.
void Homes::visitWhile(WhileOp op) {
  for (Region *region : {&op.getConditionBody(), &op.getBody()})
    for (auto [argument, init] : llvm::zip(region->getArguments(), op.getInits()))
      set(argument, of(init));
  visit(op.getConditionBody().front());
  visit(op.getBody().front());
  SmallVector<uint32_t> results;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    std::optional<uint32_t> home = of(op.getBody().front().getTerminator()->getOperand(i));
    if (!home)
      home = of(op.getInits()[i]);
    results.push_back(home ? *home : firstUse(result));
    set(result, results.back());
    for (Region *region : {&op.getConditionBody(), &op.getBody()})
      homes[region->getArgument(i)] = results.back();
  }
  op->setAttr(kHomesAttr, devicesAttr(in, results));
}

/// The best device of those that use the value, for values that no device makes; else the host.
uint32_t Homes::firstUse(Value value) const {
  llvm::SmallDenseSet<uint32_t> used;
  for (OpOperand &use : value.getUses())
    if (auto node = in.nodeOf.find(use.getOwner()); node != in.nodeOf.end())
      used.insert(decisions[node->second].device);
  for (uint32_t device : placement::preference(in.problem))
    if (used.contains(device))
      return device;
  return in.host;
}

std::optional<uint32_t> Homes::wantedBy(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (auto node = in.nodeOf.find(user); node != in.nodeOf.end())
    return decisions[node->second].device;
  unsigned i = use.getOperandNumber();
  if (isa<func::ReturnOp>(user)) {
    auto node = in.resultNodes.find({user->getParentOp(), i});
    return node == in.resultNodes.end() ? in.host : decisions[node->second].device;
  }
  if (isa<IfOp>(user))
    return in.host;
  Operation *around = isa<WhileOp>(user) ? user : user->getParentOp();
  if (auto loop = dyn_cast<WhileOp>(around)) {
    bool isCondition = user->getParentRegion() == &loop.getConditionBody();
    return isCondition ? in.host : of(loop->getResult(i));
  }
  if (isa<IfOp>(around))
    return of(around->getResult(i));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

/// Devices on which `value` is wanted, also through views.
static void collectWanted(const Homes &homes, Value value,
                          llvm::SmallSetVector<uint32_t, 4> &found) {
  for (OpOperand &use : value.getUses()) {
    if (std::optional<uint32_t> device = homes.wantedBy(use))
      found.insert(*device);
    else if (isView(use.getOwner()))
      collectWanted(homes, use.getOwner()->getResult(0), found);
  }
}

void place::placeGenerators(const Input &in, const Homes &homes, ArrayRef<Attribute> deviceAttrs) {
  std::vector<uint32_t> order = placement::preference(in.problem);
  MLIRContext *context = in.module.getContext();
  for (Operation *op : in.generators) {
    auto kernel = cast<KernelOpInterface>(op);
    auto hasKernel = [&](uint32_t device) {
      return kernel.hasKernel(*in.problem.devices[device].type, kernelElementType(op));
    };
    llvm::SmallSetVector<uint32_t, 4> wanted;
    collectWanted(homes, op->getResult(0), wanted);
    SmallVector<uint32_t> devices;
    for (uint32_t device : order)
      if (wanted.contains(device) && hasKernel(device))
        devices.push_back(device);
    auto decide = [&](Operation *placed, uint32_t device, StringRef rule, StringRef reason) {
      placed->setAttr(kDeviceAttr, deviceAttrs[device]);
      placed->setAttr(kPlacementAttr, DecisionAttr::get(context, rule, reason, {}, false));
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
      op->getResult(0).replaceUsesWithIf(
          clone->getResult(0), [&](OpOperand &use) { return homes.wantedBy(use) == device; });
    }
  }
}
