#include "Order.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// What a row takes, in cycles of one multiprocessor: until its first elements are there; to ask
/// for a piece; to take a term in, in the two reductions that rows mostly have; to join two lanes
/// by a shuffle; for warps to meet in shared memory, and there to take one warp's sum in. The
/// orders of magnitude are what matters; docs/designs/gpu-code.md has what they were compared with.
static constexpr int64_t kFirstCycles = 700, kPieceCycles = 30, kTermCycles = 8,
                         kShuffleCycles = 30, kMeetingCycles = 60, kWarpSumCycles = 3;
/// Of a column: lanes are worth it for as many terms each, until that many threads have work.
static constexpr int64_t kMostSlices = 16, kTermsOfSlice = 16, kEnoughThreads = 64 * 1024;
static constexpr int64_t kWarpLanes = 32;

//===----------------------------------------------------------------------===//
// Joining partial results
//===----------------------------------------------------------------------===//

Value Joiner::neutral(ImplicitLocOpBuilder &b) const {
  return better ? Value()
                : arith::ConstantOp::create(b, *::mlir::arith::getNeutralElement(last)).getResult();
}

std::optional<Joiner> Joiner::of(linalg::GenericOp op) {
  Joiner joiner;
  joiner.op = op;
  ValueRange yielded = op.getBody()->getTerminator()->getOperands();
  auto results = op.getRegionOutputArgs();
  if (yielded.size() == 1) {
    Operation *last = yielded[0].getDefiningOp();
    BlockArgument soFar = results.front();
    if (!last || last->getNumOperands() != 2 || !soFar.hasOneUse() || *soFar.user_begin() != last ||
        !::mlir::arith::getNeutralElement(last))
      return std::nullopt;
    joiner.last = last;
    return joiner;
  }
  if (yielded.size() != 2)
    return std::nullopt;
  auto best = yielded[0].getDefiningOp<arith::SelectOp>();
  auto place = yielded[1].getDefiningOp<arith::SelectOp>();
  if (!best || !place || best.getCondition() != place.getCondition() ||
      best.getFalseValue() != results[0] || place.getFalseValue() != results[1] ||
      !results[1].hasOneUse() || !isa<IntegerType>(results[1].getType()))
    return std::nullopt;
  joiner.better = best.getCondition();
  joiner.candidate = best.getTrueValue();
  return joiner;
}

/// The comparison of the body, with `x` as the next element.
Value Joiner::isBetter(ImplicitLocOpBuilder &b, Value x, Value than) const {
  linalg::GenericOp op = this->op; // its members are not const
  IRMapping inside;
  inside.map(candidate, x);
  inside.map(op.getRegionOutputArgs().front(), than);
  std::function<Value(Value)> copy = [&](Value v) {
    Operation *defining = v.getDefiningOp();
    if (inside.contains(v) || !defining || defining->getBlock() != op.getBody())
      return inside.lookupOrDefault(v);
    for (Value operand : defining->getOperands())
      copy(operand);
    b.clone(*defining, inside);
    return inside.lookup(v);
  };
  return copy(better);
}

SmallVector<Value> Joiner::join(ImplicitLocOpBuilder &b, ValueRange x, ValueRange y) const {
  if (last) {
    Operation *copy = b.clone(*last);
    copy->setOperands({x[0], y[0]});
    return {copy->getResult(0)};
  }
  // Of two that are as good, neither is better than the other where the first counts, both are
  // where the last does.
  Value isX = isBetter(b, x[0], y[0]), isY = isBetter(b, y[0], x[0]);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[1], y[1]);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, x[1], y[1]);
  Value isSame = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, isX, isY);
  Value byPlace = arith::SelectOp::create(b, isX, isLast, isFirst);
  Value takesX = arith::SelectOp::create(b, isSame, byPlace, isX);
  return {arith::SelectOp::create(b, takesX, x[0], y[0]),
          arith::SelectOp::create(b, takesX, x[1], y[1])};
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

static bool reduces(linalg::GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
}

