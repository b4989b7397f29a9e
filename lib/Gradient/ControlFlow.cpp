// Branches and loops. The way back of a region is first built at the region's end, where it sees
// what it reads; then it moves into a branch or loop of its own, and what it reads of the way there
// is kept: a branch yields it, a loop stacks a row of it in each round.

#include "Rules.h"
#include "gantry/Analysis/Trips.h"
#include "gantry/Gradient/Gradient.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gantry;

namespace {
/// The ops of a way back at the end of the region that it is of, until they move.
class WayBack {
public:
  /// Ops that come behind from now on are the way back.
  explicit WayBack(Block &block) : block(block) {
    // A mark that stays where it is: rules put other ops in the place of those before it.
    OpBuilder builder(block.getTerminator());
    auto type = RankedTensorType::get({}, builder.getI1Type());
    mark = ConstantOp::create(builder, builder.getUnknownLoc(), DenseElementsAttr::get(type, true));
  }

  /// After the way back was built; `gradients` are what it gives, or null.
  void finish(ArrayRef<Value> gradients);
  /// Values of the way there that it reads, which have to be kept. Constants are not among them: it
  /// has clones of these.
  ArrayRef<Value> getKept() const { return kept.getArrayRef(); }
  /// Puts it to the end of `to`; `values` stand for what it reads, in the order of getKept, also in
  /// `gradients`.
  void moveTo(Block &to, ValueRange values, MutableArrayRef<Value> gradients);

private:
  /// Whether the value is of the way there.
  bool isThere(Value value) const {
    Operation *maker = value.getDefiningOp();
    return value.getParentBlock() == &block && !(maker && own.contains(maker));
  }
  void cloneConstant(OpOperand &use);

  Block &block;
  Operation *mark;
  SmallVector<Operation *> ops;
  llvm::DenseSet<Operation *> own; ///< the same
  DenseMap<Operation *, Operation *> clones;
  llvm::SetVector<Value> kept;
};
} // namespace

void WayBack::cloneConstant(OpOperand &use) {
  Operation *&clone = clones[use.get().getDefiningOp()];
  if (!clone) {
    clone = use.get().getDefiningOp()->clone();
    block.getOperations().insert(std::next(Block::iterator(mark)), clone);
    ops.insert(ops.begin(), clone);
    own.insert(clone);
  }
  use.set(clone->getResult(0));
}

void WayBack::finish(ArrayRef<Value> gradients) {
  for (Operation *op = mark->getNextNode(); op != block.getTerminator(); op = op->getNextNode())
    ops.push_back(op);
  own.insert(ops.begin(), ops.end());
  for (Operation *op : SmallVector<Operation *>(ops))
    op->walk([&](Operation *inner) {
      for (OpOperand &use : inner->getOpOperands())
        if (isThere(use.get()))
          use.get().getDefiningOp<ConstantOp>() ? cloneConstant(use) : void(kept.insert(use.get()));
    });
  for (Value gradient : gradients)
    if (gradient && isThere(gradient))
      kept.insert(gradient);
  mark->erase();
}

