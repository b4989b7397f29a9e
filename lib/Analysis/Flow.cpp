#include "gantry/Analysis/Flow.h"

using namespace mlir;
using namespace gantry;

using Visit = function_ref<void(OpOperand &source, Value input)>;

/// What flows from one point: the op itself, or the end of a region.
static void forEachFlowFrom(RegionBranchOpInterface op, RegionBranchPoint point, Visit visit) {
  Operation *from = point.isParent() ? op.getOperation() : point.getTerminatorPredecessorOrNull();
  SmallVector<RegionSuccessor> successors;
  op.getSuccessorRegions(point, successors);
  for (RegionSuccessor successor : successors) {
    OperandRange operands = op.getSuccessorOperands(point, successor);
    for (auto [i, input] : llvm::enumerate(successor.getSuccessorInputs()))
      visit(from->getOpOperand(operands.getBeginOperandIndex() + i), input);
  }
}

/// The ends of the regions, in order.
static SmallVector<RegionBranchPoint> endsOf(RegionBranchOpInterface op) {
  SmallVector<RegionBranchPoint> ends;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (auto end = dyn_cast<RegionBranchTerminatorOpInterface>(block.back()))
        ends.push_back(end);
  return ends;
}

void gantry::forEachFlow(RegionBranchOpInterface op, Visit visit) {
  forEachFlowFrom(op, RegionBranchPoint::parent(), visit);
  for (RegionBranchPoint end : endsOf(op))
    forEachFlowFrom(op, end, visit);
}

OpOperand *gantry::initialSource(RegionBranchOpInterface op, Value input) {
  OpOperand *found = nullptr;
  forEachFlowFrom(op, RegionBranchPoint::parent(), [&](OpOperand &source, Value target) {
    if (target == input)
      found = &source;
  });
  return found;
}

SmallVector<OpOperand *> gantry::yieldedSources(RegionBranchOpInterface op, Value input) {
  SmallVector<OpOperand *> sources;
  for (RegionBranchPoint end : endsOf(op))
    forEachFlowFrom(op, end, [&](OpOperand &source, Value target) {
      if (target == input)
        sources.push_back(&source);
    });
  return sources;
}

OpResult gantry::resultOf(OpOperand &use) {
  Operation *user = use.getOwner();
  auto op = dyn_cast<RegionBranchOpInterface>(user);
  auto end = dyn_cast<RegionBranchTerminatorOpInterface>(user);
  if (end)
    op = dyn_cast<RegionBranchOpInterface>(user->getParentOp());
  OpResult found;
  if (op)
    forEachFlowFrom(op, end ? RegionBranchPoint(end) : RegionBranchPoint::parent(),
                    [&](OpOperand &source, Value target) {
                      if (&source == &use && isa<OpResult>(target))
                        found = cast<OpResult>(target);
                    });
  return found;
}

OpResult gantry::resultOf(BlockArgument argument) {
  auto op = dyn_cast<RegionBranchOpInterface>(argument.getOwner()->getParentOp());
  OpOperand *source = op ? initialSource(op, argument) : nullptr;
  return source ? resultOf(*source) : OpResult();
}

Value gantry::conditionOf(RegionBranchOpInterface op) {
  llvm::SmallPtrSet<OpOperand *, 8> forwarded;
  forEachFlow(op, [&](OpOperand &source, Value) { forwarded.insert(&source); });
  SmallVector<Operation *> points{op};
  for (RegionBranchPoint end : endsOf(op))
    points.push_back(end.getTerminatorPredecessorOrNull());
  for (Operation *point : points)
    for (OpOperand &operand : point->getOpOperands())
      if (!forwarded.contains(&operand))
        return operand.get();
  return {};
}

bool gantry::runsOneRegion(RegionBranchOpInterface op) {
  return llvm::all_of(endsOf(op), [&](RegionBranchPoint end) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(end, successors);
    return llvm::all_of(successors, [](RegionSuccessor next) { return next.isParent(); });
  });
}
