#include "Attention.h"

#include "Tile.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Fewer queries would not share packed keys often enough.
static constexpr int64_t kFewestQueries = 16;
static constexpr int64_t kFewestKeys = 16;
/// Rows of scores of a tile come to this many bytes at most.
static constexpr int64_t kScoreBytes = 48 << 10;
static constexpr int64_t kMostDepth = 256;
/// Items below this number are cut further, as long as they have so many queries.
static constexpr int64_t kFewItems = 8, kFewestOfItem = 64;

static int64_t rowsOfTile(int64_t keys, int64_t width) {
  int64_t most = std::min(mostRows(panelWidth(keys)), mostRows(panelWidth(width)));
  return std::min<int64_t>(most, kScoreBytes / (keys * int64_t(sizeof(float))));
}

// Values of one element are columns to nobody: such a product is found the other way round.
bool gantry::cpu::suitsAttention(int64_t queries, int64_t keys, int64_t depth, int64_t width) {
  return queries >= kFewestQueries && keys >= kFewestKeys && depth > 0 && depth <= kMostDepth &&
         width > 1 && width <= kMostDepth && rowsOfTile(keys, width) >= 2;
}

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

TypedAttr gantry::cpu::startOf(linalg::GenericOp op) {
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

/// A matrix for each index of the leading dimensions.
static bool isBatchOfMatrices(const Product &product, unsigned rank) {
  linalg::GenericOp op = product.op;
  auto isLoop = [](ArrayRef<unsigned> loops, unsigned loop) {
    return loops.size() == 1 && loops.front() == loop;
  };
  return op.getNumLoops() == rank + 1 && isLoop(product.rows, rank - 2) &&
         isLoop(product.columns, rank - 1) && isLoop(product.terms, rank) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)) ==
             AffineMap::getMultiDimIdentityMap(rank + 1, op.getContext()).getMajorSubMap(rank) &&
         isPlain(op, product.left.operand) && isPlain(op, product.right.operand) &&
         product.type().isF32();
}

static void chooseTiles(Attention &a) {
  a.keyWidth = panelWidth(a.keys);
  a.keyPanels = llvm::divideCeil(a.keys, a.keyWidth);
  a.valueWidth = panelWidth(a.width);
  a.valuePanels = llvm::divideCeil(a.width, a.valueWidth);
  static_cast<RowTiles &>(a) =
      RowTiles::of(a.scores.count(a.scores.rows), rowsOfTile(a.keys, a.width));
  int64_t chunks = a.batch < kFewItems ? llvm::divideCeil(kFewItems, a.batch) : 1;
  a.chunks = std::clamp<int64_t>(std::min(chunks, a.rows / kFewestOfItem), 1, a.tiles);
}

std::optional<Attention> gantry::cpu::findAttention(func::FuncOp func) {
  ValueRange results = func.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || !hasElements(func))
    return std::nullopt;
  Attention a;
  a.root = results.front();
  a.inner = skipMoves(a.root);
  linalg::GenericOp sum = findSum(a.inner);
  std::optional<Product> context = sum ? readProduct(sum) : std::nullopt;
  if (!context || shapeOf(a.inner) != shapeOf(sum->getResult(0)))
    return std::nullopt;
  unsigned rank = typeOf(sum->getResult(0)).getRank();
  a.weights = context->left.operand->get();
  if (rank < 2 || !isBatchOfMatrices(*context, rank) || !elementOf(a.weights).isF32() ||
      context->left.factor != sum.getMatchingBlockArgument(context->left.operand) ||
      !isCheap(context->right.operand->get()))
    return std::nullopt;
  SmallVector<AffineExpr> place;
  for (unsigned d = 0; d + 1 < rank; ++d)
    place.push_back(getAffineDimExpr(d, func.getContext()));
  place.push_back(getAffineDimExpr(rank, func.getContext()));
  if (sum.getMatchingIndexingMap(context->left.operand) !=
      AffineMap::get(rank + 1, 0, place, func.getContext()))
    return std::nullopt;

  RowOps rows{rank};
  if (!rows.follow(a.weights) || rows.ops.empty() || !rows.scores ||
      !elementOf(rows.first).isF32() || !isBatchOfMatrices(*rows.scores, rank) ||
      shapeOf(rows.first) != shapeOf(rows.scores->op->getResult(0)) ||
      !isCheap(rows.scores->left.operand->get()) || !isCheap(rows.scores->right.operand->get()))
    return std::nullopt;
  a.context = std::move(*context);
  a.scores = std::move(*rows.scores);
  a.first = rows.first;
  a.rowOps = std::move(rows.ops);
  a.queries = findDirectRows(a.scores, func);
  a.batch = a.scores.count(a.scores.batch);
  a.keys = a.scores.count(a.scores.columns);
  a.depth = a.scores.count(a.scores.terms);
  a.width = a.context.count(a.context.columns);
  if (a.batch == 0 || !suitsAttention(a.scores.count(a.scores.rows), a.keys, a.depth, a.width))
    return std::nullopt;
  a.keysByTerms = isByTerms(a.scores, a.scores.right, a.scores.columns);
  a.valuesByTerms = isByTerms(a.context, a.context.right, a.context.columns);
  chooseTiles(a);
  return a;
}
