// Groups ops into kernels.
//
// Ops are visited users first. An op joins the group of its users when they are all in one group
// and it may; else it starts a group of its own, whose only results are its own. So
// groups have one root, never form cycles, and nothing is computed twice. Which of two ops that
// exclude each other joins is a matter of operands, never of the order in which the graph lists its
// ops. But what ends a large value, and is small, stays apart where its users come much later.
//
// Then groups that go through the same elements become one, with several roots: what both read is
// read once, and what one makes for the other goes through registers. An optimizer's step of a
// variable is one kernel that way. They have to be able to run at one place of the block, without
// holding more memory between their own places.

#include "gantry/Analysis/KernelGroups.h"

#include "gantry/Analysis/VariableUpdates.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "llvm/ADT/SetVector.h"

#include <memory>

using namespace mlir;
using namespace gantry;

using Group = SmallVector<Operation *, 4>; ///< root first, then in reverse order of the block

static bool isComputed(Operation &op) { return isa<KernelOpInterface>(op) && !isView(&op); }

/// The group that holds every user of `op`, or null.
static Group *commonGroupOfUsers(Operation &op, const DenseMap<Operation *, Group *> &groupOf) {
  Group *common = nullptr;
  for (Operation *user : op.getUsers()) {
    Group *group = groupOf.lookup(user);
    if (!group || (common && group != common))
      return nullptr;
    common = group;
  }
  return common;
}

