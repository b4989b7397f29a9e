// In-place safety analysis: takes back from a kernel what its code does not keep: that its result
// may overwrite an argument.
//
// Fuse says what may be tried, and the code of a kernel may do its work in any number of loops. So
// the loops are looked at, here, where they are made, and each read of the argument has to be one
// of two. Paired: the element is read right before the one at its place is written. Or early: it is
// over before anything is written that another read may want; in a kernel of many work items that
// is known of what an item reads in the window that it writes, and of no other item's. So a row is
// read to its end, maximum and all, before its first element changes. What is written without
// reading, as by an update, is written behind all reads; no other element is written twice.

#include "gantry/Analysis/InPlace.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKINPLACESAFETYPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

namespace {
/// A use of a kernel's argument, as a whole or through views of it.
struct Access {
  Operation *op;
  Value memory;                    ///< the argument or the last view
  SmallVector<Operation *, 2> via; ///< the views, first one first
};

/// A kernel and what is asked of it.
struct Overwriting {
  func::FuncOp kernel;
  BlockArgument result = {}; ///< the one that is asked about
  bool isOneItem;
  SmallVector<Access> reads, writes;
  SmallVector<Access> collected; ///< reads of the result

  Overwriting(func::FuncOp kernel, WorkAttr work)
      : kernel(kernel), isOneItem(work.getItems() <= 1) {}

  bool mayReplace(BlockArgument argument, BlockArgument by);
  bool isOver(const Access &before, const Access &after);
  bool isOverInItem(const Access &before, const Access &after);
  bool areAllOverBefore(const Access &access);
};
} // namespace

static void addAccesses(Value memory, ArrayRef<Operation *> via,
                        SmallVectorImpl<Access> &accesses) {
  for (Operation *user : memory.getUsers()) {
    auto view = dyn_cast<ViewLikeOpInterface>(user);
    if (!view || view.getViewSource() != memory || user->getNumResults() != 1) {
      accesses.push_back({user, memory, SmallVector<Operation *, 2>(via)});
      continue;
    }
    SmallVector<Operation *, 2> longer(via);
    longer.push_back(user);
    addAccesses(user->getResult(0), longer, accesses);
  }
}

/// Whether two views show the elements at the same places of what they are views of.
static bool isSameView(Operation *a, Operation *b) {
  return a == b ||
         (a->getName() == b->getName() && a->getAttrDictionary() == b->getAttrDictionary() &&
          a->getOperand(0).getType() == b->getOperand(0).getType() &&
          a->getResult(0).getType() == b->getResult(0).getType() &&
          a->getOperands().drop_front() == b->getOperands().drop_front());
}

static bool areSameViews(ArrayRef<Operation *> a, ArrayRef<Operation *> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return isSameView(std::get<0>(pair), std::get<1>(pair));
         });
}

static bool isStore(const Access &access) {
  Operation *op = access.op;
  return op->getNumResults() == 0 && op->getNumOperands() >= 2 &&
         op->getOperand(1) == access.memory && op->getOperand(0) != access.memory &&
         hasEffect<MemoryEffects::Write>(op);
}

static bool isLoad(const Access &access) {
  return access.op->getNumResults() == 1 && hasEffect<MemoryEffects::Read>(access.op) &&
         !hasEffect<MemoryEffects::Write>(access.op);
}

/// A load and, behind it in its block, a store of the element at its place.
static bool isPair(const Access &read, const Access &write) {
  return write.op->getBlock() == read.op->getBlock() && read.op->isBeforeInBlock(write.op) &&
         areSameViews(read.via, write.via) &&
         read.op->getResult(0).getType() == write.op->getOperand(0).getType() &&
         read.op->getOperands().drop_front() == write.op->getOperands().drop_front(2);
}

static bool comesBefore(Block &block, Operation *first, Operation *then) {
  first = block.findAncestorOpInBlock(*first);
  then = block.findAncestorOpInBlock(*then);
  return first && then && first != then && first->isBeforeInBlock(then);
}

/// By the kernel's outermost ops; of several items, another one may be ahead.
bool Overwriting::isOver(const Access &before, const Access &after) {
  return isOneItem && comesBefore(kernel.getBody().front(), before.op, after.op);
}

