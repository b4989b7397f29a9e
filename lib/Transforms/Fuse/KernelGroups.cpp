// Groups ops into kernels.
//
// Ops are visited from the last to the first. An op joins the group of its users when they are all
// in one group and its index space fits; else it starts a group of its own, whose only results are
// its own. So groups have one root, never form cycles, and nothing is computed twice.

#include "gantry/Transforms/KernelGroups.h"

#include <memory>

using namespace mlir;
using namespace gantry;

/// Longest group: beyond it code gets slower to compile, not faster to run.
static constexpr size_t kMaxOps = 32;

namespace {
struct Group {
  KernelGroup ops;             ///< root first, then in reverse order of the block
  bool onlyElementwise = true; ///< holds neither contraction nor reduction yet
};
} // namespace

static FusionKind kindOf(Operation *op) { return cast<KernelOpInterface>(op).getFusionKind(); }

static bool isComputed(Operation &op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() != FusionKind::View;
}

static ArrayRef<int64_t> resultShape(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

/// Whether `op` can be computed inside `group`, all its users being there.
static bool fits(Operation *op, const Group &group) {
  if (op->getNumResults() != 1 || group.ops.size() >= kMaxOps)
    return false;
  bool elementwiseUsers = llvm::all_of(
      op->getUsers(), [](Operation *user) { return kindOf(user) == FusionKind::Elementwise; });
  switch (kindOf(op)) {
  case FusionKind::Elementwise:
    // Before an elementwise op of the same index space. (In front of a reduction it would be
    // computed per tile; that is right only along whole rows, so it stays apart.)
    return elementwiseUsers && resultShape(op) == resultShape(group.ops.front());
  case FusionKind::Contraction:
  case FusionKind::Reduction:
    return elementwiseUsers && group.onlyElementwise &&
           resultShape(op) == resultShape(group.ops.front());
  default:
    return false;
  }
}

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

std::vector<KernelGroup>
gantry::groupIntoKernels(Block &block, function_ref<bool(Operation *op, Operation *root)> mayJoin) {
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
  for (Operation &op : llvm::reverse(block)) {
    if (!isComputed(op))
      continue;
    Group *group = commonGroupOfUsers(op, groupOf);
    if (!group || !fits(&op, *group) || !mayJoin(&op, group->ops.front())) {
      groups.push_back(std::make_unique<Group>());
      group = groups.back().get();
    }
    group->ops.push_back(&op);
    group->onlyElementwise &= kindOf(&op) == FusionKind::Elementwise;
    groupOf[&op] = group;
  }
  // Groups were found from the end of the block on, and their ops too.
  std::vector<KernelGroup> result;
  for (auto &group : llvm::reverse(groups))
    result.push_back(KernelGroup(llvm::reverse(group->ops)));
  return result;
}

bool gantry::belongsInKernel(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() && dense.getNumElements() == 1;
}
