#include "gantry/Target/AttentionPolicy.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"

using namespace mlir;
using namespace gantry;

using Ops = SmallVector<Operation *, 16>;

/// Attention of more ops stays in pieces.
static constexpr size_t kMostOps = 24;

/// What makes `value`, if it is for one op alone, and where that is computed.
static Operation *ownMaker(Value value, Operation *user) {
  Operation *op = value.getDefiningOp();
  return op && isa<KernelOpInterface>(op) && op->getNumResults() == 1 && value.hasOneUse() &&
                 op->getBlock() == user->getBlock() &&
                 op->getAttr(kDeviceAttr) == user->getAttr(kDeviceAttr)
             ? op
             : nullptr;
}

static bool isElementwise(Operation *op) {
  return cast<KernelOpInterface>(op).getFusionKind() == FusionKind::Elementwise;
}

/// Neither operand is for several matrices of the result.
static bool hasEqualBatches(MatmulOp op) {
  ArrayRef<int64_t> batch = shapeOf(op.getResult()).drop_back(2);
  return shapeOf(op.getLhs()).drop_back(2) == batch && shapeOf(op.getRhs()).drop_back(2) == batch;
}

/// The product whose elements `value` is computed from, each from the one at its place; adds the
/// ops on the way, it included.
static MatmulOp findScores(Value value, Operation *user, Ops &ops) {
  Operation *op = ownMaker(value, user);
  if (!op || ops.size() > kMostOps)
    return {};
  ops.push_back(op);
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return matmul;
  if (!isElementwise(op) || elementOf(op->getResult(0)) != elementOf(user->getResult(0)))
    return {};
  const size_t known = ops.size();
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get().getType() != value.getType() || !isElementwiseUse(operand))
      continue;
    if (MatmulOp scores = findScores(operand.get(), op, ops))
      return scores;
    ops.truncate(known);
  }
  return {};
}

/// Adds the transpose that makes an operand, and what follows it element by element; and what takes
/// a part of a tensor in front of it. It may be rounded where the product has its sums in a wider
/// type.
static void addMoves(Value value, MatmulOp user, AttentionOperands operands, Ops &ops) {
  Ops way;
  auto keepsType = [&](Operation *op) {
    return op->getOperand(0).getType() == op->getResult(0).getType() ||
           (givesAccumulators(user) && isa<CastOp>(op));
  };
  for (Operation *op = ownMaker(value, user); op && way.size() < 4;
       op = ownMaker(op->getOperand(0), op)) {
    way.push_back(op);
    if (isa<TransposeOp>(op)) {
      auto part = dyn_cast_or_null<SliceOp>(ownMaker(op->getOperand(0), op));
      if (part && operands == AttentionOperands::parts)
        way.push_back(part);
      return ops.append(way);
    }
    if (!isElementwise(op) || op->getNumOperands() == 0 || !isElementwiseUse(op->getOpOperand(0)) ||
        !keepsType(op))
      return;
  }
}

/// The ops of attention in front of its second product; none if there is no attention.
static Ops opsOfAttention(MatmulOp second, SuitsAttention suits, AttentionOperands operands) {
  Operation *weights = ownMaker(second.getLhs(), second);
  auto rounded = givesAccumulators(second) ? dyn_cast_or_null<CastOp>(weights) : CastOp();
  if (rounded)
    weights = ownMaker(rounded.getInput(), rounded);
  auto softmax = dyn_cast_or_null<SoftmaxOp>(weights);
  ArrayRef<int64_t> result = shapeOf(second.getResult());
  const int64_t rank = result.size();
  if (!softmax || second.getTransposeA() || int64_t(softmax.getAxis()) != rank - 1 ||
      !hasEqualBatches(second))
    return {};
  Ops ops{softmax};
  if (rounded)
    ops.push_back(rounded);
  MatmulOp first = findScores(softmax.getInput(), softmax, ops);
  if (!first || elementOf(first.getResult()) != elementOf(second.getResult()) ||
      !hasEqualBatches(first))
    return {};
  ArrayRef<int64_t> scores = shapeOf(first.getResult());
  int64_t depth = shapeOf(first.getLhs())[rank - (first.getTransposeA() ? 2 : 1)];
  if (!suits(second, {ShapedType::getNumElements(scores.drop_back(2)), scores[rank - 2],
                      scores[rank - 1], depth, result.back()}))
    return {};
  addMoves(first.getLhs(), first, operands, ops);
  addMoves(first.getRhs(), first, operands, ops);
  addMoves(second.getRhs(), second, operands, ops);
  return ops.size() <= kMostOps ? ops : Ops();
}

/// Heads side by side again: rows of the product stay rows.
static bool keepsRows(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  ArrayRef<int64_t> order = transpose ? transpose.getPermutation() : ArrayRef<int64_t>();
  return !order.empty() && order.back() == int64_t(order.size()) - 1;
}

bool gantry::fitsAttention(Operation *op, ArrayRef<Operation *> group, SuitsAttention suits,
                           AttentionOperands operands) {
  for (Operation *member : group)
    if (auto second = dyn_cast<MatmulOp>(member))
      if (llvm::is_contained(opsOfAttention(second, suits, operands), op))
        return true;
  auto second = dyn_cast<MatmulOp>(op);
  return second && group.size() == 1 && keepsRows(group.front()) &&
         !opsOfAttention(second, suits, operands).empty();
}
