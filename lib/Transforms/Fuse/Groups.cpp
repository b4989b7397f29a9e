#include "Groups.h"

#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;

/// Sums of fewer bytes are worth no command of their own.
static constexpr uint64_t kSmallSum = 16384;

/// Whether an op is a sum that others wait for in a larger one, as in the tree of the parts of a
/// batch. Inside of that one, all that it adds up would wait, until the last part is made.
static bool isSumInSum(Operation *op) {
  return isa<AddNOp>(op) && llvm::any_of(op->getUsers(), llvm::IsaPred<AddNOp>) &&
         getByteSize(cast<RankedTensorType>(op->getResult(0).getType())) > kSmallSum;
}

/// Whether one of two groups has such a sum of what the other adds up.
static bool haveSumInSum(ArrayRef<Operation *> a, ArrayRef<Operation *> b) {
  auto feeds = [](ArrayRef<Operation *> from, ArrayRef<Operation *> to) {
    return llvm::any_of(from, [&](Operation *op) {
      return isSumInSum(op) && llvm::any_of(op->getUsers(), [&](Operation *user) {
               return llvm::is_contained(to, user);
             });
    });
  };
  return feeds(a, b) || feeds(b, a);
}

bool gantry::mayJoinGroup(Operation *op, ArrayRef<Operation *> group, const TargetMap &targets) {
  return op->getAttr(kDeviceAttr) == group.front()->getAttr(kDeviceAttr) && !isSumInSum(op) &&
         llvm::all_of(targets.targetsOf(op), [&](const Target *target) {
           return target->mayJoin(op, group, targets.configOf(target->getName()));
         });
}

std::vector<KernelGroup> gantry::kernelGroupsOf(Block &block, const TargetMap &targets, bool fuse) {
  auto mayJoin = [&](Operation *op, ArrayRef<Operation *> group) {
    return fuse && mayJoinGroup(op, group, targets);
  };
  auto mayMerge = [&](ArrayRef<Operation *> a, ArrayRef<Operation *> b) {
    return fuse && a.front()->getAttr(kDeviceAttr) == b.front()->getAttr(kDeviceAttr) &&
           !haveSumInSum(a, b) &&
           llvm::all_of(targets.targetsOf(a.front()),
                        [&](const Target *target) { return target->mayMerge(a, b); });
  };
  return groupIntoKernels(block, mayJoin, mayMerge);
}
