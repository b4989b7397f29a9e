#include "gantry/Linalg/AttentionForm.h"

#include "gantry/Linalg/Emitter.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Between the products
//===----------------------------------------------------------------------===//

/// Whether the map reads a matrix of scores at the loops' own place.
static bool isWhole(AffineMap map, unsigned rank) {
  return map == AffineMap::getMultiDimIdentityMap(rank, map.getContext());
}

/// One element for each row.
static bool isOfRow(AffineMap map, unsigned rank) {
  return map == AffineMap::getMultiDimIdentityMap(rank, map.getContext()).dropResult(rank - 1);
}

TypedAttr gantry::startOf(linalg::GenericOp op) {
  Value start = filledWith(op.getDpsInits().front());
  TypedAttr constant;
  return start && matchPattern(start, m_Constant(&constant)) ? constant : TypedAttr();
}

/// Bodies may pick elements of other tensors, which no row has.
static bool picksElements(linalg::GenericOp op) {
  return op.getBody()
      ->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {
/// Follows weights back to the scores.
struct RowOps {
  unsigned rank;
  Value first = {};
  std::optional<Product> scores = {};
  SmallVector<linalg::GenericOp> ops = {};

  bool follow(Value tensor) {
    if (tensor == first)
      return true;
    auto op = tensor.getDefiningOp<linalg::GenericOp>();
    if (!op || op->getNumResults() != 1)
      return false;
    if (llvm::is_contained(ops, op))
      return true;
    if (linalg::GenericOp sum = findSum(tensor))
      if (std::optional<Product> product = readProduct(sum)) {
        if (first)
          return false; // scores of two kinds
        first = tensor;
        scores = std::move(product);
        return true;
      }
    if (!isOverRows(op))
      return false;
    for (OpOperand *input : op.getDpsInputOperands())
      if (isa<RankedTensorType>(input->get().getType()) && !follow(input->get()))
        return false;
    ops.push_back(op);
    return true;
  }

  /// Of one number for each row others, as the reciprocal of its sum.
  bool isOfRows(linalg::GenericOp op) {
    return op.getNumLoops() + 1 == rank && op.getNumReductionLoops() == 0 &&
           op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() &&
           llvm::all_of(op.getIndexingMapsArray(),
                        [](AffineMap map) { return map.isIdentity() || map.getNumResults() == 0; });
  }

  bool isOverRows(linalg::GenericOp op) {
    if (op.hasIndexSemantics())
      return false;
    if (isOfRows(op))
      return !picksElements(op);
    if (op.getNumLoops() != rank)
      return false;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction && loop + 1 != rank)
        return false;
    OpOperand *init = op.getDpsInitOperand(0);
    bool reduces = op.getNumReductionLoops() > 0;
    AffineMap result = op.getMatchingIndexingMap(init);
    if (picksElements(op) || !(reduces ? isOfRow(result, rank) : isWhole(result, rank)) ||
        (reduces && !startOf(op)) || (!reduces && !op.getMatchingBlockArgument(init).use_empty()))
      return false;
    return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
      AffineMap map = op.getMatchingIndexingMap(input);
      return !isa<RankedTensorType>(input->get().getType()) || isWhole(map, rank) ||
             isOfRow(map, rank);
    });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The products
//===----------------------------------------------------------------------===//

/// No window moves over the operand.
static bool isPlain(linalg::GenericOp op, const Side &side) {
  return op.getMatchingIndexingMap(side.operand).isProjectedPermutation(/*allowZeroInDims=*/true);
}

/// A matrix for each index of the leading dimensions.
static bool isBatchOfMatrices(const Product &product, unsigned rank) {
  linalg::GenericOp op = product.op;
  auto isLoop = [](ArrayRef<unsigned> loops, unsigned loop) {
    return loops.size() == 1 && loops.front() == loop;
  };
  return op.getNumLoops() == rank + 1 && isLoop(product.rows, rank - 2) &&
         isLoop(product.columns, rank - 1) && isLoop(product.k, rank) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)) ==
             AffineMap::getMultiDimIdentityMap(rank + 1, op.getContext()).getMajorSubMap(rank) &&
         isPlain(op, product.left) && isPlain(op, product.right);
}

/// Whether the left operand has an element for each row and term, and no other.
static bool readsWeights(const Product &context, unsigned rank) {
  linalg::GenericOp op = context.op;
  MLIRContext *ctx = op.getContext();
  AffineMap place = AffineMap::getMultiDimIdentityMap(rank + 1, ctx).dropResult(rank - 1);
  return op.getMatchingIndexingMap(context.left.operand) == place;
}

std::optional<AttentionForm> gantry::findAttention(Value root) {
  AttentionForm form;
  form.root = root;
  form.inner = skipMoves(root);
  linalg::GenericOp sum = findSum(form.inner);
  std::optional<Product> context = sum ? readProduct(sum) : std::nullopt;
  if (!context || shapeOf(form.inner) != shapeOf(sum->getResult(0)))
    return std::nullopt;
  unsigned rank = typeOf(sum->getResult(0)).getRank();
  form.weights = context->left.operand->get();
  if (rank < 2 || !isBatchOfMatrices(*context, rank) || !readsWeights(*context, rank) ||
      !isCheap(context->right.operand->get()))
    return std::nullopt;
  RowOps rows{rank};
  if (!rows.follow(form.weights) || rows.ops.empty() || !rows.scores ||
      !isBatchOfMatrices(*rows.scores, rank) ||
      shapeOf(rows.first) != shapeOf(rows.scores->op->getResult(0)) ||
      !isCheap(rows.scores->left.operand->get()) || !isCheap(rows.scores->right.operand->get()))
    return std::nullopt;
  form.context = std::move(*context);
  form.scores = std::move(*rows.scores);
  form.first = rows.first;
  form.rowOps = std::move(rows.ops);
  return form;
}
