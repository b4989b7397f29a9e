// Computes a cheap value again in each kernel that reads it, where it is made of what is held for
// these kernels anyway.
//
// A kernel whose result others read much later writes it to memory, and it is held for them: the
// normalised image of a batch norm from the forward pass to the backward one, beside the image that
// it is made of by mean and deviation. A kernel that makes it again reads that instead. Less is
// read and written, what is held longer is no more than what is not held any more, and no bit
// changes.
//
// What a reduction in the same kernel gives, as the mean, is small beside the value: it is made
// once, and becomes the kernel's result.
//
// Kernels are those that gantry-form-kernels makes of the block; a value stays where one of its
// readers can't have the ops that make it.

#include "Groups.h"

#include "gantry/Analysis/VariableUpdates.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CLONECHEAPOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Of a value: the ops that make it again, the kernels that do, and the least that is worth it.
static constexpr size_t kMostOps = 4, kMostReaders = 4;
static constexpr uint64_t kLeastBytes = 4096;

/// Takes less time for an element than reading it from memory.
static bool isCheap(Operation *op) {
  return isa<AddOp, SubOp, MulOp, NegOp, AbsOp, ReluOp, MaximumOp, MinimumOp, SelectOp>(op);
}

static uint64_t bytesOf(Value value) { return getByteSize(typeOf(value)); }

namespace {
using Ops = llvm::SmallSetVector<Operation *, kMostOps>;
using Values = llvm::SmallSetVector<Value, 8>;

/// The values of one block.
class Cloner {
public:
  Cloner(Block &block, const TargetMap &targets)
      : block(block), targets(targets), groups(kernelGroupsOf(block, targets)),
        where(block, groups) {
    if (auto func = dyn_cast<func::FuncOp>(block.getParentOp()))
      for (auto [old, next] : variableUpdatesOf(func))
        if (old)
          updates[old] = skipViews(next->get()).getDefiningOp();
  }

  void run() {
    for (size_t i = 0; i < groups.size(); ++i)
      for (Operation *root : llvm::to_vector(groups[i].roots))
        if (isCheap(root) && bytesOf(root->getResult(0)) >= kLeastBytes)
          visit(i, root);
    for (Operation *op : unread)
      op->erase();
  }

private:
  void visit(size_t own, Operation *root) {
    llvm::SmallSetVector<size_t, kMostReaders> readers;
    if (!findReaders(own, root->getResult(0), readers))
      return;
    Ops ops;
    Values inputs;
    if (!collect(own, root, root, ops, inputs) || !isGain(root, readers.getArrayRef(), inputs))
      return;
    cloneInto(readers.getArrayRef(), root, ops, inputs);
  }

  /// The other groups that read the value, element by element; false where something else does, or
  /// too many, or none.
  bool findReaders(size_t own, Value value,
                   llvm::SmallSetVector<size_t, kMostReaders> &readers) const {
    for (OpOperand &use : value.getUses()) {
      if (unread.contains(use.getOwner()))
        continue;
      auto group = groupOf.find(use.getOwner());
      if (group == groupOf.end())
        return false;
      if (group->second == own)
        continue;
      readers.insert(group->second);
      if (!isElementwiseUse(use) || readers.size() > kMostReaders)
        return false;
    }
    return !readers.empty();
  }

  /// The ops of the group that make what `op` gives, operands first, and what they read of others.
  bool collect(size_t own, Operation *op, Operation *root, Ops &ops, Values &inputs) const {
    if (!isCheap(op) || ops.size() == kMostOps)
      return false;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      auto group = maker ? groupOf.find(maker) : groupOf.end();
      const bool isInside = group != groupOf.end() && group->second == own;
      if (!isInside || (maker != root && llvm::is_contained(groups[own].roots, maker)) ||
          isSmallBeside(operand, root))
        inputs.insert(operand);
      else if (!ops.contains(maker) && !collect(own, maker, root, ops, inputs))
        return false;
    }
    return ops.insert(op);
  }

  /// Whether it is stored without being missed.
  static bool isSmallBeside(Value value, Operation *root) {
    return bytesOf(value) * 16 <= bytesOf(root->getResult(0));
  }

  /// Whether less is read and written, and no more is held longer than is not held any more.
  bool isGain(Operation *root, ArrayRef<size_t> readers, const Values &inputs) const {
    const uint64_t bytes = bytesOf(root->getResult(0));
    uint64_t gained = bytes * (1 + readers.size()), lost = 0, longer = 0;
    for (Value input : inputs) {
      Value value = skipViews(input);
      bool isHeld = true;
      for (size_t reader : readers) {
        if (isAnotherAt(value, groups[reader].place))
          return false;
        if (!isReadBy(value, reader))
          lost += bytesOf(input);
        isHeld &= isHeldAt(value, groups[reader].place);
      }
      longer += isHeld || isSmallBeside(input, root) ? 0 : bytesOf(input);
    }
    return lost < gained && longer <= bytes;
  }

