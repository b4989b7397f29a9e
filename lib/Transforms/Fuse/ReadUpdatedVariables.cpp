// Lets what reads the next value of a variable read it from the variable.
//
// An optimizer reads its new moments once more for the step of the weight. A `gantry.update` whose
// operand has other readers would be a kernel of its own, which copies the operand into the
// variable; as the only reader it joins the kernel that computes it, and that writes in place.

#include "gantry/Analysis/VariableUpdates.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_READUPDATEDVARIABLESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
struct ReadUpdatedVariables : gantry::impl::ReadUpdatedVariablesPassBase<ReadUpdatedVariables> {
  using ReadUpdatedVariablesPassBase::ReadUpdatedVariablesPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        for (auto [old, next] : variableUpdatesOf(func))
          visit(next->getOwner()->getBlock(), old, next->get());
  }

  static void visit(Block *block, Value old, Value next) {
    auto update = next.getDefiningOp<UpdateOp>();
    Operation *maker = update ? update.getValue().getDefiningOp() : nullptr;
    if (!maker || maker->getBlock() != block || isa<ConstantOp>(maker) || isView(maker) ||
        update.getValue().hasOneUse() || update.getValue().getType() != update.getType() ||
        maker->getAttr(kDeviceAttr) != update->getAttr(kDeviceAttr) ||
        (old && isReadBehind(old, maker))) // the old value is needed longer
      return;
    update->moveAfter(maker);
    update.getValue().replaceAllUsesExcept(update, update);
  }

  /// Whether an op of the block behind `last`, or the terminator, reads the value or a view of it.
  static bool isReadBehind(Value value, Operation *last) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *own = last->getBlock()->findAncestorOpInBlock(*user);
      return (own && last->isBeforeInBlock(own)) ||
             (isView(user) && isReadBehind(user->getResult(0), last));
    });
  }
};
} // namespace
