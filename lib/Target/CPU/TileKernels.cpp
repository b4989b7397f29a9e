// Cuts the op that makes a kernel's results into work items and moves its producers inside.
//
// A work item is one iteration of an scf.forall. Tile sizes are divisors of the dimensions, so all
// shapes inside stay static, and depend on shapes alone, so that any number of threads computes the
// same bytes. A dimension along which a producer's value is used again (the columns of a softmax,
// whose maximum belongs to the whole row) is not cut: it would be computed once per tile.

#include "gantry/Linalg/PackedConvolution.h"
#include "gantry/Linalg/Reshapes.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_TILEKERNELSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

/// The linalg op that makes every result of the function, or null.
static linalg::LinalgOp findRoot(func::FuncOp func) {
  linalg::LinalgOp root;
  for (Value result : func.getBody().front().getTerminator()->getOperands()) {
    auto op = skipReshapes(result).getDefiningOp<linalg::LinalgOp>();
    if (!op || (root && root != op) || !llvm::hasSingleElement(skipReshapes(result).getUses()))
      return {};
    root = op;
  }
  return root;
}

static bool holdsPackedConvolution(func::FuncOp func) {
  return func
      .walk([](linalg::LinalgOp op) {
        return PackedConvolution::match(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the op adds up along a dimension of the operand: not along those of a number of each
/// row.
static bool isReduced(linalg::LinalgOp op, OpOperand *operand) {
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  AffineMap map = op.getMatchingIndexingMap(operand);
  return llvm::any_of(reduced, [&](unsigned d) { return map.isFunctionOfDim(d); });
}

static bool isContraction(linalg::LinalgOp op) {
  return llvm::count_if(op.getDpsInputOperands(),
                        [&](OpOperand *operand) { return isReduced(op, operand); }) >= 2;
}

/// Whether the op adds up rows, or the like: its result lies along a dimension that an input lies
/// along, too.
static bool reducesColumns(linalg::LinalgOp op) {
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (op.getNumReductionLoops() == 0 || result.getNumResults() == 0)
    return false;
  auto column = dyn_cast<AffineDimExpr>(result.getResults().back());
  return column && llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
           AffineMap map = op.getMatchingIndexingMap(operand);
           return map.getNumResults() > 0 && isReduced(op, operand) &&
                  map.getResults().back().isFunctionOfDim(column.getPosition());
         });
}

/// Marks the dimensions along which an operand made inside the kernel is used more than once.
static void markReusedDims(linalg::LinalgOp op, SmallVectorImpl<bool> &whole) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto producer = skipReshapes(operand->get()).getDefiningOp<linalg::LinalgOp>();
    if (!producer || isa<linalg::FillOp>(producer))
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (unsigned d = 0; d < whole.size(); ++d)
      if (!map.isFunctionOfDim(d))
        whole[d] = true;
  }
}

static int64_t product(ArrayRef<int64_t> values) {
  int64_t p = 1;
  for (int64_t v : values)
    p *= std::max<int64_t>(v, 1);
  return p;
}

/// Largest divisor of `n` that is at most `limit`, multiples of `unit` preferred.
static int64_t chooseDivisor(int64_t n, int64_t limit, int64_t unit) {
  limit = std::clamp<int64_t>(limit, 1, n);
  int64_t best = 1, bestOfUnit = 0;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d)
      continue;
    for (int64_t candidate : {d, n / d}) {
      if (candidate > limit)
        continue;
      best = std::max(best, candidate);
      if (candidate % unit == 0)
        bestOfUnit = std::max(bestOfUnit, candidate);
    }
  }
  return bestOfUnit * 2 > best ? bestOfUnit : best;
}

/// Elements side by side that an item adds up.
static constexpr int64_t kLeastColumns = 32;

namespace {
/// Chooses how far each loop of the root is cut; 0 leaves it whole.
struct TileChooser {
  linalg::LinalgOp root;
  SmallVector<int64_t> sizes;     ///< iterations of each loop
  SmallVector<unsigned> parallel; ///< loops that may be cut, outermost first
  int64_t workPerElement;         ///< operations behind one element of the result
  bool single = true;             ///< the kernel has no other op
  linalg::LinalgOp contraction;   ///< the last one in the kernel, or null
  bool hasBorders = false;        ///< something is padded in the kernel
  bool addsUpRows = false;        ///< or the like: columns of a result are columns of an operand

