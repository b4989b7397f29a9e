// Turns reductions on buffers into loops around a block of vector registers.
//
// A linalg.generic with reduced dimensions becomes
//
//   for the other dimensions: for blocks of `u`: for pieces of `v`:
//     accumulators[u][v] = load result
//     for the reduced dimensions: accumulators = body(operands, accumulators)
//     store accumulators
//
// in one of two forms. Columns: `v` is the last dimension of the result, and every operand is
// contiguous, constant or of a small step in it. Dots: the vectors run along a reduced dimension in
// which every operand is contiguous, and are added up at the end. The body is cloned on vectors, so
// one emitter serves matrix products, convolutions, pools and plain reductions of any element type.
// Dots change the order of a sum: sums of f32 products that are chains (MultiplyAdds.h) have
// columns. Several sums over the same elements are columns, too, with accumulators for each.

#include "gantry/Linalg/LoopBuilder.h"
#include "gantry/Linalg/Product.h"
#include "gantry/Target/CPU/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EMITREGISTERTILESPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

/// Registers that a block of accumulators may take, of the 32 of AVX-512.
static constexpr int64_t kAccumulators = 24;

/// Terms that are added up one after the other at most, and at least where there are more: then
/// sums of so many are added up. A chain of 100 000 numbers of f32 would be off by 1e-5.
static constexpr int64_t kMostTerms = 256, kLeastTerms = 64;

/// Coefficient of dimension `d` in `expr` when that is linear in it, else nothing.
static std::optional<int64_t> coefficient(AffineExpr expr, unsigned d) {
  if (!expr.isFunctionOfDim(d))
    return 0;
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == d ? 1 : 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto l = coefficient(binary.getLHS(), d), r = coefficient(binary.getRHS(), d);
  if (binary.getKind() == AffineExprKind::Add && l && r)
    return *l + *r;
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Mul && factor && l)
    return *l * factor.getValue();
  return std::nullopt;
}

/// Widest step between neighbouring lanes that is still loaded as vectors and thinned out.
static constexpr int64_t kMostStep = 4;

/// By how many elements the buffer is passed through when `d` grows by one; nothing when that is
/// not along its last dimension, or backwards.
static std::optional<int64_t> stepAlong(MemRefType type, AffineMap map, unsigned d) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (map.getNumResults() == 0 || failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return std::nullopt;
  for (AffineExpr expr : map.getResults().drop_back())
    if (coefficient(expr, d) != 0)
      return std::nullopt;
  auto step = coefficient(map.getResults().back(), d);
  return step && *step >= 1 ? step : std::nullopt;
}

namespace {
/// A part of a row of accumulators: a vector register of which the first `live` lanes count.
struct VectorPart {
  int64_t width, live;
};

/// One generic op being emitted.
struct Emitter {
  linalg::GenericOp op;
  int64_t vectorBytes;
  SmallVector<int64_t> sizes;
  SmallVector<AffineMap> maps;
  SmallVector<Value> buffers;
  SmallVector<unsigned> reduced, parallel;
  unsigned vectorDim = 0;           ///< the dimension that vectors run along
  std::optional<unsigned> blockDim; ///< the dimension whose elements share loaded vectors
  bool dots = false;

  Emitter(linalg::GenericOp op, int64_t vectorBytes)
      : op(op), vectorBytes(vectorBytes), sizes(op.getStaticLoopRanges()),
        maps(op.getIndexingMapsArray()), buffers(op->getOperands()) {
    for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      (kind == utils::IteratorType::reduction ? reduced : parallel).push_back(i);
  }

  unsigned numInputs() { return op.getNumDpsInputs(); }
  MemRefType typeOf(unsigned operand) const { return cast<MemRefType>(buffers[operand].getType()); }
  unsigned numResults() { return op.getNumDpsInits(); }
  AffineMap resultMap() const { return maps.back(); }