/// The ops of the block, users before what they use: from the block's results along the operands,
/// the last operand first.
static std::vector<Operation *> usersFirst(Block &block) {
  struct Frame {
    Operation *op;
    SmallVector<Operation *, 4> makers; ///< of what it and the ops in it read, last one first
  };
  std::vector<Operation *> order;
  std::vector<Frame> stack;
  DenseSet<Operation *> seen;
  auto enter = [&](Operation *op) {
    if (!seen.insert(op).second)
      return;
    Frame frame{op, {}};
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          if (maker = block.findAncestorOpInBlock(*maker); maker && maker != op)
            frame.makers.push_back(maker);
    });
    std::reverse(frame.makers.begin(), frame.makers.end());
    stack.push_back(std::move(frame));
  };
  for (Operation &op : llvm::reverse(block)) { // all but the first are dead, if not seen by then
    enter(&op);
    while (!stack.empty()) {
      if (stack.back().makers.empty()) {
        order.push_back(stack.back().op);
        stack.pop_back();
      } else {
        enter(stack.back().makers.pop_back_val());
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Large values, and what is small beside them.
static constexpr uint64_t kLargeBytes = 1 << 18, kSmallPart = 4;

static uint64_t sizeOf(Value value) { return getByteSize(typeOf(value)); }

static bool isElementwise(Operation &op) {
  return cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Elementwise;
}

/// Whether a large value ends at the op, of which a small one is kept, as the truth values of a
/// relu are: in the kernel of its users it would be held as long as these wait for others.
static bool endsLargeValue(Operation *op, const Group &group) {
  if (op->getNumResults() != 1 || !isElementwise(*op))
    return false;
  const uint64_t kept = kSmallPart * sizeOf(op->getResult(0));
  auto isBehind = [&](Operation *user) {
    Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
    return own != op && op->isBeforeInBlock(own);
  };
  const bool ends = llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return maker && maker->getBlock() == op->getBlock() && isComputed(*maker) &&
           sizeOf(operand) >= std::max(kLargeBytes, kept) &&
           llvm::none_of(operand.getUsers(), isBehind);
  });
  if (!ends)
    return false;
  for (Operation *other = op->getNextNode(); other && other != group.front();
       other = other->getNextNode())
    if (isComputed(*other) && !isElementwise(*other) && !llvm::is_contained(group, other))
      return true;
  return false;
}

static std::vector<KernelGroup> groupByRoots(Block &block, MayJoin mayJoin) {
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
  for (Operation *op : usersFirst(block)) {
    if (!isComputed(*op))
      continue;
    Group *group = commonGroupOfUsers(*op, groupOf);
    if (!group || !mayJoin(op, *group) || endsLargeValue(op, *group)) {
      groups.push_back(std::make_unique<Group>());
      group = groups.back().get();
    }
    group->push_back(op);
    groupOf[op] = group;
  }
  // Back to the order of the block, in groups and between them.
  std::vector<KernelGroup> result;
  DenseMap<Group *, KernelGroup> inOrder;
  for (Operation &op : block)
    if (Group *group = groupOf.lookup(&op)) {
      KernelGroup &kernel = inOrder[group];
      kernel.ops.push_back(&op);
      if (&op == group->front()) {
        kernel.roots = {&op};
        kernel.place = &op;
        result.push_back(std::move(kernel));
      }
    }
  return result;
}

SmallVector<Operation *> gantry::rootsFirst(const KernelGroup &group) {
  SmallVector<Operation *> ops(group.roots.begin(), group.roots.end());
  llvm::copy_if(group.ops, std::back_inserter(ops),
                [&](Operation *op) { return !llvm::is_contained(group.roots, op); });
  return ops;
}

KernelPlaces::KernelPlaces(Block &block, const std::vector<KernelGroup> &groups)
    : block(block), groups(groups) {
  for (auto [i, op] : llvm::enumerate(block))
    placeOf[&op] = i;
  for (auto [i, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      groupOf[op] = i;
}

size_t KernelPlaces::runsAt(Operation *op) const {
  Operation *own = block.findAncestorOpInBlock(*op);
  if (auto group = groupOf.find(own); group != groupOf.end())
    own = groups[group->second].place;
  return placeOf.lookup(own);
}

//===----------------------------------------------------------------------===//
// Several roots
//===----------------------------------------------------------------------===//

/// Of values with more uses than that, nobody asks who reads them together.
static constexpr unsigned kMostUses = 64;

namespace {
/// Makes one group of two that read the same, or one what the other makes.
class Merger {
public:
  Merger(Block &block, std::vector<KernelGroup> &groups, MayMerge mayMerge)
      : block(block), groups(groups), mayMerge(mayMerge), where(block, groups) {
    if (auto func = dyn_cast<func::FuncOp>(block.getParentOp()))
      for (auto [old, next] : variableUpdatesOf(func))
        if (Operation *maker = old ? skipViews(next->get()).getDefiningOp() : nullptr) {
          oldOf[maker] = old;
          nextOf[old] = maker;
        }
  }

  void run() {
    for (size_t i = 0; i < groups.size(); ++i)
      while (mergeInto(i))
        ;
    llvm::erase_if(groups, [](const KernelGroup &group) { return group.ops.empty(); });
    llvm::sort(groups, [&](const KernelGroup &a, const KernelGroup &b) {
      return placeOf.lookup(a.place) < placeOf.lookup(b.place);
    });
  }

private:
  using Members = llvm::SmallPtrSet<Operation *, 32>;

  /// A group with the `i`th one; false where there is none.
  bool mergeInto(size_t i) {
    for (size_t other : related(i)) {
      KernelGroup &a = groups[other], &b = groups[i];
      if (!mayMerge(rootsFirst(a), rootsFirst(b)))
        continue;
      Operation *place = placeOfBoth(a, b);
      if (!place)
        continue;
      for (Operation *op : a.ops)
        groupOf[op] = i;
      b.ops.append(a.ops);
      llvm::sort(b.ops,
                 [&](Operation *x, Operation *y) { return placeOf.lookup(x) < placeOf.lookup(y); });
      b.place = place;
      b.roots = rootsOf(b.ops);
      a.ops.clear();
      return true;
    }
    return false;
  }

  /// What others read, and what nothing reads.
  static SmallVector<Operation *, 1> rootsOf(ArrayRef<Operation *> ops) {
    SmallVector<Operation *, 1> roots;
    for (Operation *op : ops)
      if (op->use_empty() || llvm::any_of(op->getUsers(), [&](Operation *user) {
            return !llvm::is_contained(ops, user);
          }))
        roots.push_back(op);
    return roots;
  }

  /// Those that the op goes through: of a reduction what it reads.
  static int64_t countElements(Operation *op) {
    const bool isReduction = cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Reduction;
    return typeOf(isReduction ? op->getOperand(0) : op->getResult(0)).getNumElements();
  }

  /// The groups before it that make what it reads, or read it, too: all elements, not a few that
  /// are cheap to read again.
  SmallVector<size_t, 8> related(size_t i) const {
    llvm::SmallSetVector<size_t, 8> found;
    auto add = [&](Operation *op) {
      auto group = groupOf.find(op);
      if (group != groupOf.end() && group->second < i)
        found.insert(group->second);
    };
    if (groups[i].roots.front()->getNumResults() == 0)
      return {};
    const int64_t elements = typeOf(groups[i].roots.front()->getResult(0)).getNumElements();
    for (Operation *op : groups[i].ops)
      for (Value operand : op->getOperands()) {
        const int64_t own = typeOf(operand).getNumElements();
        if ((own != elements && own != countElements(op)) || belongsInKernel(operand))
          continue;
        if (Operation *maker = operand.getDefiningOp())
          add(maker);
        if (!operand.hasNUsesOrMore(kMostUses + 1))
          for (Operation *user : operand.getUsers())
            add(user);
      }
    return found.takeVector();
  }

  /// Where a kernel of both can run, neither of which is reached from the other through a third
  /// one: in the place of the later one where nothing in between needs the earlier one, or in that
  /// of the earlier one where the later one needs nothing in between. Null where both do.
  Operation *placeOfBoth(const KernelGroup &a, const KernelGroup &b) const {
    const bool isInOrder = placeOf.lookup(a.place) < placeOf.lookup(b.place);
    const KernelGroup &first = isInOrder ? a : b, &second = isInOrder ? b : a;
    Members members;
    members.insert_range(first.ops);
    members.insert_range(second.ops);
    const bool isNext = areNeighbours(first, second);
    if (!isNeededBefore(first, second.place, members) &&
        (isNext || heldLonger(first, second.place, members) <= bytesMade(first)))
      return second.place;
    if (!needsBehind(second, first.place, members) &&
        (isNext || bytesMade(second) <= heldLonger(second, first.place, members) + little(second)))
      return first.place;
    return nullptr;
  }

  /// Whether an op runs behind a place of the block: where its group does.
  bool isBehind(Operation *op, Operation *place) const {
    return where.runsAt(op) > placeOf.lookup(place);
  }

  /// Whether an op that is no member reads what the group makes in front of `place`, or makes the
  /// next value of a variable that the group reads.
  bool isNeededBefore(const KernelGroup &group, Operation *place, const Members &members) const {
    auto isBefore = [&](Operation *op) { return !members.contains(op) && !isBehind(op, place); };
    for (Operation *op : group.ops) {
      if (llvm::any_of(op->getUsers(), isBefore))
        return true;
      for (Value operand : op->getOperands())
        if (Operation *next = nextOf.lookup(skipViews(operand));
            next && isBefore(next) && isBehind(next, group.place))
          return true;
    }
    return false;
  }

  /// Whether the group reads what no member makes behind `place`, or makes the next value of a
  /// variable that others still read there.
  bool needsBehind(const KernelGroup &group, Operation *place, const Members &members) const {
    auto isMadeBehind = [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && !members.contains(maker) && maker->getBlock() == &block &&
             isBehind(maker, place);
    };
    auto isReadBehind = [&](Operation *reader) {
      return !members.contains(reader) && isBehind(reader, place) && !isBehind(reader, group.place);
    };
    return llvm::any_of(group.ops, [&](Operation *op) {
      Value old = oldOf.lookup(op);
      return llvm::any_of(op->getOperands(), isMadeBehind) || (old && anyReader(old, isReadBehind));
    });
  }

  /// Whether that is so of an op that reads the value, as it is or in a view.
  static bool anyReader(Value value, function_ref<bool(Operation *)> is) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isView(user) ? anyReader(user->getResult(0), is) : is(user);
    });
  }

  /// Whether nothing of the block is computed between the two.
  bool areNeighbours(const KernelGroup &first, const KernelGroup &second) const {
    for (Operation *op = first.place->getNextNode(); op != second.place; op = op->getNextNode())
      if (isComputed(*op) && !llvm::is_contained(second.ops, op) &&
          !llvm::is_contained(first.ops, op) && !isSmall(op))
        return false;
    return true;
  }

  static bool isSmall(Operation *op) {
    return llvm::all_of(op->getResults(), [](Value result) { return bytesOf(result) <= 64; });
  }

  /// The bytes that the block makes and that would be held between the group and `place` more or
  /// less if the group ran there: its operands that nothing else reads behind the earlier of both.
  uint64_t heldLonger(const KernelGroup &group, Operation *place, const Members &members) const {
    Operation *early = isBehind(group.place, place) ? place : group.place;
    llvm::SmallSetVector<Value, 8> ending;
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands()) {
        Value value = skipViews(operand);
        Operation *maker = value.getDefiningOp();
        if (maker && maker->getBlock() == &block && isComputed(*maker) &&
            !members.contains(maker) && llvm::none_of(value.getUsers(), [&](Operation *user) {
              return !llvm::is_contained(group.ops, user) && isBehind(user, early);
            }))
          ending.insert(value);
      }
    uint64_t bytes = 0;
    for (Value value : ending)
      bytes += bytesOf(value);
    return bytes;
  }

  /// What the results of the group take that are not written over a variable.
  uint64_t bytesMade(const KernelGroup &group) const {
    uint64_t bytes = 0;
    for (Operation *root : group.roots)
      if (!oldOf.contains(root))
        for (Value result : root->getResults())
          bytes += bytesOf(result);
    return bytes;
  }

  /// What may be held for long beside that which the group goes through, as sums of it.
  static uint64_t little(const KernelGroup &group) {
    uint64_t most = 0;
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        most = std::max(most, bytesOf(operand));
    return most / 64;
  }

  static uint64_t bytesOf(Value value) { return getByteSize(typeOf(value)); }

  Block &block;
  std::vector<KernelGroup> &groups;
  MayMerge mayMerge;
  KernelPlaces where;
  DenseMap<Operation *, size_t> &placeOf = where.placeOf, &groupOf = where.groupOf;
  DenseMap<Operation *, Value> oldOf;  ///< by maker of a variable's next value: the one before
  DenseMap<Value, Operation *> nextOf; ///< the other way round
};
} // namespace

std::vector<KernelGroup> gantry::groupIntoKernels(Block &block, MayJoin mayJoin,
                                                  MayMerge mayMerge) {
  std::vector<KernelGroup> groups = groupByRoots(block, mayJoin);
  Merger(block, groups, mayMerge).run();
  return groups;
}

bool gantry::belongsInKernel(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.getNumElements() <= 1;
}