  explicit TileChooser(linalg::LinalgOp root, func::FuncOp func)
      : root(root), sizes(root.getStaticLoopRanges()) {
    SmallVector<bool> whole(sizes.size());
    markReusedDims(root, whole);
    int64_t elements = 1;
    for (auto [i, kind] : llvm::enumerate(root.getIteratorTypesArray())) {
      if (kind != utils::IteratorType::parallel)
        continue;
      elements *= sizes[i];
      if (!whole[i])
        parallel.push_back(i);
    }
    int64_t work = 0;
    func.walk([&](tensor::PadOp) { hasBorders = true; });
    func.walk([&](linalg::LinalgOp op) {
      work += product(op.getStaticLoopRanges());
      single &= op == root;
      addsUpRows |= reducesColumns(op);
      if (isContraction(op))
        contraction = op;
    });
    workPerElement = std::max<int64_t>(1, work / std::max<int64_t>(elements, 1));
  }

  /// Work of a tile, counting uncut dimensions whole.
  int64_t uncutWork() {
    int64_t work = workPerElement;
    for (auto [i, kind] : llvm::enumerate(root.getIteratorTypesArray()))
      if (kind == utils::IteratorType::parallel && !llvm::is_contained(parallel, i))
        work *= sizes[i];
    return work;
  }

  /// How many items make up `threadWork` operations, the fewest worth waking a thread for.
  int64_t grainOf(ArrayRef<int64_t> tiles, int64_t threadWork) {
    int64_t work = uncutWork();
    for (unsigned d : parallel)
      work *= tiles[d] ? tiles[d] : sizes[d];
    return std::max<int64_t>(1, threadWork / std::max<int64_t>(work, 1));
  }

  /// Of a kernel that only moves elements: the loop along which they lie side by side in the
  /// source, where that is not the last one.
  std::optional<unsigned> loopAlongSource() {
    auto move = dyn_cast<linalg::GenericOp>(root.getOperation());
    if (!single || !move || move.getNumDpsInputs() != 1 ||
        move.getBody()->getTerminator()->getOperand(0) != move.getBody()->getArgument(0))
      return std::nullopt;
    AffineMap map = move.getMatchingIndexingMap(move.getDpsInputOperand(0));
    if (!map.isPermutation() || map.getDimPosition(map.getNumResults() - 1) == parallel.back())
      return std::nullopt;
    return map.getDimPosition(map.getNumResults() - 1);
  }

  /// Whether an item goes through its elements more than once: along whole dimensions.
  bool passesTwice() { return !single && parallel.size() < root.getNumParallelLoops(); }

  /// Inner dimensions whole as long as an item stays below `target`, outer ones one by one; but of
  /// a move enough in both directions to turn it in registers.
  SmallVector<int64_t> chooseRows(int64_t target) {
    constexpr int64_t side = 16;            // EmitTransposes
    constexpr int64_t kNearElements = 4096; // with what is made of them in the nearest cache
    if (passesTwice())
      target = std::min(target, kNearElements * workPerElement);
    SmallVector<int64_t> tiles = chooseRows(target, std::nullopt);
    std::optional<unsigned> along = loopAlongSource();
    return along && sizes[*along] >= side && tiles[*along] < side ? chooseRows(target, along)
                                                                  : tiles;
  }

  /// `first` gets its share before the others.
  SmallVector<int64_t> chooseRows(int64_t target, std::optional<unsigned> first) {
    SmallVector<int64_t> tiles(sizes.size(), 0);
    int64_t work = uncutWork();
    if (first) {
      int64_t divisor = chooseDivisor(sizes[*first], 32, 16);
      tiles[*first] = divisor < 16 ? sizes[*first] : divisor;
      work *= tiles[*first];
    }
    for (unsigned d : llvm::reverse(parallel)) {
      if (first == d)
        continue;
      int64_t room = std::clamp<int64_t>(target / work, 1, sizes[d]);
      // Long columns: each line of the cache is read by one item alone.
      if (d == parallel.back() && addsUpRows)
        room = std::min(std::max(room, kLeastColumns), sizes[d]);
      tiles[d] = chooseDivisor(sizes[d], room, 16);
      // Without values in between nothing needs a static shape: a last, smaller tile beats many
      // tiny ones.
      if (single && tiles[d] * 4 < room)
        tiles[d] = room;
      work *= tiles[d];
    }
    return tiles;
  }