void WayBack::moveTo(Block &to, ValueRange values, MutableArrayRef<Value> gradients) {
  for (Operation *op : ops)
    op->moveBefore(&to, to.end());
  for (auto [kept, value] : llvm::zip_equal(getKept(), values)) {
    Value from = kept;
    from.replaceUsesWithIf(value, [&](OpOperand &use) {
      return to.findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
    llvm::replace(gradients, from, Value(value));
  }
}

/// What the regions of `op` read from outside and somebody wants the gradient of.
static SmallVector<Value> wantedFromOutside(Operation *op, GradientBuilder &b) {
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  return llvm::filter_to_vector(above, [&](Value value) { return b.wants(value); });
}

/// Gives the op's results to `made`, which has them in front of its own, and what the graph says of
/// it.
static void takePlace(Operation *op, Operation *made, GradientBuilder &b) {
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(made->getResults().take_front(op->getNumResults()));
  op->erase();
  b.setOp(made);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

namespace {
/// What the regions of a branch keep: each has its own values, and those of one type share a
/// result.
class Slots {
public:
  /// The result for each value that a region keeps.
  SmallVector<unsigned> take(ValueRange values) {
    llvm::SmallBitVector taken(types.size());
    SmallVector<unsigned> slots;
    for (Value value : values) {
      unsigned slot = 0;
      while (slot < types.size() && (types[slot] != value.getType() || taken[slot]))
        ++slot;
      if (slot == types.size()) {
        types.push_back(value.getType());
        taken.resize(types.size());
      }
      taken.set(slot);
      slots.push_back(slot);
    }
    return slots;
  }
  ArrayRef<Type> getTypes() const { return types; }

private:
  SmallVector<Type> types;
};

/// One region of a branch.
struct Side {
  Block &block;
  WayBack way;
  SmallVector<Value> gradients{};
  SmallVector<unsigned> slots{};

  explicit Side(Region &region) : block(region.front()), way(block) {}
};
} // namespace

/// The region yields what it keeps, and zeros for what the other one does.
static void yieldKept(Side &side, const Slots &slots, GradientBuilder &b) {
  Operation *end = side.block.getTerminator();
  SmallVector<Value> values(slots.getTypes().size());
  for (auto [slot, value] : llvm::zip(side.slots, side.way.getKept()))
    values[slot] = value;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(end);
  for (auto [value, type] : llvm::zip(values, slots.getTypes()))
    if (!value)
      value = b.zeros(cast<RankedTensorType>(type));
  end->insertOperands(end->getNumOperands(), values);
}

/// Both regions' ways back, in a branch on the same condition.
static LogicalResult buildIf(IfOp op, GradientBuilder &b) {
  SmallVector<Value> wanted = wantedFromOutside(op, b);
  Side sides[] = {Side(op.getThenBody()), Side(op.getElseBody())};
  Slots slots;
  for (Side &side : sides) {
    SmallVector<Value> of(side.block.getTerminator()->getOperands()), seeds;
    for (unsigned i = 0; i < of.size(); ++i)
      seeds.push_back(b.isUsed(i) ? b.ofResult(i) : Value());
    if (failed(differentiate(side.block, of, seeds, wanted, side.gradients)))
      return failure();
    side.way.finish(side.gradients);
    side.slots = slots.take(side.way.getKept());
  }
  SmallVector<Type> types(op.getResultTypes()), gradientTypes;
  llvm::append_range(types, slots.getTypes());
  SmallVector<unsigned> reached;
  for (unsigned i = 0; i < wanted.size(); ++i)
    if (sides[0].gradients[i] || sides[1].gradients[i]) {
      reached.push_back(i);
      gradientTypes.push_back(wanted[i].getType());
    }
  OpBuilder before(op);
  auto there = IfOp::create(before, op.getLoc(), types, op.getCondition());
  auto back = b.make<IfOp>(gradientTypes, op.getCondition());
  for (auto [side, region] : llvm::zip(sides, back->getRegions())) {
    Block &block = region.emplaceBlock();
    SmallVector<Value> values = llvm::map_to_vector(side.slots, [&](unsigned slot) -> Value {
      return there.getResult(op.getNumResults() + slot);
    });
    side.way.moveTo(block, values, side.gradients);
    yieldKept(side, slots, b);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&block);
    SmallVector<Value> given;
    for (unsigned i : reached)
      given.push_back(side.gradients[i] ? side.gradients[i] : b.zeros(typeOf(wanted[i])));
    YieldOp::create(b, op.getLoc(), given);
  }
  there.getThenBody().takeBody(op.getThenBody());
  there.getElseBody().takeBody(op.getElseBody());
  takePlace(op, there, b);
  for (auto [i, gradient] : llvm::zip(reached, back.getResults()))
    b.give(wanted[i], gradient);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// A loop of a known number of rounds, on its way back.
class LoopBack {
public:
  LoopBack(WhileOp loop, int64_t rounds, GradientBuilder &b)
      : loop(loop), rounds(rounds), b(b), body(loop.getBody().front()), way(body),
        wanted(wantedFromOutside(loop, b)) {
    collectCarried();
  }

  LogicalResult build();

private:
  void collectCarried();
  void enter();
  LogicalResult goBack();
  WhileOp stack();
  void leave(WhileOp there);

  Value integer(OpBuilder &builder, int64_t value) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return ConstantOp::create(builder, loop.getLoc(), DenseElementsAttr::get(type, value));
  }

  WhileOp loop;
  int64_t rounds;
  GradientBuilder &b;
  Block &body;
  WayBack way;
  SmallVector<Value> wanted;     ///< from outside
  SmallVector<unsigned> carried; ///< that depend on what is wanted
  WhileOp back;
  SmallVector<Value> gradients; ///< of the carried arguments, then of `wanted`
};
} // namespace

/// Values of floats in `block` that depend on `from`, themselves among them.
static llvm::DenseSet<Value> dependentOn(Block &block, ArrayRef<Value> from) {
  llvm::DenseSet<Value> found(from.begin(), from.end());
  for (Operation &op : block.without_terminator()) {
    auto rule = dyn_cast<GradientOpInterface>(op);
    bool depends = !(rule && rule.stopsGradient()) &&
                   llvm::any_of(valuesReadBy(&op), [&](Value v) { return found.contains(v); });
    for (Value result : op.getResults())
      if (depends && carriesGradients(result.getType()))
        found.insert(result);
  }
  return found;
}

/// What one round makes dependent the next one starts with.
void LoopBack::collectCarried() {
  llvm::SmallSetVector<unsigned, 8> found;
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (b.wants(init))
      found.insert(i);
  for (size_t before = ~size_t(0); before != found.size();) {
    before = found.size();
    SmallVector<Value> from(wanted);
    for (unsigned i : found)
      from.push_back(body.getArgument(i));
    llvm::DenseSet<Value> dependent = dependentOn(body, from);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (dependent.contains(value) && carriesGradients(value.getType()))
        found.insert(i);
  }
  carried = found.takeVector();
  llvm::sort(carried);
}

/// The loop back carries the number of the round, from the last to the first, cotangents of what is
/// carried, and sums for what comes from outside, of f16 and bf16 in f32.
void LoopBack::enter() {
  SmallVector<Value> inits{integer(b, rounds - 1)};
  for (unsigned i : carried)
    inits.push_back(b.ofResult(i));
  for (Value value : wanted) {
    Type element = elementOf(value);
    bool isNarrow = element.isF16() || element.isBF16();
    inits.push_back(b.zeros(typeOf(value).clone(isNarrow ? b.getF32Type() : element)));
  }
  back = b.make<WhileOp>(TypeRange(ValueRange(inits)), inits);
  SmallVector<Location> locations(inits.size(), loop.getLoc());
  for (Region &region : back->getRegions())
    region.emplaceBlock().addArguments(ValueRange(inits).getTypes(), locations);
  OpBuilder condition = OpBuilder::atBlockEnd(&back.getConditionBody().front());
  Value goesOn = CompareOp::create(condition, loop.getLoc(), CompareDirection::GE,
                                   back.getConditionBody().getArgument(0), integer(condition, 0));
  YieldOp::create(condition, loop.getLoc(), goesOn);
}

/// One round, at the end of the loop's own body.
LogicalResult LoopBack::goBack() {
  SmallVector<Value> of, seeds, wrt;
  for (auto [n, i] : llvm::enumerate(carried)) {
    of.push_back(body.getTerminator()->getOperand(i));
    seeds.push_back(back.getBody().getArgument(n + 1));
    wrt.push_back(body.getArgument(i));
  }
  llvm::append_range(wrt, wanted);
  if (failed(differentiate(body, of, seeds, wrt, gradients)))
    return failure();
  way.finish(gradients);
  return success();
}

/// The loop again, with its rounds counted, and a stack for each value that the way back reads.
WhileOp LoopBack::stack() {
  OpBuilder before(loop);
  SmallVector<Value> inits(loop.getInits());
  inits.push_back(integer(before, 0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    for (Value value : way.getKept()) {
      SmallVector<int64_t> shape{rounds};
      llvm::append_range(shape, shapeOf(value));
      inits.push_back(b.zeros(typeOf(value).clone(shape)));
    }
  }
  auto there = WhileOp::create(before, loop.getLoc(), TypeRange(ValueRange(inits)), inits);
  ArrayRef<Value> added = ArrayRef(inits).drop_front(loop.getInits().size());
  for (Region &region : loop->getRegions())
    for (Value init : added)
      region.addArgument(init.getType(), loop.getLoc());
  auto own = body.getArguments().take_back(added.size());
  Operation *end = body.getTerminator();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(end);
  SmallVector<Value> next{b.make<AddOp>(own[0], integer(b, 1))};
  for (auto [rows, value] : llvm::zip(own.drop_front(), way.getKept()))
    next.push_back(b.make<SetSliceOp>(rows, value, own[0], uint64_t(0)));
  end->insertOperands(end->getNumOperands(), next);
  there.getConditionBody().takeBody(loop.getConditionBody());
  there.getBody().takeBody(loop.getBody());
  return there;
}

/// Moves the round into the loop back, which reads the rows that the way there stacked.
void LoopBack::leave(WhileOp there) {
  Block &to = back.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&to);
  Value round = to.getArgument(0);
  SmallVector<Value> rows;
  for (Value stacked : there.getResults().take_back(way.getKept().size()))
    rows.push_back(b.make<GatherOp>(stacked, round, uint64_t(0)));
  way.moveTo(to, rows, gradients);
  b.setInsertionPointToEnd(&to);
  SmallVector<Value> next{b.make<SubOp>(round, integer(b, 1))};
  for (auto [gradient, argument] : llvm::zip_equal(gradients, to.getArguments().drop_front())) {
    bool isSum = next.size() > carried.size();
    Value zeros = gradient || isSum ? Value() : b.zeros(typeOf(argument));
    Value own = gradient && isSum ? b.cast(gradient, elementOf(argument)) : gradient;
    next.push_back(!isSum ? (own ? own : zeros)
                   : own  ? Value(b.make<AddOp>(argument, own))
                          : Value(argument));
  }
  YieldOp::create(b, loop.getLoc(), next);
}

LogicalResult LoopBack::build() {
  enter();
  if (failed(goBack()))
    return failure();
  SmallVector<Value> inits(loop.getInits());
  SmallVector<bool> isReached;
  for (size_t i = 0; i < wanted.size(); ++i)
    isReached.push_back(bool(gradients[carried.size() + i]));
  WhileOp there = stack();
  leave(there);
  takePlace(loop, there, b);
  for (auto [n, i] : llvm::enumerate(carried))
    if (b.wants(inits[i]))
      b.give(inits[i], back.getResult(n + 1));
  for (auto [n, value] : llvm::enumerate(wanted))
    if (isReached[n])
      b.give(value, back.getResult(1 + carried.size() + n));
  return success();
}

static std::string refuseWhile(WhileOp loop) {
  if (tripsOf(loop))
    return "";
  return "has no gradient: how often it runs is not known when compiling; count its rounds from "
         "one "
         "constant to another";
}

static LogicalResult buildWhile(WhileOp loop, GradientBuilder &b) {
  int64_t rounds = *tripsOf(loop);
  if (rounds > 0)
    return LoopBack(loop, rounds, b).build();
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (b.wants(init))
      b.give(init, b.ofResult(i));
  return success();
}

namespace {
struct IfRule : GradientOpInterface::ExternalModel<IfRule, IfOp> {
  LogicalResult buildGradient(Operation *op, GradientBuilder &b) const {
    return buildIf(cast<IfOp>(op), b);
  }
};
struct WhileRule : GradientOpInterface::ExternalModel<WhileRule, WhileOp> {
  std::string refuseGradient(Operation *op, unsigned) const {
    return refuseWhile(cast<WhileOp>(op));
  }
  LogicalResult buildGradient(Operation *op, GradientBuilder &b) const {
    return buildWhile(cast<WhileOp>(op), b);
  }
};
} // namespace

void gantry::addControlFlowRules(MLIRContext &context) {
  IfOp::attachInterface<IfRule>(context);
  WhileOp::attachInterface<WhileRule>(context);
}
