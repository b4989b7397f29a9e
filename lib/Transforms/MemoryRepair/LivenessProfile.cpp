#include "LivenessProfile.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

/// Values of a block that are freed on a device.
static constexpr unsigned kMostValues = 128;

uint64_t gantry::bytesLiveFor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? getByteSize(type) : 0;
}

LivenessProfile::LivenessProfile(Block &block, DeviceAttr device, const Homes &homes)
    : block(block), device(device), homes(homes) {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  for (BlockArgument argument : block.getArguments())
    add(argument, false);
  for (Operation *op : ops)
    if (!isa<ConstantOp>(op) && !isView(op))
      for (Value result : op->getResults())
        add(result, homes.homeOf(result) == device);
  sumUp();
}

uint32_t LivenessProfile::numberOf(Operation *user) const {
  return numbers.lookup(block.findAncestorOpInBlock(*user));
}

void LivenessProfile::forEachUse(Value value, function_ref<void(OpOperand &)> visit) const {
  for (OpOperand &use : value.getUses())
    if (isView(use.getOwner()))
      forEachUse(use.getOwner()->getResult(0), visit);
    else
      visit(use);
}

SmallVector<OpOperand *> LivenessProfile::usesFrom(Value value, uint32_t first) const {
  SmallVector<OpOperand *> uses;
  forEachUse(value, [&](OpOperand &use) {
    if (numberOf(use.getOwner()) >= first)
      uses.push_back(&use);
  });
  return uses;
}

/// What is elsewhere is held from the first op that needs it here.
void LivenessProfile::add(Value value, bool isHere) {
  if (!isHere && homes.homeOf(value) == device)
    return; // bound by the caller
  bool isReturned = false;
  LiveValue held{value, bytesLiveFor(value), UINT32_MAX, 0};
  if (isHere)
    held.first = held.last = numberOf(value.getDefiningOp());
  forEachUse(value, [&](OpOperand &use) {
    bool isNeededHere = homes.neededBy(use) == device;
    isReturned |= isHere && isNeededHere && use.getOwner() == block.getTerminator();
    if (!isHere && !isNeededHere)
      return;
    held.first = std::min(held.first, numberOf(use.getOwner()));
    held.last = std::max(held.last, numberOf(use.getOwner()));
  });
  if (!isReturned && held.bytes > 0 && held.first != UINT32_MAX)
    values.push_back(held);
}

uint64_t LivenessProfile::replaced(Operation *op) const {
  if (op->getNumResults() != 1)
    return 0;
  for (OpOperand &use : op->getOpOperands()) {
    if (!isElementwiseUse(use) || bytesLiveFor(use.get()) != bytesLiveFor(op->getResult(0)))
      continue;
    Value value = skipViews(use.get());
    uint32_t last = 0;
    forEachUse(value, [&](OpOperand &other) { last = std::max(last, numberOf(other.getOwner())); });
    if (homes.homeOf(value) == device && value.getDefiningOp() && last == numberOf(op))
      return bytesLiveFor(use.get());
  }
  return 0;
}

void LivenessProfile::sumUp() {
  SmallVector<int64_t> change(ops.size() + 1);
  for (const LiveValue &held : values) {
    change[held.first] += held.bytes;
    change[held.last + 1] -= held.bytes;
  }
  int64_t now = 0;
  for (auto [i, op] : llvm::enumerate(ops)) {
    now += change[i];
    bytes.push_back(now - replaced(op));
  }
}

uint64_t LivenessProfile::across(uint32_t cut) const {
  uint64_t sum = 0;
  for (const LiveValue &held : values)
    if (held.first < cut && cut <= held.last)
      sum += held.bytes;
  return sum;
}

/// What shows the value, of the one in its place.
static Value viewAgain(Value value, OpBuilder &b, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *view = value.getDefiningOp();
  viewAgain(view->getOperand(0), b, mapping);
  return b.clone(*view, mapping)->getResult(0);
}

void gantry::readInstead(ArrayRef<OpOperand *> uses, OpBuilder &b, IRMapping &mapping) {
  for (OpOperand *use : uses)
    use->set(viewAgain(use->get(), b, mapping));
}

void gantry::forEachWanted(
    ModuleOp module, ArrayRef<int64_t> wanted,
    function_ref<void(func::FuncOp, DeviceAttr, uint64_t, const Homes &)> visit) {
  if (llvm::all_of(wanted, [](int64_t bytes) { return bytes <= 0; }))
    return;
  Homes homes(module);
  Topology topology = getTopology(module);
  for (auto func : module.getOps<func::FuncOp>())
    for (auto [logical, bytes] : llvm::zip(topology.logical, wanted))
      if (bytes > 0 && !func.isExternal())
        visit(func, DeviceAttr::get(module.getContext(), logical.name), bytes, homes);
}

void gantry::freeAtPeak(Block &block, DeviceAttr device, uint64_t wanted, const Homes &homes,
                        function_ref<bool(const LivenessProfile &, uint32_t)> freeOne) {
  std::optional<uint64_t> first;
  for (unsigned freed = 0; freed < kMostValues; ++freed) {
    LivenessProfile liveness(block, device, homes);
    const uint32_t peak = llvm::max_element(liveness.bytes) - liveness.bytes.begin();
    const uint64_t most = liveness.bytes[peak];
    if (most + wanted <= first.value_or(most))
      return;
    first = std::max(most, first.value_or(most));
    if (!freeOne(liveness, peak))
      return;
  }
}
