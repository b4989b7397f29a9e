#include "gantry/Analysis/Flow.h"

using namespace mlir;
using namespace gantry;

using Visit = function_ref<void(OpOperand &source, Value input)>;

namespace {
/// A way from one point to another: operands of `from`, from number `first` on, become `inputs`.
/// A loop may carry many values, so that one of them is found by its number.
struct Edge {
  Operation *from;
  unsigned first;
  ValueRange inputs;

  OpOperand &source(unsigned i) const { return from->getOpOperand(first + i); }

  /// The operand that becomes `input`, or null.
  OpOperand *sourceOf(Value input) const {
    if (inputs.empty())
      return nullptr;
    unsigned i = numberOf(input) - numberOf(inputs.front());
    return i < inputs.size() && inputs[i] == input ? &source(i) : nullptr;
  }

  /// What the operand becomes, or null.
  Value inputOf(OpOperand &operand) const {
    unsigned i = operand.getOperandNumber() - first;
    return operand.getOwner() == from && i < inputs.size() ? inputs[i] : Value();
  }

private:
  static unsigned numberOf(Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result ? result.getResultNumber() : cast<BlockArgument>(value).getArgNumber();
  }
};
} // namespace

/// What flows from one point: the op itself, or the end of a region.
static SmallVector<Edge> edgesFrom(RegionBranchOpInterface op, RegionBranchPoint point) {
  Operation *from = point.isParent() ? op.getOperation() : point.getTerminatorPredecessorOrNull();
  SmallVector<RegionSuccessor> successors;
  op.getSuccessorRegions(point, successors);
  return llvm::map_to_vector(successors, [&](RegionSuccessor successor) {
    OperandRange operands = op.getSuccessorOperands(point, successor);
    unsigned first = operands.empty() ? 0 : operands.getBeginOperandIndex();
    return Edge{from, first, successor.getSuccessorInputs()};
  });
}

/// The ends of the regions, in order.
static SmallVector<RegionBranchPoint> endsOf(RegionBranchOpInterface op) {
  SmallVector<RegionBranchPoint> ends;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (auto end = dyn_cast<RegionBranchTerminatorOpInterface>(block.back()))
        ends.push_back(end);
  return ends;
}

void gantry::forEachFlow(RegionBranchOpInterface op, Visit visit) {
  SmallVector<RegionBranchPoint> points{RegionBranchPoint::parent()};
  llvm::append_range(points, endsOf(op));
  for (RegionBranchPoint point : points)
    for (const Edge &edge : edgesFrom(op, point))
      for (auto [i, input] : llvm::enumerate(edge.inputs))
        visit(edge.source(i), input);
}

OpOperand *gantry::initialSource(RegionBranchOpInterface op, Value input) {
  OpOperand *found = nullptr;
  for (const Edge &edge : edgesFrom(op, RegionBranchPoint::parent()))
    if (OpOperand *source = edge.sourceOf(input))
      found = source;
  return found;
}

SmallVector<OpOperand *> gantry::yieldedSources(RegionBranchOpInterface op, Value input) {
  SmallVector<OpOperand *> sources;
  for (RegionBranchPoint end : endsOf(op))
    for (const Edge &edge : edgesFrom(op, end))
      if (OpOperand *source = edge.sourceOf(input))
        sources.push_back(source);
  return sources;
}

OpResult gantry::resultOf(OpOperand &use) {
  Operation *user = use.getOwner();
  auto op = dyn_cast<RegionBranchOpInterface>(user);
  auto end = dyn_cast<RegionBranchTerminatorOpInterface>(user);
  if (end)
    op = dyn_cast<RegionBranchOpInterface>(user->getParentOp());
  OpResult found;
  if (op)
    for (const Edge &edge :
         edgesFrom(op, end ? RegionBranchPoint(end) : RegionBranchPoint::parent()))
      if (auto result = dyn_cast_if_present<OpResult>(edge.inputOf(use)))
        found = result;
  return found;
}

OpResult gantry::resultOf(BlockArgument argument) {
  auto op = dyn_cast<RegionBranchOpInterface>(argument.getOwner()->getParentOp());
  OpOperand *source = op ? initialSource(op, argument) : nullptr;
  return source ? resultOf(*source) : OpResult();
}

/// Whether control may go on in several ways somewhere.
static bool branches(RegionBranchOpInterface op) {
  SmallVector<RegionBranchPoint> points{RegionBranchPoint::parent()};
  llvm::append_range(points, endsOf(op));
  return llvm::any_of(points, [&](RegionBranchPoint point) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    return successors.size() > 1;
  });
}

Value gantry::conditionOf(RegionBranchOpInterface op) {
  if (!branches(op))
    return {};
  llvm::SmallPtrSet<OpOperand *, 8> forwarded;
  forEachFlow(op, [&](OpOperand &source, Value) { forwarded.insert(&source); });
  SmallVector<Operation *> points{op};
  for (RegionBranchPoint end : endsOf(op))
    points.push_back(end.getTerminatorPredecessorOrNull());
  for (Operation *point : points)
    for (OpOperand &operand : point->getOpOperands())
      if (!forwarded.contains(&operand))
        return operand.get();
  return {};
}

bool gantry::runsOneRegion(RegionBranchOpInterface op) {
  return llvm::all_of(endsOf(op), [&](RegionBranchPoint end) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(end, successors);
    return llvm::all_of(successors, [](RegionSuccessor next) { return next.isParent(); });
  });
}