/// The loop over the range of work items that the kernel is called with: its last two arguments.
static scf::ForOp itemsAround(Operation *op, func::FuncOp kernel) {
  Operation *outermost = kernel.getBody().front().findAncestorOpInBlock(*op);
  auto loop = dyn_cast_or_null<scf::ForOp>(outermost);
  unsigned end = kernel.getNumArguments() - 1;
  bool isOfItems = loop && end > 0 && loop.getLowerBound() == kernel.getArgument(end - 1) &&
                   loop.getUpperBound() == kernel.getArgument(end);
  return isOfItems ? loop : scf::ForOp();
}

/// The views up to the window that the work item has, when it makes that itself.
static ArrayRef<Operation *> windowOf(const Access &access, Block &item) {
  for (auto [i, view] : llvm::enumerate(access.via))
    if (isa<memref::SubViewOp>(view))
      return view->getBlock() == &item ? ArrayRef(access.via).take_front(i + 1)
                                       : ArrayRef<Operation *>();
  return {};
}

/// By the ops of a work item, which has both in one window. Items write windows apart.
bool Overwriting::isOverInItem(const Access &before, const Access &after) {
  scf::ForOp items = itemsAround(before.op, kernel);
  if (!items || !items->isAncestor(after.op) || !comesBefore(*items.getBody(), before.op, after.op))
    return false;
  ArrayRef<Operation *> window = windowOf(before, *items.getBody());
  return isOneItem || (!window.empty() && areSameViews(window, windowOf(after, *items.getBody())));
}

bool Overwriting::areAllOverBefore(const Access &access) {
  return llvm::all_of(reads, [&](const Access &read) {
    return isOver(read, access) || isOverInItem(read, access);
  });
}

bool Overwriting::mayReplace(BlockArgument argument, BlockArgument by) {
  result = by;
  reads.clear(), writes.clear(), collected.clear();
  if (argument.getType() != result.getType())
    return false;
  addAccesses(argument, {}, reads);
  SmallVector<Access> all;
  addAccesses(result, {}, all);
  for (Access &access : all)
    (isStore(access) ? writes : collected).push_back(access);
  if (!llvm::all_of(reads, isLoad) || !llvm::all_of(collected, [&](const Access &access) {
        return isLoad(access) && areAllOverBefore(access);
      }))
    return false;
  llvm::SmallPtrSet<Operation *, 4> paired;
  for (const Access &read : reads) {
    auto pair = llvm::find_if(writes, [&](const Access &write) { return isPair(read, write); });
    if (pair != writes.end())
      paired.insert(pair->op);
    else if (!llvm::all_of(writes, [&](const Access &write) {
               return isOver(read, write) || isOverInItem(read, write);
             }))
      return false;
  }
  return llvm::all_of(writes, [&](const Access &write) {
    return paired.contains(write.op) || areAllOverBefore(write);
  });
}

/// The buffer of a result: the last ones, but for scratch memory.
static BlockArgument resultOf(func::FuncOp kernel, WorkAttr work, int64_t fromLast) {
  SmallVector<BlockArgument> buffers;
  for (BlockArgument argument : kernel.getArguments())
    if (isa<MemRefType>(argument.getType()))
      buffers.push_back(argument);
  return buffers[buffers.size() - (work.getScratch() ? 2 : 1) - fromLast];
}

namespace {
struct CheckInPlaceSafety : gantry::impl::CheckInPlaceSafetyPassBase<CheckInPlaceSafety> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    WorkAttr work = WorkAttr::of(kernel);
    if (kernel.isExternal() || !work.getInPlace())
      return;
    SmallVector<InPlace> kept;
    Overwriting overwriting(kernel, work);
    for (const InPlace &place : inPlacesOf(work))
      if (overwriting.mayReplace(kernel.getArgument(place.argument),
                                 resultOf(kernel, work, place.fromLast)))
        kept.push_back(place);
    kernel->setAttr(kWorkAttr, withInPlaces(work, kept));
  }
};
} // namespace
