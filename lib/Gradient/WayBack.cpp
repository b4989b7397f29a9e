#include "WayBack.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gantry;

WayBack::WayBack(Block &block) : block(block) {
  // A mark that stays where it is: rules put other ops in the place of those before it.
  OpBuilder builder(block.getTerminator());
  auto type = RankedTensorType::get({}, builder.getI1Type());
  mark = ConstantOp::create(builder, builder.getUnknownLoc(), DenseElementsAttr::get(type, true));
}

/// Whether the value is of the way there.
bool WayBack::isThere(Value value) const {
  Operation *maker = value.getDefiningOp();
  return value.getParentBlock() == &block && !(maker && own.contains(maker));
}

bool WayBack::isCheap(Operation *op) const {
  if (isa_and_present<ConstantOp>(op))
    return true;
  auto gather = dyn_cast_if_present<GatherOp>(op);
  return gather && rankOf(gather.getIndices()) == 0 && !isThere(gather.getInput());
}

Operation *WayBack::cloneOf(Operation *op) {
  if (Operation *known = cloned.lookup(op))
    return known;
  Operation *clone = op->clone();
  cloned[op] = clone;
  if (StringRef name = givenNameOf(op); !name.empty() && isa<KernelOpInterface>(op))
    clone->setAttr(kNameAttr, StringAttr::get(op->getContext(), name + "/again"));
  for (OpOperand &use : clone->getOpOperands())
    if (isThere(use.get()))
      keep(use);
  // Behind the clones that it reads, in front of the way back itself.
  block.getOperations().insert(Block::iterator(mark), clone);
  clones.push_back(clone);
  own.insert(clone);
  return clone;
}

void WayBack::keep(OpOperand &use) {
  Operation *maker = use.get().getDefiningOp();
  if (isCheap(maker))
    use.set(cloneOf(maker)->getResult(0));
  else
    kept.insert(use.get());
}

void WayBack::finish(ArrayRef<Value> gradients) {
  for (Operation *op = mark->getNextNode(); op != block.getTerminator(); op = op->getNextNode())
    ops.push_back(op);
  own.insert(ops.begin(), ops.end());
  own.insert(mark);
  for (Operation *op : ops)
    op->walk([&](Operation *inner) {
      for (OpOperand &use : inner->getOpOperands())
        if (isThere(use.get()))
          keep(use);
    });
  for (Value gradient : gradients)
    if (gradient && isThere(gradient))
      kept.insert(gradient);
  mark->erase();
}

void WayBack::moveTo(Block &to, ValueRange values, MutableArrayRef<Value> gradients) {
  for (ArrayRef<Operation *> list : {ArrayRef(clones), ArrayRef(ops)})
    for (Operation *op : list)
      op->moveBefore(&to, to.end());
  for (auto [kept, value] : llvm::zip_equal(getKept(), values)) {
    Value from = kept;
    from.replaceUsesWithIf(value, [&](OpOperand &use) {
      return to.findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
    llvm::replace(gradients, from, Value(value));
  }
}

SmallVector<Value> gantry::wantedFromOutside(Operation *op, GradientBuilder &b) {
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  return llvm::filter_to_vector(above, [&](Value value) { return b.wants(value); });
}

void gantry::takePlace(Operation *op, Operation *made, GradientBuilder &b) {
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(made->getResults().take_front(op->getNumResults()));
  op->erase();
  b.setOp(made);
}
