#include "Groups.h"

#include "gantry/Target/TargetMap.h"

using namespace mlir;
using namespace gantry;

bool gantry::mayJoinGroup(Operation *op, ArrayRef<Operation *> group, const TargetMap &targets) {
  return op->getAttr(kDeviceAttr) == group.front()->getAttr(kDeviceAttr) &&
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
           llvm::all_of(targets.targetsOf(a.front()),
                        [&](const Target *target) { return target->mayMerge(a, b); });
  };
  return groupIntoKernels(block, mayJoin, mayMerge);
}
