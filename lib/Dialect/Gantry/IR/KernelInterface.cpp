// What passes ask ops that run as kernels (KernelOpInterface).

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

bool gantry::detail::isOfGantry(Operation *op) {
  return isa_and_nonnull<GantryDialect>(op->getDialect());
}

static bool isGenerator(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() == FusionKind::Generator;
}

bool gantry::isMadeOfNothing(Operation *op) {
  return isGenerator(op) && op->getNumOperands() == 0 && op->getNumResults() == 1;
}

Type gantry::kernelElementType(Operation *op) {
  if (op->getNumOperands() && !isGenerator(op))
    return getElementTypeOrSelf(op->getOperand(0).getType());
  return op->getNumResults() ? getElementTypeOrSelf(op->getResult(0).getType()) : Type();
}

StringRef gantry::fusionKindName(FusionKind kind) {
  switch (kind) {
  case FusionKind::Elementwise:
    return "elementwise";
  case FusionKind::Reduction:
    return "reduction";
  case FusionKind::Contraction:
    return "contraction";
  case FusionKind::Movement:
    return "movement";
  case FusionKind::View:
    return "view";
  case FusionKind::Indexing:
    return "indexing";
  case FusionKind::Generator:
    return "generator";
  case FusionKind::Opaque:
    return "opaque";
  }
  llvm_unreachable("a fusion kind without a name");
}
