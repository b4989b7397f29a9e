#include "FusionPolicy.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

/// Longest group: beyond it code gets slower to compile, not faster to run.
static constexpr size_t kMaxOps = 32;

static bool isElementwise(Operation *op) {
  return cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Elementwise;
}

bool gantry::fitsGroup(Operation *op, ArrayRef<Operation *> group) {
  // Elementwise uses all along to the root mean one index space.
  if (op->getNumResults() != 1 || group.size() >= kMaxOps ||
      !llvm::all_of(op->getUses(), isElementwiseUse))
    return false;
  switch (cast<KernelOpInterface>(op).getFusionKind()) {
  case FusionKind::Elementwise:
    // Before an elementwise op of the same index space. (In front of a reduction it would be
    // computed per tile; that is right only along whole rows, so it stays apart.)
    return true;
  case FusionKind::Contraction:
  case FusionKind::Reduction:
    return llvm::all_of(group, isElementwise);
  default:
    return false;
  }
}
