// Branches, loops and gradients that have a collective inside: one for all replicas, which are side
// by side in their regions. Results are those of the first replica, the second, ...; a gradient's
// the first value of each, the second, ...

#include "Expansion.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace gantry;

SmallVector<Expansion::Slot> Expansion::slotsOf(Operation &inner) {
  SmallVector<Slot> slots;
  for (Replica &replica : replicas)
    for (unsigned i = 0; i < inner.getNumResults(); ++i)
      if (!replica.isEmpty || neededResults.contains({&inner, i}))
        slots.push_back({&replica, i});
  return slots;
}

SmallVector<Value> Expansion::valuesOf(ArrayRef<Slot> slots, ValueRange inside) {
  return llvm::map_to_vector(
      slots, [&](Slot slot) { return slot.replica->values.lookupOrDefault(inside[slot.index]); });
}

/// Fills a region whose arguments are mapped already; `results` are asked for at its end.
LogicalResult Expansion::expandRegion(Region &from, Region &to,
                                      function_ref<SmallVector<Value>()> results) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&to.front());
  if (failed(expandOps(from.front())))
    return failure();
  YieldOp::create(builder, from.getLoc(), results());
  return success();
}

LogicalResult Expansion::finishJoint(Operation &inner, Operation *made, ArrayRef<Slot> slots) {
  made->setDiscardableAttrs(inner.getDiscardableAttrDictionary());
  for (auto [slot, result] : llvm::zip(slots, made->getResults()))
    slot.replica->values.map(inner.getResult(slot.index), result);
  return verify(made);
}

/// Which types it gives is known when its regions are filled.
LogicalResult Expansion::expandIf(IfOp branch) {
  SmallVector<Slot> slots = slotsOf(*branch);
  Replica &first = *llvm::find_if(replicas, [](const Replica &r) { return !r.isEmpty; });
  Value condition = first.values.lookupOrDefault(branch.getCondition());
  auto draft = IfOp::create(builder, branch.getLoc(), TypeRange(), condition);
  for (auto [from, to] : llvm::zip(branch->getRegions(), draft->getRegions())) {
    to.emplaceBlock();
    if (failed(expandRegion(from, to, [&] {
          return valuesOf(slots, from.front().getTerminator()->getOperands());
        })))
      return failure();
  }
  auto made =
      IfOp::create(builder, branch.getLoc(),
                   draft.getThenBody().front().getTerminator()->getOperandTypes(), condition);
  for (auto [from, to] : llvm::zip(draft->getRegions(), made->getRegions()))
    to.takeBody(from);
  draft.erase();
  return finishJoint(*branch, made, slots);
}

LogicalResult Expansion::expandWhile(WhileOp loop) {
  SmallVector<Slot> slots = slotsOf(*loop);
  Replica &first = *llvm::find_if(replicas, [](const Replica &r) { return !r.isEmpty; });
  SmallVector<Value> inits = valuesOf(slots, loop.getInits());
  auto made = WhileOp::create(builder, loop.getLoc(), TypeRange(ValueRange(inits)), inits,
                              loop.getAtMostAttr());
  for (auto [from, to] : llvm::zip(loop->getRegions(), made->getRegions())) {
    Block &block = to.emplaceBlock();
    for (auto [slot, init] : llvm::zip(slots, inits))
      slot.replica->values.map(from.getArgument(slot.index),
                               block.addArgument(init.getType(), init.getLoc()));
    ValueRange yielded = from.front().getTerminator()->getOperands();
    bool isCondition = &from == &loop.getConditionBody();
    if (failed(expandRegion(from, to, [&]() -> SmallVector<Value> {
          if (isCondition)
            return {first.values.lookupOrDefault(yielded.front())};
          return valuesOf(slots, yielded);
        })))
      return failure();
  }
  return finishJoint(*loop, made, slots);
}

/// Without seeds every replica's loss weighs 1.
static Value seedFor(OpBuilder &builder, GradientOp op) {
  auto type = cast<RankedTensorType>(op.getYielded().front().getType());
  auto one = builder.getFloatAttr(type.getElementType(), 1);
  return ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(type, Attribute(one)));
}

/// The gradients of the sum of all replicas' losses: one replica's weights may reach another one's
/// loss through a collective. Values, and gradients, are those of the first replica, the second,
/// ...
LogicalResult Expansion::expandGradient(GradientOp op) {
  SmallVector<Replica *> own;
  for (Replica &replica : replicas)
    if (!replica.isEmpty)
      own.push_back(&replica);
    else if (llvm::any_of(op.getGradients(), [&](OpResult gradient) {
               return neededResults.contains({op, gradient.getResultNumber()});
             }))
      return op.emitOpError() << "has a gantry.all_reduce inside, and replica " << replica.number
                              << " has no rows but uses a gradient; all-reduce the gradients";
  auto eachReplica = [&](ValueRange values) {
    SmallVector<Value> all;
    for (Value value : values)
      for (Replica *replica : own)
        all.push_back(replica->values.lookupOrDefault(value));
    return all;
  };
  SmallVector<Value> operands = eachReplica(op.getWrt()), seeds = eachReplica(op.getCotangents());
  if (seeds.empty())
    seeds.assign(own.size(), seedFor(builder, op));
  auto draft = GradientOp::create(builder, op.getLoc(), TypeRange(), operands, IntegerAttr(),
                                  op.getAllowUnusedAttr());
  Block &block = draft.getBody().emplaceBlock();
  size_t next = 0;
  for (BlockArgument argument : op.getBody().getArguments())
    for (Replica *replica : own) {
      Value operand = operands[next++];
      replica->values.map(argument, block.addArgument(operand.getType(), operand.getLoc()));
    }
  ValueRange yielded = op.getBody().front().getTerminator()->getOperands();
  if (failed(expandRegion(op.getBody(), draft.getBody(), [&] { return eachReplica(yielded); })))
    return failure();
  SmallVector<Type> types(block.getTerminator()->getOperandTypes());
  llvm::append_range(types, ValueRange(operands).getTypes());
  int64_t count = seeds.size();
  llvm::append_range(operands, seeds);
  auto made = GradientOp::create(builder, op.getLoc(), types, operands,
                                 builder.getI64IntegerAttr(count), op.getAllowUnusedAttr());
  made.getBody().takeBody(draft.getBody());
  draft.erase();
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  next = 0;
  for (OpResult result : op->getResults())
    for (Replica *replica : own)
      replica->values.map(result, made->getResult(next++));
  return verify(made);
}
