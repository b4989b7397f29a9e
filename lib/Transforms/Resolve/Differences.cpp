#include "Differences.h"

#include "gantry/Analysis/Flow.h"

using namespace mlir;
using namespace gantry;

Differences::Differences(ModuleOp module, Of of) : of(of) {
  SmallVector<ReplicateOp> regions;
  module.walk([&](ReplicateOp op) {
    if (op.isSplit())
      regions.push_back(op);
  });
  // Loops and variables lead back to what was visited before.
  do {
    hasChanged = false;
    for (ReplicateOp op : regions)
      enter(op);
  } while (hasChanged);
}

Value Differences::firstIn(ValueRange values) const {
  auto found = llvm::find_if(values, [&](Value value) { return contains(value); });
  return found == values.end() ? Value() : *found;
}

/// Whether every replica is given the same: one value, or what an all-reduce gives each of them.
static bool areEqual(ValueRange given) {
  auto source = [](Value value) {
    auto reduce = value.getDefiningOp<AllReduceOp>();
    return reduce ? reduce->getResult(0) : value;
  };
  return llvm::all_equal(llvm::map_range(given, source));
}

void Differences::enter(ReplicateOp op) {
  size_t next = 0, devices = op.getDevices().size();
  for (auto [mode, argument] : llvm::zip(op.getInputModes(), op.getBody().getArguments())) {
    ValueRange given = op.getValues().slice(next, mode.countValues(devices));
    if (of == Of::replicas && (mode.is(ReplicaKind::Split) || !areEqual(given)))
      add(argument, argument);
    next += given.size();
  }
  visit(op.getBody().front(), Value());
}

void Differences::visit(Block &block, Value condition) {
  for (Operation &op : block.without_terminator())
    visit(op, condition);
}

/// `condition` is the innermost one above that differs, or null.
void Differences::visit(Operation &op, Value condition) {
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitBranch(branch, condition);
  if (isa<AllReduceOp>(op))
    return;
  Value reason = firstIn(op.getOperands());
  if (isa<AssignOp, AssignAddOp>(op)) {
    StringAttr name = getAccessedVariable(&op).getAttr();
    if (!reason && !condition)
      return;
    hasChanged |= variables.try_emplace(name, &op).second;
    assignments.try_emplace(&op, reason ? reason : condition);
    return;
  }
  if (auto read = dyn_cast<ReadOp>(op))
    if (variables.contains(read.getVariableAttr().getAttr()))
      reason = read.getResult();
  if (isa<ShareOp>(op))
    reason = op.getResult(0);
  if (reason)
    addAll(op.getResults(), reason);
}

void Differences::spread(RegionBranchOpInterface op) {
  forEachFlow(op, [&](OpOperand &source, Value input) {
    if (contains(source.get()))
      add(input, source.get());
  });
}

void Differences::visitBranch(RegionBranchOpInterface op, Value condition) {
  spread(op);
  auto ownCondition = [&] { return contains(conditionOf(op)) ? conditionOf(op) : Value(); };
  for (Region &region : op->getRegions()) {
    Value own = ownCondition();
    visit(region.front(), own ? own : condition);
  }
  spread(op);
  if (Value own = ownCondition())
    addAll(op->getResults(), own);
  if (auto gradient = dyn_cast<GradientOp>(op.getOperation()))
    differentiate(gradient);
}

/// Gradients are made of whatever the region reads, collectives or not.
void Differences::differentiate(GradientOp op) {
  Value reason = firstIn(op.getOperands());
  op.getBody().walk(
      [&](Operation *inner) { reason = reason ? reason : firstIn(inner->getOperands()); });
  if (reason)
    addAll(op.getGradients(), reason);
}

void Differences::explain(Value value, InFlightDiagnostic &error) const {
  while (reasons.lookup(value) != value)
    value = reasons.lookup(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = cast<ReplicateOp>(argument.getOwner()->getParentOp());
    error.attachNote(op.getLoc())
        << "it is computed from input " << argument.getArgNumber() << " of the region, which is "
        << cast<ReplicaModeAttr>(op.getInputs()[argument.getArgNumber()]).str();
    return;
  }
  if (auto share = value.getDefiningOp<ShareOp>()) {
    error.attachNote(share.getLoc()) << "it is computed from the replica's share of the batch";
    return;
  }
  FlatSymbolRefAttr name = cast<ReadOp>(value.getDefiningOp()).getVariableAttr();
  error.attachNote(variables.lookup(name.getAttr())->getLoc())
      << "it is computed from '" << name
      << "', of which each replica has a mirror and here assigns its own value";
}
