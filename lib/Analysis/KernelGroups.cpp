// Groups ops into kernels.
//
// Ops are visited users first. An op joins the group of its users when they are all in one group
// and it may; else it starts a group of its own, whose only results are its own. So
// groups have one root, never form cycles, and nothing is computed twice. Which of two ops that
// exclude each other joins is a matter of operands, never of the order in which the graph lists its
// ops.

#include "gantry/Analysis/KernelGroups.h"

#include "gantry/Dialect/Gantry/IR/Views.h"

#include <memory>

using namespace mlir;
using namespace gantry;

using Group = KernelGroup; ///< root first, then in reverse order of the block

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

std::vector<KernelGroup> gantry::groupIntoKernels(Block &block, MayJoin mayJoin) {
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
  for (Operation *op : usersFirst(block)) {
    if (!isComputed(*op))
      continue;
    Group *group = commonGroupOfUsers(*op, groupOf);
    if (!group || !mayJoin(op, *group)) {
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
      KernelGroup &ops = inOrder[group];
      ops.push_back(&op);
      if (&op == group->front())
        result.push_back(std::move(ops));
    }
  return result;
}

bool gantry::belongsInKernel(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.getNumElements() <= 1;
}
