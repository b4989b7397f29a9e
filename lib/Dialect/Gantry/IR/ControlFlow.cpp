// Where control goes in branches and loops, and which values go along: what MLIR's interfaces ask.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

static bool isCondition(Region *region) {
  auto loop = dyn_cast<WhileOp>(region->getParentOp());
  return loop && region == &loop.getConditionBody();
}

/// The flag that a condition yields decides which way to go, and goes nowhere.
MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  if (isCondition((*this)->getParentRegion()))
    return MutableOperandRange(*this, /*start=*/0, /*length=*/0);
  return getValuesMutable();
}

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(getOperation(), getResults());
    return;
  }
  successors.emplace_back(&getThenBody());
  successors.emplace_back(&getElseBody());
}

OperandRange WhileOp::getEntrySuccessorOperands(RegionSuccessor) { return getInits(); }

void WhileOp::getSuccessorRegions(RegionBranchPoint point,
                                  SmallVectorImpl<RegionSuccessor> &successors) {
  Operation *end = point.getTerminatorPredecessorOrNull();
  if (end && isCondition(end->getParentRegion())) {
    successors.emplace_back(&getBody());
    successors.emplace_back(getOperation(), getResults().take_front(0));
    return;
  }
  // What the condition gets is what the body gets after it, or what is given.
  for (Region *region : {&getConditionBody(), &getBody()})
    successors.emplace_back(region, region->getArguments());
  successors.emplace_back(getOperation(), getResults());
}