SmallVector<int64_t> gantry::gpu::termSizesOf(linalg::GenericOp op) {
  SmallVector<int64_t> terms;
  for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges()))
    if (reduces(op, loop))
      terms.push_back(size);
  return terms;
}

int64_t gantry::gpu::termsOf(linalg::GenericOp op) {
  return ShapedType::getNumElements(termSizesOf(op));
}

/// Loops of more than one iteration whose indices the map's results are; none where one is
/// computed.
static SmallVector<unsigned> loopsOf(AffineMap map, ArrayRef<int64_t> sizes) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim && !isa<AffineConstantExpr>(expr))
      return {};
    if (dim && sizes[dim.getPosition()] != 1)
      loops.push_back(dim.getPosition());
  }
  return loops;
}

/// The loops, outermost first in memory, of the first operand that has an element of its own for
/// each iteration.
static SmallVector<unsigned> loopsOfTerms(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  size_t all = llvm::count_if(sizes, [](int64_t size) { return size != 1; });
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<unsigned> loops = loopsOf(op.getMatchingIndexingMap(input), sizes);
    llvm::SmallDenseSet<unsigned> different(loops.begin(), loops.end());
    if (loops.size() == all && different.size() == all)
      return loops;
  }
  return {};
}

bool gantry::gpu::isJoined(linalg::GenericOp op) {
  return termsOf(op) > 1 && !loopsOfTerms(op).empty() && Joiner::of(op);
}

static int64_t cyclesOfRow(int64_t pieces, int64_t piece, int64_t lanes) {
  int64_t turns = int64_t(llvm::divideCeil(pieces, lanes));
  int64_t cycles = kFirstCycles + turns * (kPieceCycles + piece * kTermCycles) +
                   llvm::Log2_64(uint64_t(std::min(lanes, kWarpLanes))) * kShuffleCycles;
  if (lanes > kWarpLanes)
    cycles += kMeetingCycles + lanes / kWarpLanes * kWarpSumCycles;
  return cycles;
}

/// The fewest lanes that take hardly longer than any other number: each joins and waits, which is
/// work that long matrices have no time for. A warp's lanes read together in any case.
static int64_t lanesOfRow(int64_t pieces, int64_t piece) {
  int64_t all = std::min(int64_t(llvm::PowerOf2Ceil(uint64_t(pieces))), kMostLanes);
  int64_t first = std::min(all, kWarpLanes), least = cyclesOfRow(pieces, piece, first);
  for (int64_t lanes = first; lanes <= all; lanes *= 2)
    least = std::min(least, cyclesOfRow(pieces, piece, lanes));
  int64_t lanes = first;
  while (cyclesOfRow(pieces, piece, lanes) * 10 > least * 11)
    lanes *= 2;
  return lanes;
}

Order gantry::gpu::orderOfRow(int64_t count, int64_t inner, int64_t bits) {
  int64_t widest = bits > 32 ? 2 : 4;
  Order order{1, 1, true};
  while (order.piece < widest && inner % (order.piece * 2) == 0)
    order.piece *= 2;
  order.lanes = lanesOfRow(count / order.piece, order.piece);
  return order;
}

static Order orderOfColumn(int64_t count, int64_t columns) {
  int64_t slices = std::min(count / kTermsOfSlice, kEnoughThreads / std::max<int64_t>(1, columns));
  return {int64_t(llvm::bit_floor(uint64_t(std::clamp<int64_t>(slices, 1, kMostSlices)))), 1,
          false};
}

Order gantry::gpu::orderOf(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t all = ShapedType::getNumElements(sizes), count = termsOf(op);
  if (all == 0 || !isJoined(op))
    return {};
  unsigned inner = loopsOfTerms(op).back();
  if (!reduces(op, inner))
    return orderOfColumn(count, all / count);
  // Pieces are of the last of the loops that reduce.
  bool isLast = true;
  for (unsigned loop = inner + 1; loop < sizes.size(); ++loop)
    isLast &= !reduces(op, loop) || sizes[loop] == 1;
  return orderOfRow(count, isLast ? sizes[inner] : 1,
                    elementOf(op->getResult(0)).getIntOrFloatBitWidth());
}