  /// Whether all operands that change with `d` can be loaded as vectors along it: the result and
  /// what is reduced must be contiguous, other operands may have small steps.
  bool isVectorizable(unsigned d, int64_t mostStep) {
    for (unsigned i = 0; i < buffers.size(); ++i) {
      if (!maps[i].isFunctionOfDim(d))
        continue;
      auto step = stepAlong(typeOf(i), maps[i], d);
      if (!step || *step > (i < numInputs() ? mostStep : 1))
        return false;
    }
    return true;
  }

  /// Only arithmetic may be in the body: it is cloned on vectors.
  bool hasVectorBody() {
    return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
      return isa<arith::ConstantOp>(inner) ||
             (OpTrait::hasElementwiseMappableTraits(&inner) && inner.getNumResults() == 1);
    });
  }

  /// Whether all results lie in the same places, and are sums where there are several.
  bool isOfOneShape() {
    if (numResults() == 1)
      return true;
    for (unsigned i = 0; i < numResults(); ++i) {
      auto add = dyn_cast_or_null<arith::AddFOp>(combiner(i));
      if (!add || !isReordered(add) || maps[numInputs() + i] != resultMap())
        return false;
    }
    return true;
  }

  static bool isReordered(arith::AddFOp add) {
    return bitEnumContainsAny(add.getFastmath(), arith::FastMathFlags::reassoc);
  }

  /// Chooses form, vector and block dimension; false when plain loops should do it.
  bool choose() {
    if (!isOfOneShape() || reduced.empty() || op.hasDynamicShape() ||
        !llvm::all_of(buffers, [](Value b) { return isa<MemRefType>(b.getType()); }) ||
        !resultMap().isProjectedPermutation() || !hasVectorBody() || llvm::is_contained(sizes, 0))
      return false;
    if (chooseColumns(4))
      return true;
    if (numResults() == 1 && chooseDots())
      return true;
    // Of a sum that loops would add up in the order of rows, all in one chain.
    auto add = dyn_cast_or_null<arith::AddFOp>(combiner());
    return add && isReordered(add) && chooseColumns(1);
  }

  /// Columns are the last dimension of the result where that has so many at least.
  bool chooseColumns(int64_t least) {
    auto last = dyn_cast_or_null<AffineDimExpr>(
        resultMap().getNumResults() ? resultMap().getResults().back() : AffineExpr());
    if (!last || (sizes[last.getPosition()] < least && !isChain()) ||
        !isVectorizable(last.getPosition(), kMostStep))
      return false;
    vectorDim = last.getPosition();
    chooseBlockDim();
    return true;
  }

  /// What joins an accumulator with the next term, or null.
  Operation *combiner(unsigned result = 0) {
    SmallVector<Operation *> found;
    return matchReduction(op.getRegionOutputArgs(), result, found) && found.size() == 1
               ? found.front()
               : nullptr;
  }

  /// Whether it adds up elements, or what becomes of them by ops that keep their own rounding. Such
  /// a sum has no blocks, which would add up its terms in another order: it has that of the sum
  /// alone, whatever is computed in front of it.
  bool addsElements() {
    auto add = dyn_cast_or_null<arith::AddFOp>(combiner());
    return add && isReordered(add) && llvm::none_of(add->getOperands(), isContractible);
  }

  /// Whether the terms are products that are added up one after the other, in f32.
  bool isChain() {
    using Flags = arith::FastMathFlags;
    auto add = dyn_cast_or_null<arith::AddFOp>(combiner());
    return add && add.getType().isF32() && bitEnumContainsAll(add.getFastmath(), Flags::contract) &&
           !bitEnumContainsAny(add.getFastmath(), Flags::reassoc);
  }

  /// Whether terms are added up in an order of our own, and there are many of them, so many at a
  /// time along the dimension of the vectors.
  bool isLongSum(int64_t vectorStep) {
    auto add = dyn_cast_or_null<arith::AddFOp>(combiner());
    int64_t terms = 1;
    for (unsigned d : reduced)
      terms *= roundsOf(d, vectorStep);
    return add && !blockDim && terms > kMostTerms && isReordered(add);
  }

  bool chooseDots() {
    Operation *joins = combiner();
    if (!joins || !kindOf(joins) || isChain())
      return false;
    int64_t lanes = lanesOf(op.getRegionOutputArgs()[0].getType());
    for (unsigned d : llvm::reverse(reduced)) {
      if (sizes[d] < 2 * lanes || !isVectorizable(d, 1) || numInputs() < 1)
        continue;
      vectorDim = d;
      dots = true;
      chooseBlockDim();
      return true;
    }
    return false;
  }

  /// The longest parallel dimension along which some operand with vectors stays the same.
  void chooseBlockDim() {
    if (addsElements())
      return;
    for (unsigned d : parallel) {
      if (d == vectorDim || sizes[d] == 1)
        continue;
      bool shares = false;
      for (unsigned i = 0; i < numInputs(); ++i)
        shares |= !maps[i].isFunctionOfDim(d) && maps[i].isFunctionOfDim(vectorDim);
      if (shares && (!blockDim || sizes[d] > sizes[*blockDim]))
        blockDim = d;
    }
  }

  /// Elements of `d` that one round of a loop over it takes.
  int64_t stepOf(unsigned d, int64_t vectorStep) const {
    return dots && d == vectorDim ? vectorStep : 1;
  }

  /// Rounds of a loop over `d`; what is left of the vectors' dimension is not among them.
  int64_t roundsOf(unsigned d, int64_t vectorStep) const {
    return sizes[d] / stepOf(d, vectorStep);
  }

  int64_t lanesOf(Type element) const {
    return std::max<int64_t>(1, vectorBytes * 8 /
                                    std::max<unsigned>(8, element.getIntOrFloatBitWidth()));
  }

  static std::optional<vector::CombiningKind> kindOf(Operation *combiner) {
    using Kind = vector::CombiningKind;
    return llvm::TypeSwitch<Operation *, std::optional<Kind>>(combiner)
        .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Kind::ADD; })
        .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Kind::MUL; })
        .Case<arith::MaximumFOp>([](auto) { return Kind::MAXIMUMF; })
        .Case<arith::MinimumFOp>([](auto) { return Kind::MINIMUMF; })
        .Case<arith::MaxNumFOp>([](auto) { return Kind::MAXNUMF; })
        .Case<arith::MinNumFOp>([](auto) { return Kind::MINNUMF; })
        .Case<arith::MaxSIOp>([](auto) { return Kind::MAXSI; })
        .Case<arith::MinSIOp>([](auto) { return Kind::MINSI; })
        .Case<arith::MaxUIOp>([](auto) { return Kind::MAXUI; })
        .Case<arith::MinUIOp>([](auto) { return Kind::MINUI; })
        .Default([](Operation *) { return std::nullopt; });
  }

  //===------------------------------------------------------------------===//
  // Loops
  //===------------------------------------------------------------------===//

  using Index = SmallVector<OpFoldResult>; ///< one entry per dimension

  void emit(OpBuilder &b) {
    Index index(sizes.size(), b.getIndexAttr(0));
    SmallVector<unsigned> outer;
    for (unsigned d : parallel)
      if (d != vectorDim && d != blockDim)
        outer.push_back(d);
    emitOuter(b, outer, index);
  }

  void emitOuter(OpBuilder &b, ArrayRef<unsigned> dims, Index index) {
    if (dims.empty())
      return emitBlocks(b, index);
    emitLoop(b, dims.front(), 0, sizes[dims.front()], 1, index,
             [&](OpBuilder &b, Index &at) { emitOuter(b, dims.drop_front(), at); });
  }

  /// A loop over `d` from `from` to `to`; a single step needs none.
  void emitLoop(OpBuilder &b, unsigned d, int64_t from, int64_t to, int64_t step, Index index,
                function_ref<void(OpBuilder &, Index &)> body) {
    if (to - from <= 0)
      return;
    if (to - from <= step) {
      index[d] = b.getIndexAttr(from);
      return body(b, index);
    }
    LoopBuilder(b, op.getLoc()).loop(from, to, step, [&](Value i) {
      index[d] = i;
      body(b, index);
    });
  }

  /// Cuts the vector dimension into wide pieces and ever smaller ones, the block dimension into
  /// full blocks and a last one.
  void emitBlocks(OpBuilder &b, Index index) {
    Type element = op.getRegionOutputArgs()[0].getType();
    int64_t lanes = lanesOf(element);
    if (dots) {
      int64_t block = blockDim ? std::min<int64_t>(4, sizes[*blockDim]) : 1;
      return emitBlockDim(b, index, block, {});
    }
    int64_t size = sizes[vectorDim], at = 0;
    for (int64_t registers : {4, 2, 1}) {
      // Wide pieces pay when there is nothing to block, narrow ones leave registers for rows, and
      // for several sums, which are as many chains of additions themselves.
      if ((registers == 4 && blockDim && sizes[*blockDim] >= 4) ||
          (registers > 1 && registers * numResults() > 4))
        continue;
      int64_t width = registers * lanes, count = (size - at) / width;
      if (count)
        emitColumns(b, index, at, at + count * width,
                    SmallVector<VectorPart>(registers, VectorPart{lanes, lanes}));
      at += count * width;
    }
    // What is left fits one register, masked unless it fills a smaller one.
    if (int64_t rest = size - at)
      emitColumns(b, index, at, size, {VectorPart{int64_t(llvm::PowerOf2Ceil(rest)), rest}});
  }

  void emitColumns(OpBuilder &b, Index index, int64_t from, int64_t to,
                   ArrayRef<VectorPart> pieces) {
    int64_t width = 0;
    for (VectorPart p : pieces)
      width += p.live;
    int64_t block =
        std::max<int64_t>(1, std::min<int64_t>(12, kAccumulators / int64_t(pieces.size())));
    if (blockDim && sizes[*blockDim] % 8 == 0)
      block = std::min<int64_t>(block, 8);
    emitLoop(b, vectorDim, from, to, width, index,
             [&](OpBuilder &b, Index &at) { emitBlockDim(b, at, block, pieces); });
  }

  void emitBlockDim(OpBuilder &b, Index index, int64_t block, ArrayRef<VectorPart> pieces) {
    auto compute = [&](int64_t rows) {
      return [this, rows, pieces](OpBuilder &b, Index &at) {
        dots ? emitDots(b, at, rows) : emitRegisters(b, at, rows, pieces);
      };
    };
    if (!blockDim)
      return compute(1)(b, index);
    int64_t size = sizes[*blockDim], full = size / block * block;
    emitLoop(b, *blockDim, 0, full, block, index, compute(block));
    if (full < size)
      emitLoop(b, *blockDim, full, size, size - full, index, compute(size - full));
  }

  //===------------------------------------------------------------------===//
  // One block of registers
  //===------------------------------------------------------------------===//

  Index shifted(OpBuilder &b, Index index, unsigned d, int64_t by) {
    if (by) {
      AffineExpr e = b.getAffineDimExpr(0) + by;
      index[d] = affine::makeComposedFoldedAffineApply(b, op.getLoc(), AffineMap::get(1, 0, e),
                                                       {index[d]});
    }
    return index;
  }

  SmallVector<Value> indicesOf(OpBuilder &b, unsigned operand, const Index &index) {
    SmallVector<Value> values;
    for (AffineExpr e : maps[operand].getResults()) {
      OpFoldResult r = affine::makeComposedFoldedAffineApply(
          b, op.getLoc(), AffineMap::get(sizes.size(), 0, e, b.getContext()), index);
      values.push_back(getValueOrCreateConstantIndexOp(b, op.getLoc(), r));
    }
    return values;
  }

  Value maskOf(OpBuilder &b, VectorPart piece) {
    SmallVector<bool> lanes(piece.width, false);
    std::fill_n(lanes.begin(), piece.live, true);
    auto type = VectorType::get({piece.width}, b.getI1Type());
    return arith::ConstantOp::create(b, op.getLoc(), DenseElementsAttr::get(type, lanes));
  }

  /// Element or vector of an operand at `index`; operands constant in the vector dimension are
  /// broadcast. A width of 0 asks for the bare element.
  Value load(OpBuilder &b, unsigned operand, const Index &index, VectorPart piece) {
    Type element = typeOf(operand).getElementType();
    SmallVector<Value> at = indicesOf(b, operand, index);
    if (piece.width == 0)
      return memref::LoadOp::create(b, op.getLoc(), buffers[operand], at);
    auto type = VectorType::get({piece.width}, element);
    bool varies = maps[operand].isFunctionOfDim(vectorDim);
    if (int64_t step = varies ? *stepAlong(typeOf(operand), maps[operand], vectorDim) : 1; step > 1)
      return loadThinned(b, operand, at, piece, step);
    if (varies && piece.live < piece.width) {
      Value rest = arith::ConstantOp::create(b, op.getLoc(), b.getZeroAttr(type));
      return vector::MaskedLoadOp::create(b, op.getLoc(), type, buffers[operand], at,
                                          maskOf(b, piece), rest);
    }
    if (varies)
      return vector::LoadOp::create(b, op.getLoc(), type, buffers[operand], at);
    Value scalar = memref::LoadOp::create(b, op.getLoc(), buffers[operand], at);
    return vector::BroadcastOp::create(b, op.getLoc(), type, scalar);
  }

  /// Every `step`-th element: the whole span is loaded, nothing beyond it, and shuffled.
  Value loadThinned(OpBuilder &b, unsigned operand, ArrayRef<Value> at, VectorPart piece,
                    int64_t step) {
    VectorPart span{piece.width * step, (piece.live - 1) * step + 1};
    auto type = VectorType::get({span.width}, typeOf(operand).getElementType());
    Value rest = arith::ConstantOp::create(b, op.getLoc(), b.getZeroAttr(type));
    Value all = vector::MaskedLoadOp::create(b, op.getLoc(), type, buffers[operand], at,
                                             maskOf(b, span), rest);
    SmallVector<int64_t> picked;
    for (int64_t lane = 0; lane < piece.width; ++lane)
      picked.push_back(std::min(lane, piece.live - 1) * step);
    return vector::ShuffleOp::create(b, op.getLoc(), all, all, picked);
  }

  void store(OpBuilder &b, Value value, unsigned operand, const Index &index, VectorPart piece) {
    SmallVector<Value> at = indicesOf(b, operand, index);
    Value buffer = buffers[operand];
    if (piece.live < piece.width)
      vector::MaskedStoreOp::create(b, op.getLoc(), buffer, at, maskOf(b, piece), value);
    else if (piece.width)
      vector::StoreOp::create(b, op.getLoc(), value, buffer, at);
    else
      memref::StoreOp::create(b, op.getLoc(), value, buffer, at);
  }

  /// The body on vectors of `width` elements, or on elements when that is 0.
  SmallVector<Value> cloneBody(OpBuilder &b, ValueRange arguments, int64_t width) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments(), arguments);
    auto widen = [&](Type t) -> Type { return width ? VectorType::get({width}, t) : t; };
    // The order is written down. To a negated product LLVM would give the flags of the sum, and
    // multiply its factors in another order.
    const bool keepsOrder = width && addsElements();
    // A value from outside the body (a captured scalar) is the same for all lanes.
    auto captured = [&](Value value) {
      if (width && !mapping.contains(value))
        mapping.map(value, vector::BroadcastOp::create(
                               b, op.getLoc(), cast<VectorType>(widen(value.getType())), value));
    };
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (auto constant = dyn_cast<arith::ConstantOp>(inner); constant && width) {
        auto type = cast<VectorType>(widen(constant.getType()));
        mapping.map(constant.getResult(),
                    arith::ConstantOp::create(b, op.getLoc(),
                                              DenseElementsAttr::get(type, constant.getValue()))
                        .getResult());
        continue;
      }
      for (Value operand : inner.getOperands())
        captured(operand);
      Operation *copy = b.clone(inner, mapping);
      copy->getResult(0).setType(widen(inner.getResult(0).getType()));
      if (auto add = dyn_cast<arith::AddFOp>(copy); add && keepsOrder)
        add.setFastmath(arith::FastMathFlags::none);
    }
    SmallVector<Value> results;
    for (Value yielded : op.getBody()->getTerminator()->getOperands()) {
      captured(yielded);
      results.push_back(mapping.lookupOrDefault(yielded));
    }
    return results;
  }

  using Body = function_ref<SmallVector<Value>(OpBuilder &, const Index &, ValueRange)>;

  /// A nest of loops over `dims` (sizes given) that carries `state` through `body`.
  SmallVector<Value> emitReduction(OpBuilder &b, ArrayRef<unsigned> dims, Index index,
                                   ValueRange state, int64_t step, int64_t limit, Body body) {
    if (dims.empty())
      return body(b, index, state);
    unsigned d = dims.front();
    bool isVector = dots && d == vectorDim;
    int64_t to = isVector ? limit : sizes[d], by = isVector ? step : 1;
    if (to == by) {
      index[d] = b.getIndexAttr(0);
      return emitReduction(b, dims.drop_front(), index, state, step, limit, body);
    }
    return LoopBuilder(b, op.getLoc()).loop(0, to, by, state, [&](Value i, ValueRange carried) {
      index[d] = i;
      return emitReduction(b, dims.drop_front(), index, carried, step, limit, body);
    });
  }

  /// The loops of a long sum: those inside make sums of some terms each, which those around add up.
  SmallVector<Value> emitLongSum(OpBuilder &b, Index index, ValueRange state, int64_t vectorStep,
                                 Body body) {
    ArrayRef<unsigned> inner = reduced;
    int64_t terms = 1;
    while (terms < kLeastTerms && !inner.empty()) {
      terms *= roundsOf(inner.back(), vectorStep);
      inner = inner.drop_back();
    }
    const ArrayRef<unsigned> outer = inner;
    inner = ArrayRef(reduced).drop_front(outer.size());
    const unsigned d = inner.front();
    const int64_t step = stepOf(d, vectorStep), limit = sizes[vectorDim] / vectorStep * vectorStep;
    const int64_t rounds = roundsOf(d, vectorStep), all = rounds * step;
    const int64_t some = std::clamp<int64_t>(kMostTerms * rounds / terms, 1, rounds) * step;
    auto sumSome = [&](OpBuilder &b, Index index, ValueRange state, int64_t count) {
      const OpFoldResult from = index[d];
      auto zeros = llvm::map_to_vector(state, [&](Value sum) -> Value {
        return arith::ConstantOp::create(b, op.getLoc(), b.getZeroAttr(sum.getType()));
      });
      auto sums =
          LoopBuilder(b, op.getLoc()).loop(0, count, step, zeros, [&](Value i, ValueRange sums) {
            AffineExpr e = b.getAffineDimExpr(0) + b.getAffineDimExpr(1);
            Index at = index;
            at[d] = affine::makeComposedFoldedAffineApply(b, op.getLoc(), AffineMap::get(2, 0, e),
                                                          {from, OpFoldResult(i)});
            return emitReduction(b, inner.drop_front(), at, sums, vectorStep, limit, body);
          });
      SmallVector<Value> joined;
      for (auto [sum, part] : llvm::zip(state, sums))
        joined.push_back(arith::AddFOp::create(b, op.getLoc(), sum, part));
      return joined;
    };
    return emitReduction(
        b, outer, index, state, vectorStep, limit,
        [&](OpBuilder &b, const Index &index, ValueRange state) {
          Index at = index;
          const int64_t full = all / some * some;
          SmallVector<Value> sums =
              LoopBuilder(b, op.getLoc()).loop(0, full, some, state, [&](Value i, ValueRange sums) {
                at[d] = i;
                return sumSome(b, at, sums, some);
              });
          if (full == all)
            return sums;
          at[d] = b.getIndexAttr(full);
          return sumSome(b, at, sums, all - full);
        });
  }

  /// The loops over all that is reduced.
  SmallVector<Value> emitSums(OpBuilder &b, Index index, ValueRange state, int64_t vectorStep,
                              Body body) {
    if (isLongSum(vectorStep))
      return emitLongSum(b, index, state, vectorStep, body);
    const int64_t limit = sizes[vectorDim] / vectorStep * vectorStep;
    return emitReduction(b, reduced, index, state, vectorStep, limit, body);
  }

  void emitRegisters(OpBuilder &b, Index index, int64_t rows, ArrayRef<VectorPart> pieces) {
    struct Place {
      unsigned operand;
      Index index;
      VectorPart piece;
    };
    SmallVector<Place> places;
    SmallVector<Value> accumulators;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t column = 0;
      for (VectorPart piece : pieces) {
        Index at = blockDim ? shifted(b, index, *blockDim, r) : index;
        for (unsigned operand = numInputs(); operand < buffers.size(); ++operand) {
          places.push_back({operand, shifted(b, at, vectorDim, column), piece});
          accumulators.push_back(load(b, operand, places.back().index, piece));
        }
        column += piece.live;
      }
    }
    auto body = [&](OpBuilder &b, const Index &inner, ValueRange state) {
      return step(b, inner, rows, pieces, state);
    };
    auto results = emitSums(b, index, accumulators, 1, body);
    for (auto [value, place] : llvm::zip(results, places))
      store(b, value, place.operand, place.index, place.piece);
  }

  /// One step of the innermost reduction: each operand is loaded once for all that share it.
  SmallVector<Value> step(OpBuilder &b, const Index &index, int64_t rows,
                          ArrayRef<VectorPart> pieces, ValueRange state) {
    llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> loaded;
    SmallVector<Value> next;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t column = 0;
      for (VectorPart piece : pieces) {
        SmallVector<Value> arguments;
        for (unsigned i = 0; i < numInputs(); ++i) {
          bool byRow = blockDim && maps[i].isFunctionOfDim(*blockDim);
          bool byColumn = maps[i].isFunctionOfDim(vectorDim);
          Value &value = loaded[{i, byRow ? r : -1, byColumn ? column : -piece.width}];
          if (!value) {
            Index at = byRow ? shifted(b, index, *blockDim, r) : index;
            value = load(b, i, byColumn ? shifted(b, at, vectorDim, column) : at, piece);
          }
          arguments.push_back(value);
        }
        llvm::append_range(arguments, state.slice(next.size(), numResults()));
        llvm::append_range(next, cloneBody(b, arguments, piece.width));
        column += piece.live;
      }
    }
    return next;
  }

  /// Whether the result is one of the elements, in whatever order they are combined.
  static bool isSelection(vector::CombiningKind kind) {
    using Kind = vector::CombiningKind;
    return llvm::is_contained({Kind::MAXIMUMF, Kind::MINIMUMF, Kind::MAXNUMF, Kind::MINNUMF,
                               Kind::MAXSI, Kind::MINSI, Kind::MAXUI, Kind::MINUI},
                              kind);
  }

  /// All of the vectors, in the lanes of a short one: LLVM takes a reduction of floats that minds
  /// NaN lane by lane.
  Value joinLanes(OpBuilder &b, vector::CombiningKind kind, ArrayRef<Value> parts) {
    Location loc = op.getLoc();
    Value joined = parts.front();
    for (Value part : parts.drop_front())
      joined = vector::makeArithReduction(b, loc, kind, part, joined);
    for (int64_t lanes = cast<VectorType>(joined.getType()).getDimSize(0); lanes > 2; lanes /= 2) {
      auto half = [&](int64_t from) {
        return vector::ShuffleOp::create(
            b, loc, joined, joined,
            llvm::to_vector(llvm::seq<int64_t>(from * lanes / 2, (from + 1) * lanes / 2)));
      };
      Value low = half(0), high = half(1);
      joined = vector::makeArithReduction(b, loc, kind, low, high);
    }
    return joined;
  }

  /// Vectors along the reduced dimension, added up at the end, then the rest element by element.
  void emitDots(OpBuilder &b, Index index, int64_t rows) {
    Operation *joins = combiner();
    const vector::CombiningKind kind = *kindOf(joins);
    Location loc = op.getLoc();
    Type element = op.getRegionOutputArgs()[0].getType();
    // Four accumulators an element where there is no block, so that additions do not wait for each
    // other. It must not depend on `rows`: elements of a last, smaller block have to be added up in
    // the same order as all others, or equal rows would give unequal results.
    int64_t lanes = lanesOf(element), size = sizes[vectorDim];
    int64_t copies = !blockDim && size >= 4 * lanes ? 4 : 1;
    int64_t stride = lanes * copies, limit = size / stride * stride;

    auto vectorType = VectorType::get({lanes}, element);
    TypedAttr neutral = *arith::getNeutralElement(joins);
    Value zero = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorType, neutral));
    SmallVector<Value> state(rows * copies, zero);
    SmallVector<VectorPart> pieces(copies, VectorPart{lanes, lanes});
    auto accumulators =
        emitSums(b, index, state, stride, [&](OpBuilder &b, const Index &inner, ValueRange state) {
          return step(b, inner, rows, pieces, state);
        });
    for (int64_t r = 0; r < rows; ++r) {
      Index at = blockDim ? shifted(b, index, *blockDim, r) : index;
      Value total = load(b, buffers.size() - 1, at, VectorPart{0, 0});
      SmallVector<Value> parts(ValueRange(accumulators).slice(r * copies, copies));
      if (isSelection(kind))
        parts = {joinLanes(b, kind, parts)};
      for (Value part : parts)
        total =
            vector::ReductionOp::create(b, loc, kind, part, total, arith::FastMathFlags::reassoc);
      total = emitRest(b, at, limit, total);
      store(b, total, buffers.size() - 1, at, VectorPart{0, 0});
    }
  }

  /// Elements of the vector dimension from `from` on, for all other reduced dimensions.
  Value emitRest(OpBuilder &b, Index index, int64_t from, Value total) {
    if (from == sizes[vectorDim])
      return total;
    SmallVector<unsigned> others;
    llvm::copy_if(reduced, std::back_inserter(others), [&](unsigned d) { return d != vectorDim; });
    auto result = emitReduction(
        b, others, index, total, 1, 0, [&](OpBuilder &b, const Index &inner, ValueRange state) {
          auto round = [&](Value iv, ValueRange carried) -> SmallVector<Value> {
            Index at = inner;
            at[vectorDim] = iv;
            SmallVector<Value> arguments;
            for (unsigned i = 0; i < numInputs(); ++i)
              arguments.push_back(load(b, i, at, VectorPart{0, 0}));
            arguments.push_back(carried[0]);
            return cloneBody(b, arguments, 0);
          };
          return LoopBuilder(b, op.getLoc()).loop(from, sizes[vectorDim], 1, state, round);
        });
    return result[0];
  }
};

struct EmitRegisterTiles : gantry::impl::EmitRegisterTilesPassBase<EmitRegisterTiles> {
  using EmitRegisterTilesPassBase::EmitRegisterTilesPassBase;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      Emitter emitter(op, vectorBytes);
      if (!emitter.choose())
        continue;
      OpBuilder builder(op);
      emitter.emit(builder);
      op.erase();
    }
  }
};
} // namespace
