// Branches: the ways back of both regions, in a branch on the same condition. The regions yield
// what these read of the way there.

#include "Rules.h"
#include "WayBack.h"
#include "gantry/Gradient/Gradient.h"

using namespace mlir;
using namespace gantry;

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

namespace {
struct IfRule : GradientOpInterface::ExternalModel<IfRule, IfOp> {
  LogicalResult buildGradient(Operation *op, GradientBuilder &b) const {
    return buildIf(cast<IfOp>(op), b);
  }
};
} // namespace

void gantry::addBranchRules(MLIRContext &context) { IfOp::attachInterface<IfRule>(context); }
