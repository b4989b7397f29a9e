#include "gantry/Analysis/InPlace.h"

using namespace mlir;
using namespace gantry;

/// Whether everything that is made of `value` is made index by index.
static bool isReadWhereWritten(Value value, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<YieldOp>(user))
      return true;
    auto kernel = dyn_cast<KernelOpInterface>(user);
    bool isUpdated = kernel && kernel.updatesOperand(use.getOperandNumber());
    return user->getNumResults() == 1 && (isUpdated || isElementwiseUse(use)) &&
           isReadWhereWritten(user->getResult(0), seen);
  });
}

SmallVector<int64_t> gantry::argumentsToOverwrite(KernelOp kernel) {
  SmallVector<int64_t> arguments;
  Operation *yield = kernel.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1)
    return arguments;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    DenseSet<Value> seen;
    if (argument.getType() == yield->getOperand(0).getType() && isReadWhereWritten(argument, seen))
      arguments.push_back(argument.getArgNumber());
  }
  return arguments;
}

SmallVector<int64_t> gantry::argumentsLikeResult(KernelOp kernel) {
  SmallVector<int64_t> arguments;
  Operation *yield = kernel.getBody().front().getTerminator();
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (yield->getNumOperands() == 1 && argument.getType() == yield->getOperand(0).getType())
      arguments.push_back(argument.getArgNumber());
  return arguments;
}
