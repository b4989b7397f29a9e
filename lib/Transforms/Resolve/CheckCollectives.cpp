// Whether the replicas of a region meet in every collective: each condition above one has to be the
// same on all of them.
//
// What may differ between replicas spreads from shards and values per replica along operands, out
// of branches and loops whose conditions differ, and through variables that are assigned it:
// mirrors keep what they hold over runs, so an assignment in any function counts. An all-reduce
// ends it. Whatever is not reached is the same on every replica.

#include "gantry/Analysis/Flow.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// What decides whether, or how often, a region of `op` runs; null when nothing does.
static Value conditionAt(Operation *op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return branch ? conditionOf(branch) : Value();
}

namespace {
/// Values and variables that may differ between the replicas of a region, with the reasons.
class Differences {
public:
  explicit Differences(ModuleOp module) {
    SmallVector<ReplicateOp> regions;
    module.walk([&](ReplicateOp op) {
      if (op.getDevices().size() > 1)
        regions.push_back(op);
    });
    // Loops and variables lead back to what was visited before.
    do {
      hasChanged = false;
      for (ReplicateOp op : regions)
        enter(op);
    } while (hasChanged);
  }

  bool contains(Value value) const { return reasons.contains(value); }

  /// Adds a note that says where the difference comes from.
  void explain(Value value, InFlightDiagnostic &error) const;

private:
  /// `value` differs since `reason` does; a value that is its own reason is where it begins.
  void add(Value value, Value reason) { hasChanged |= reasons.try_emplace(value, reason).second; }
  void addAll(ValueRange values, Value reason) {
    for (Value value : values)
      add(value, reason);
  }
  Value firstIn(ValueRange values) const {
    auto found = llvm::find_if(values, [&](Value value) { return contains(value); });
    return found == values.end() ? Value() : *found;
  }

  void enter(ReplicateOp op);
  void visit(Block &block, Value condition);
  void visit(Operation &op, Value condition);
  void visitBranch(RegionBranchOpInterface op, Value condition);
  void spread(RegionBranchOpInterface op);
  void differentiate(GradientOp op);

  DenseMap<Value, Value> reasons;
  DenseMap<StringAttr, Operation *> variables; ///< by name: the assignment
  bool hasChanged = false;
};
} // namespace

void Differences::enter(ReplicateOp op) {
  size_t next = 0, devices = op.getDevices().size();
  for (auto [mode, argument] : llvm::zip(op.getInputModes(), op.getBody().getArguments())) {
    ValueRange given = op.getValues().slice(next, mode.countValues(devices));
    if (mode.is(ReplicaKind::Split) || !llvm::all_equal(given))
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
    if (reason || condition)
      hasChanged |= variables.try_emplace(name, &op).second;
    return;
  }
  if (auto read = dyn_cast<ReadOp>(op))
    if (variables.contains(read.getVariableAttr().getAttr()))
      reason = read.getResult();
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
  FlatSymbolRefAttr name = cast<ReadOp>(value.getDefiningOp()).getVariableAttr();
  error.attachNote(variables.lookup(name.getAttr())->getLoc())
      << "it is computed from '" << name
      << "', of which each replica has a mirror and here assigns its own value";
}

static LogicalResult check(AllReduceOp op, const Differences &differences) {
  auto replicas = op->getParentOfType<ReplicateOp>();
  if (!replicas)
    return op.getDevices() ? success()
                           : op.emitOpError("outside of gantry.replicate needs devices, one for "
                                            "each value");
  if (op.getDevices())
    return op.emitOpError("in a replicated region takes one value and no devices");
  for (Operation *above = op->getParentOp(); above != replicas; above = above->getParentOp()) {
    Value condition = conditionAt(above);
    if (!condition || !differences.contains(condition))
      continue;
    InFlightDiagnostic error =
        op.emitOpError() << "is inside of a " << above->getName()
                         << " whose condition may differ between the replicas, so that not all of "
                            "them would take part; compute the condition from what they have in "
                            "common: constants, broadcast inputs, results of gantry.all_reduce";
    error.attachNote(condition.getLoc()) << "the condition";
    differences.explain(condition, error);
    return error;
  }
  return success();
}

namespace {
struct CheckCollectives : gantry::impl::CheckCollectivesPassBase<CheckCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Differences differences(getOperation());
    auto result = getOperation().walk([&](AllReduceOp op) {
      return failed(check(op, differences)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
