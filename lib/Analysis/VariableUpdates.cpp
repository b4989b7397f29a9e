#include "gantry/Analysis/VariableUpdates.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

SmallVector<VariableUpdate> gantry::variableUpdatesOf(func::FuncOp func) {
  DenseMap<Attribute, BlockArgument> old;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (Attribute variable = func.getArgAttr(i, kVariableAttr))
      old[variable] = func.getArgument(i);
  SmallVector<VariableUpdate> updates;
  Operation *terminator = func.getBody().front().getTerminator();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (Attribute variable = func.getResultAttr(i, kVariableAttr))
      updates.push_back({old.lookup(variable), &terminator->getOpOperand(i)});
  return updates;
}
