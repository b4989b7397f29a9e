#include "InPlace.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace {
/// A use of a kernel's argument, as a whole or through the window that a work item has of it.
struct Access {
  Operation *op;
  Value memory;      ///< the argument or the window
  Operation *window; ///< null: the argument itself
};
} // namespace

static SmallVector<Access> accessesOf(BlockArgument argument) {
  SmallVector<Access> accesses;
  for (Operation *user : argument.getUsers()) {
    auto window = dyn_cast<ViewLikeOpInterface>(user);
    if (!window || window.getViewSource() != argument || user->getNumResults() != 1)
      accesses.push_back({user, argument, nullptr});
    else
      for (Operation *inner : user->getResult(0).getUsers())
        accesses.push_back({inner, user->getResult(0), user});
  }
  return accesses;
}

/// Whether two windows show the elements at the same places.
static bool isSameWindow(Operation *a, Operation *b) {
  return a == b || (a && b && a->getName() == b->getName() &&
                    a->getAttrDictionary() == b->getAttrDictionary() &&
                    a->getOperand(0).getType() == b->getOperand(0).getType() &&
                    a->getOperands().drop_front() == b->getOperands().drop_front());
}

static bool isStore(const Access &access) {
  Operation *op = access.op;
  return op->getNumResults() == 0 && op->getNumOperands() >= 2 &&
         op->getOperand(1) == access.memory && op->getOperand(0) != access.memory &&
         hasEffect<MemoryEffects::Write>(op);
}

/// A load and, behind it in its block, a store of the element at its place.
static bool isPair(const Access &read, const Access &write) {
  return write.op->getBlock() == read.op->getBlock() && read.op->isBeforeInBlock(write.op) &&
         isSameWindow(read.window, write.window) &&
         read.op->getOperands().drop_front() == write.op->getOperands().drop_front(2);
}

bool gantry::schedule::isReadBeforeWritten(BlockArgument source, BlockArgument target) {
  SmallVector<Access> writes = accessesOf(target);
  if (!llvm::all_of(writes, isStore))
    return false;
  return llvm::all_of(accessesOf(source), [&](const Access &read) {
    return read.op->getNumResults() == 1 && hasEffect<MemoryEffects::Read>(read.op) &&
           llvm::any_of(writes, [&](const Access &write) { return isPair(read, write); });
  });
}