  /// Whether it is a variable that may have its next value by then.
  bool isAnotherAt(Value value, Operation *place) const {
    auto update = updates.find(value);
    return update != updates.end() &&
           (!update->second || where.runsAt(update->second) <= placeOf.lookup(place));
  }

  bool isReadBy(Value value, size_t group) const {
    return llvm::any_of(groups[group].ops, [&](Operation *op) {
      return llvm::any_of(op->getOperands(),
                          [&](Value operand) { return skipViews(operand) == value; });
    });
  }

  /// Whether the value is there at the place in any case: the caller has it, or it is read there or
  /// behind.
  bool isHeldAt(Value value, Operation *place) const {
    Operation *maker = value.getDefiningOp();
    if (!maker || isa<ConstantOp>(maker) || maker->getBlock() != &block)
      return true;
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isView(user))
        return isHeldAt(user->getResult(0), place);
      return !unread.contains(user) && where.runsAt(user) >= placeOf.lookup(place);
    });
  }

  /// All readers, or none: the value is not to be stored any more.
  void cloneInto(ArrayRef<size_t> readers, Operation *root, const Ops &ops, const Values &inputs) {
    SmallVector<std::pair<OpOperand *, Value>> replaced;
    SmallVector<SmallVector<Operation *>> made;
    bool fit = true;
    for (size_t reader : readers)
      fit = fit && cloneInto(groups[reader], root, ops, replaced, made.emplace_back());
    if (!fit) {
      for (auto [use, before] : replaced)
        use->set(before);
      for (SmallVector<Operation *> &clones : made)
        for (Operation *op : llvm::reverse(clones))
          op->erase();
      return;
    }
    for (auto [reader, clones] : llvm::zip(readers, made)) {
      for (Operation *op : clones) {
        groupOf[op] = reader;
        placeOf[op] = placeOf.lookup(groups[reader].ops.front());
      }
      groups[reader].ops.insert(groups[reader].ops.begin(), clones.begin(), clones.end());
    }
    drop(groups[groupOf.lookup(root)], root, ops, inputs);
  }

  /// The value is not the group's result any more, but what it reads of the group is.
  void drop(KernelGroup &group, Operation *root, const Ops &ops, const Values &inputs) {
    llvm::erase(group.roots, root);
    for (Value input : inputs)
      if (Operation *maker = input.getDefiningOp();
          maker && llvm::is_contained(group.ops, maker) && !llvm::is_contained(group.roots, maker))
        group.roots.push_back(maker);
    for (Operation *op : llvm::reverse(ops))
      if (llvm::all_of(op->getUsers(), [&](Operation *user) { return unread.contains(user); })) {
        unread.insert(op);
        llvm::erase(group.ops, op);
      }
  }

  /// Whether all clones may be computed in the group.
  bool cloneInto(const KernelGroup &group, Operation *root, const Ops &ops,
                 SmallVectorImpl<std::pair<OpOperand *, Value>> &replaced,
                 SmallVectorImpl<Operation *> &clones) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : root->getResult(0).getUses())
      if (llvm::is_contained(group.ops, use.getOwner()))
        uses.push_back(&use);
    auto first = llvm::find_if(group.ops, [&](Operation *op) {
      return llvm::any_of(uses, [&](OpOperand *use) { return use->getOwner() == op; });
    });
    OpBuilder b(*first);
    IRMapping mapping;
    for (Operation *op : ops) {
      clones.push_back(b.clone(*op, mapping));
      clones.back()->setLoc(
          computedAgain(ofStepPart(op->getLoc(), stepPartOf((*first)->getLoc()))));
    }
    for (OpOperand *use : uses) {
      replaced.push_back({use, use->get()});
      use->set(clones.back()->getResult(0));
    }
    SmallVector<Operation *> members = rootsFirst(group);
    for (Operation *op : llvm::reverse(clones)) {
      if (!mayJoinGroup(op, members, targets))
        return false;
      members.push_back(op);
    }
    return true;
  }

  Block &block;
  const TargetMap &targets;
  std::vector<KernelGroup> groups;
  KernelPlaces where;
  DenseMap<Operation *, size_t> &placeOf = where.placeOf, &groupOf = where.groupOf;
  /// By what a variable holds before the block gives it another value: what makes that.
  DenseMap<Value, Operation *> updates;
  llvm::SmallSetVector<Operation *, 8> unread; ///< in the order in which their users went
};

struct CloneCheapOps : gantry::impl::CloneCheapOpsPassBase<CloneCheapOps> {
  void runOnOperation() override {
    TargetMap targets(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](Block *block) { Cloner(*block, targets).run(); });
  }
};
} // namespace