  /// Whether `d` belongs to an operand of the contraction that does not change along the columns:
  /// rows of a matrix product, output channels of a convolution.
  bool isRow(unsigned d) {
    for (OpOperand *operand : contraction.getDpsInputOperands()) {
      AffineMap map = contraction.getMatchingIndexingMap(operand);
      if (map.isFunctionOfDim(d) && !map.isFunctionOfDim(parallel.back()))
        return true;
    }
    return false;
  }

  /// Columns (elements of the innermost dimensions) first, enough of them to fill registers, then
  /// as many rows as `mostWork` and parallelism allow: what is loaded is used often in both
  /// directions.
  SmallVector<int64_t> chooseBlocks(int64_t mostWork) {
    constexpr int64_t kColumns = 128, kItems = 16, kLeastWork = 1 << 18;
    // With borders a tile of the input is a buffer, too, with strides one several times as large.
    const int64_t tileElements = hasBorders ? 1 << 11 : 1 << 14;
    SmallVector<int64_t> tiles(sizes.size(), 0);
    int64_t work = uncutWork(), total = work, elements = 1;
    for (unsigned d : parallel)
      total *= sizes[d];
    int64_t target = std::min(mostWork, std::max(kLeastWork, total / kItems));
    bool columns = true;
    for (unsigned d : llvm::reverse(parallel)) {
      columns = columns && (d == parallel.back() || (elements * 2 <= kColumns && !isRow(d)));
      int64_t room =
          columns ? kColumns / elements : std::min(target / work, tileElements / elements);
      tiles[d] = chooseDivisor(sizes[d], std::max<int64_t>(room, 1), columns ? 16 : 8);
      // A long prime dimension has no useful divisor: better whole than element by element.
      if (d == parallel.back() && tiles[d] < 8)
        tiles[d] = sizes[d];
      work *= tiles[d];
      elements *= tiles[d];
    }
    return tiles;
  }
};

struct TileKernels : gantry::impl::TileKernelsPassBase<TileKernels> {
  using TileKernelsPassBase::TileKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    linalg::LinalgOp root = findRoot(func);
    if (holdsPackedConvolution(func))
      return; // EmitConvolutions cuts it
    if (!root || root.hasDynamicShape() || isa<linalg::FillOp>(root))
      return;
    TileChooser chooser(root, func);
    if (chooser.parallel.empty() || llvm::is_contained(chooser.sizes, 0))
      return;
    SmallVector<int64_t> tiles =
        chooser.contraction ? chooser.chooseBlocks(contractionWork) : chooser.chooseRows(itemWork);
    func->setAttr(kWorkAttr, WorkAttr::of(func).withGrain(chooser.grainOf(tiles, threadWork)));
    if (failed(tile(root, tiles)))
      return signalPassFailure();
  }

  LogicalResult tile(linalg::LinalgOp root, ArrayRef<int64_t> tiles) {
    IRRewriter rewriter(root->getContext());
    rewriter.setInsertionPoint(root);
    SmallVector<OpFoldResult> sizes;
    for (int64_t t : tiles)
      sizes.push_back(rewriter.getIndexAttr(t));
    scf::SCFTilingOptions tiling;
    tiling.setTileSizes(sizes).setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    scf::SCFTileAndFuseOptions options;
    options.setTilingOptions(tiling);
    RewritePatternSet cleanup(root->getContext());
    tensor::ExtractSliceOp::getCanonicalizationPatterns(cleanup, root->getContext());
    tensor::populateMergeConsecutiveInsertExtractSlicePatterns(cleanup);
    options.cleanupPatterns = FrozenRewritePatternSet(std::move(cleanup));
    auto result = scf::tileConsumerAndFuseProducersUsingSCF(
        rewriter, cast<TilingInterface>(root.getOperation()), options);
    if (failed(result))
      return root.emitError("internal error: the op could not be cut into work items");
    for (auto [from, to] : result->replacements)
      rewriter.replaceAllUsesWith(from, to);
    RewritePatternSet fold(root->getContext());
    tensor::populateFoldTensorEmptyPatterns(fold);
    return applyPatternsGreedily(root->getParentOfType<func::FuncOp>(), std::move(fold));
  }
};
} // namespace
