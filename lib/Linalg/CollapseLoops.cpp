// Merges loops of a generic op that run over memory without a gap, so that the innermost loop is
// long.
//
// A convolution with a 1x1 window becomes a matrix product, elementwise work on small images one
// loop. Two neighbouring loops merge when every operand either uses both as neighbouring dimensions
// that lie one after the other in memory, or uses neither.

#include "gantry/Linalg/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_COLLAPSELOOPSPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

/// Merges dimensions of size 1 that are always read at 0 into the one before, the first ones into
/// that behind them, and shortens `map`; a buffer that does not allow it stays as it is.
static Value dropConstantIndices(OpBuilder &b, Location loc, Value buffer, AffineMap &map) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<ReassociationIndices> groups;
  SmallVector<AffineExpr> kept;
  ReassociationIndices first;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (constant && constant.getValue() == 0 && type.getDimSize(i) == 1 &&
        i + 1 < map.getNumResults() + groups.size()) {
      (groups.empty() ? first : groups.back()).push_back(i);
      continue;
    }
    groups.push_back(std::exchange(first, {}));
    groups.back().push_back(i);
    kept.push_back(expr);
  }
  if (groups.size() == map.getNumResults() ||
      !memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups))
    return buffer;
  map = AffineMap::get(map.getNumDims(), 0, kept, b.getContext());
  return memref::CollapseShapeOp::create(b, loc, buffer, groups);
}

/// Takes out reducing loops of one iteration (a window of size 1), and indices that are always 0.
static linalg::GenericOp dropUnitWindows(linalg::GenericOp op, RewriterBase &rewriter) {
  auto sizes = op.getStaticLoopRanges();
  auto maps = op.getIndexingMapsArray();
  llvm::SmallBitVector dropped(sizes.size());
  for (auto [d, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    dropped[d] = sizes[d] == 1 && kind == utils::IteratorType::reduction;
  bool constantIndices = llvm::any_of(maps, [](AffineMap map) {
    return llvm::any_of(map.getResults(), llvm::IsaPred<AffineConstantExpr>);
  });
  if ((dropped.none() && !constantIndices) || dropped.all() || op.hasIndexSemantics())
    return op;
  SmallVector<AffineExpr> replacements;
  SmallVector<utils::IteratorType> kinds;
  for (auto [d, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    replacements.push_back(dropped[d] ? rewriter.getAffineConstantExpr(0)
                                      : rewriter.getAffineDimExpr(unsigned(kinds.size())));
    if (!dropped[d])
      kinds.push_back(kind);
  }
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands(op->getOperands());
  for (auto [map, operand] : llvm::zip(maps, operands)) {
    map = map.replaceDimsAndSymbols(replacements, {}, kinds.size(), 0);
    operand = dropConstantIndices(rewriter, op.getLoc(), operand, map);
  }
  unsigned inputs = op.getNumDpsInputs();
  auto smaller =
      linalg::GenericOp::create(rewriter, op.getLoc(), ValueRange(operands).take_front(inputs),
                                ValueRange(operands).drop_front(inputs), maps, kinds);
  rewriter.inlineRegionBefore(op.getRegion(), smaller.getRegion(), smaller.getRegion().end());
  rewriter.eraseOp(op);
  return smaller;
}

/// Whether dimensions `at` and `at + 1` of a buffer lie one after the other without a gap.
static bool isGapless(MemRefType type, unsigned at) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(strides[at]) &&
         strides[at] == strides[at + 1] * type.getDimSize(at + 1);
}

/// Whether one operand allows loops `d` and `d + 1` to merge.
static bool allowsMerging(AffineMap map, Type type, unsigned d) {
  if (!map.isFunctionOfDim(d) && !map.isFunctionOfDim(d + 1))
    return true;
  auto buffer = dyn_cast<MemRefType>(type);
  for (unsigned i = 0; buffer && i + 1 < map.getNumResults(); ++i) {
    auto a = dyn_cast<AffineDimExpr>(map.getResult(i)),
         b = dyn_cast<AffineDimExpr>(map.getResult(i + 1));
    if (a && b && a.getPosition() == d && b.getPosition() == d + 1) {
      // Neither may occur in another index as well.
      SmallVector<AffineExpr> others(map.getResults());
      others.erase(others.begin() + i, others.begin() + i + 2);
      return isGapless(buffer, i) && llvm::none_of(others, [&](AffineExpr e) {
               return e.isFunctionOfDim(d) || e.isFunctionOfDim(d + 1);
             });
    }
  }
  return false;
}

/// Maximal runs of loops that may merge; every loop is in one.
static SmallVector<ReassociationIndices> findRuns(linalg::GenericOp op) {
  auto kinds = op.getIteratorTypesArray();
  auto maps = op.getIndexingMapsArray();
  SmallVector<ReassociationIndices> runs;
  for (unsigned d = 0; d < kinds.size(); ++d) {
    bool merges = d > 0 && kinds[d] == kinds[d - 1];
    for (auto [map, operand] : llvm::zip(maps, op->getOperands()))
      merges = merges && allowsMerging(map, operand.getType(), d - 1);
    if (merges)
      runs.back().push_back(d);
    else
      runs.push_back({int64_t(d)});
  }
  return runs;
}

namespace {
struct CollapseLoops : gantry::impl::CollapseLoopsPassBase<CollapseLoops> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureBufferSemantics() && !op.hasDynamicShape())
        generics.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : generics)
      collapse(dropUnitWindows(op, rewriter), rewriter);
  }

  static void collapse(linalg::GenericOp op, RewriterBase &rewriter) {
    auto permutes = [](AffineMap map) { return map.isProjectedPermutation(); };
    auto runs = findRuns(op);
    if (runs.size() == op.getNumLoops() || op.hasIndexSemantics() ||
        !llvm::all_of(op.getIndexingMapsArray(), permutes))
      return;
    rewriter.setInsertionPoint(op);
    if (auto result = linalg::collapseOpIterationDims(op, runs, rewriter); succeeded(result))
      rewriter.eraseOp(op);
  }
};
} // namespace
