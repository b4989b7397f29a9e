#include "gantry/Target/FusionPolicy.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

/// Longest group: beyond it code gets slower to compile, not faster to run.
static constexpr size_t kMaxOps = 32;
/// Most operands in a group; only ops with any number of them reach it before kMaxOps.
static constexpr size_t kMaxOperands = 5 * kMaxOps;

static bool isElementwise(Operation *op) {
  return cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Elementwise;
}

static size_t countOperands(ArrayRef<Operation *> group) {
  size_t count = 0;
  for (Operation *op : group)
    count += op->getNumOperands();
  return count;
}

/// Whether op and group each have many operands, and what makes those would not all fit in: it
/// would be a kernel for each.
static bool isCrowded(Operation *op, ArrayRef<Operation *> group) {
  auto hasMany = [](Operation *each) { return each->getNumOperands() > 3; };
  // In a group each op but the root makes one of the operands.
  size_t makers = countOperands(group) + op->getNumOperands() - group.size();
  return hasMany(op) && llvm::any_of(group, hasMany) && group.size() + 1 + makers > kMaxOps;
}

bool gantry::fitsSizeOfGroup(Operation *op, ArrayRef<Operation *> group) {
  return op->getNumResults() == 1 && group.size() < kMaxOps &&
         (group.empty() || countOperands(group) + op->getNumOperands() <= kMaxOperands) &&
         !isCrowded(op, group);
}

bool gantry::fitsElementwiseGroup(Operation *op, ArrayRef<Operation *> group) {
  // Elementwise uses all along to the root mean one index space.
  if (!fitsSizeOfGroup(op, group) || !llvm::all_of(op->getUses(), isElementwiseUse))
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
