// Takes back from a kernel what its code does not keep: that its result may overwrite an argument.
//
// Fuse says so by what the ops mean, index by index. The code of a kernel may do its work in
// several loops all the same, and collect in the result what a later one still reads the argument
// for. So the loops are looked at, here, where they are made: each element is read right before the
// one at its place is written, and never later. What is written without reading, as by an update,
// is written behind all of that; no other element is written twice.

#include "gantry/Target/CPU/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_KEEPINPLACEPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

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

/// Whether all of `read` is over when `write` begins: by the kernel's outermost ops.
static bool isOver(const Access &read, const Access &write, Block &body) {
  Operation *first = body.findAncestorOpInBlock(*read.op),
            *then = body.findAncestorOpInBlock(*write.op);
  return first != then && first->isBeforeInBlock(then);
}

static bool isReadBeforeWritten(BlockArgument source, BlockArgument target) {
  SmallVector<Access> reads = accessesOf(source), writes = accessesOf(target);
  if (!llvm::all_of(writes, isStore))
    return false;
  llvm::SmallPtrSet<Operation *, 4> pairs;
  for (const Access &read : reads) {
    if (read.op->getNumResults() != 1 || !hasEffect<MemoryEffects::Read>(read.op))
      return false;
    auto pair = llvm::find_if(writes, [&](const Access &write) { return isPair(read, write); });
    if (pair == writes.end())
      return false;
    pairs.insert(pair->op);
  }
  return llvm::all_of(writes, [&](const Access &write) {
    return pairs.contains(write.op) || llvm::all_of(reads, [&](const Access &read) {
             return isOver(read, write, *target.getOwner());
           });
  });
}

/// The buffer of the one result: the last one, but for scratch memory.
static BlockArgument resultOf(func::FuncOp kernel, WorkAttr work) {
  SmallVector<BlockArgument> buffers;
  for (BlockArgument argument : kernel.getArguments())
    if (isa<MemRefType>(argument.getType()))
      buffers.push_back(argument);
  return buffers[buffers.size() - (work.getScratch() ? 2 : 1)];
}

namespace {
struct KeepInPlace : gantry::impl::KeepInPlacePassBase<KeepInPlace> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    WorkAttr work = WorkAttr::of(kernel);
    if (kernel.isExternal() || !work.getInPlace())
      return;
    BlockArgument result = resultOf(kernel, work);
    SmallVector<int64_t> kept;
    for (int64_t argument : work.getInPlace().asArrayRef())
      if (isReadBeforeWritten(kernel.getArgument(argument), result))
        kept.push_back(argument);
    kernel->setAttr(kWorkAttr, work.withInPlace(kept));
  }
};
} // namespace
