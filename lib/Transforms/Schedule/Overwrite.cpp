#include "Overwrite.h"

#include "gantry/Dialect/Gantry/IR/Notes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

/// Whether every use of `value` and of its views is a launch of the queue, none of them after
/// `last`.
static bool isReadUpTo(LaunchOp last, Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isView(user))
      return isReadUpTo(last, user->getResult(0));
    Operation *around = last->getBlock()->findAncestorOpInBlock(*user);
    return isa<LaunchOp>(user) && around && !last->isBeforeInBlock(around) &&
           user->getAttr(kDeviceAttr) == last->getAttr(kDeviceAttr);
  });
}

/// Whether the kernel may write over every operand that is `value`.
static bool mayOverwriteAll(LaunchOp launch, WorkAttr work, Value value) {
  return llvm::all_of(launch->getOpOperands(), [&](OpOperand &operand) {
    return skipViews(operand.get()) != value || work.mayTakePlaceOf(operand.getOperandNumber());
  });
}

Value gantry::schedule::valueToOverwrite(LaunchOp launch, WorkAttr work) {
  if (!work.getInPlace() || launch->getNumResults() != 1)
    return {};
  for (int64_t argument : work.getInPlace().asArrayRef()) {
    Value value = skipViews(launch->getOperand(argument));
    Operation *maker = value.getDefiningOp();
    // Made here, and only for here: a loop around would need it again.
    if (isa_and_present<LaunchOp, CopyOp>(maker) && maker->getBlock() == launch->getBlock() &&
        mayOverwriteAll(launch, work, value) && isReadUpTo(launch, value))
      return value;
  }
  return {};
}
