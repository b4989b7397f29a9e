#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;

/// Ops of other dialects say by interface alone what they are, so that their form is looked at.
bool gantry::isView(Operation *op) {
  auto kernel = dyn_cast_if_present<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() == FusionKind::View && op->getNumOperands() != 0 &&
         op->getNumResults() == 1;
}

Value gantry::skipViews(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}
