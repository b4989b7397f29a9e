#include "Rows.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Elements of a lane that may be kept in registers, and operations that code may have for them.
static constexpr int64_t kUnrolledElements = 64, kUnrolledOperations = 8192;
/// Elements of a lane for which all that the result needs is read before the first sum, so that a
/// row waits for memory once; of more there would be too few registers, and enough else to do.
static constexpr int64_t kElementsAhead = 8;
/// What an expanded function counts for.
static constexpr int64_t kFunctionCost = 20;

static SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> others;
  for (int64_t size : sizes)
    if (size != 1)
      others.push_back(size);
  return others;
}

Rows::Rows(Value tensor, ArrayRef<Kept> all, ArrayRef<unsigned> dims,
           ArrayRef<linalg::GenericOp> ops)
    : tensor(tensor), ops(ops), rowDims(dims) {
  for (const Kept &one : all)
    if (linalg::GenericOp(one.op).getNumReductionLoops() > 0)
      kept.push_back(one);
  for (auto [d, size] : llvm::enumerate(shapeOf(tensor))) {
    bool isRow = llvm::is_contained(rowDims, unsigned(d));
    (isRow ? rowSizes : innerSizes).push_back(size);
    if (!isRow)
      innerDims.push_back(d);
  }
  rows = ShapedType::getNumElements(rowSizes);
  if (kept.empty() || rows == 0)
    return;
  theOrder = orderOf(kept.front().op);
  terms = termSizesOf(kept.front().op);
  doApply = llvm::all_of(kept, [&](const Kept &one) {
    linalg::GenericOp op = one.op;
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    bool isOfRow = llvm::all_of(llvm::zip(one.dims, shape), [](auto dim) {
      return std::get<0>(dim) >= 0 || std::get<1>(dim) == 1;
    });
    return isOfRow && ShapedType::getNumElements(shape) == rows && isJoined(op) &&
           orderOf(op) == theOrder && withoutOnes(termSizesOf(op)) == withoutOnes(terms);
  });
}

static int64_t costOf(Operation &op) {
  return isa<math::MathDialect>(op.getDialect()) || isa<arith::DivFOp>(op) ? kFunctionCost : 1;
}

/// Whether the code for a lane's elements, each on its own, is not too long.
bool Rows::isUnrolled() const {
  int64_t cost = 0, elements = ShapedType::getNumElements(terms) / theOrder.lanes;
  for (linalg::GenericOp generic : ops) {
    bool isKept = llvm::any_of(kept, [&](const Kept &one) { return one.op == generic; });
    if (!isKept && termsOf(generic) > 1)
      return false;
    generic.walk([&](Operation *inner) { cost += costOf(*inner); });
  }
  return elements <= kUnrolledElements && cost * (elements + 1) <= kUnrolledOperations;
}

/// The results of a reduction are values from here on, the same in all lanes.
void Rows::keep(KernelEmitter &kernel, const Kept &one, const Team &team, Share &share) {
  ImplicitLocOpBuilder &b = kernel.builder();
  linalg::GenericOp op = one.op;
  Indices loops(op.getNumLoops());
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  for (auto [d, expr] : llvm::zip(one.dims, map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = d < 0 ? indexConstant(b, 0) : at[d];
  SmallVector<Value> sums = addUp(kernel, op, loops, team, share);
  for (auto [result, sum] : llvm::zip(op->getResults(), sums))
    kernel.elements().provide(result, [sum = sum](ValueRange) { return sum; });
}

Indices Rows::placeOf(const Indices &inner) const {
  Indices place = at;
  for (auto [d, index] : llvm::zip(innerDims, inner))
    place[d] = index;
  return place;
}

/// What the result needs besides the reductions: a scale, a bias.
void Rows::readAhead(KernelEmitter &kernel, Share &share) {
  llvm::DenseSet<Value> late;
  for (Operation &op : kernel.function().getBody().front()) {
    bool isLate = llvm::any_of(kept, [&](const Kept &one) { return one.op == &op; });
    isLate |= llvm::any_of(op.getOperands(), [&](Value v) { return late.contains(v); });
    if (isLate)
      late.insert_range(op.getResults());
  }
  share.forEach({}, [&](const Share::LanePiece &piece, ValueRange) -> SmallVector<Value> {
    for (const Indices &own : piece.at)
      kernel.elements().prepare(tensor, placeOf(own), late);
    return {};
  });
}

/// All reads come before all writes, which may be to the same memory.
void Rows::writePiece(KernelEmitter &kernel, const Share::LanePiece &piece, Write write) {
  SmallVector<std::pair<Indices, Value>> computed;
  for (const Indices &own : piece.at) {
    Indices place = placeOf(own);
    computed.push_back({place, kernel.elements().at(tensor, place)});
  }
  for (auto &[place, value] : computed)
    write(place, value);
}

void Rows::writeElements(KernelEmitter &kernel, const Team &team, Share &share, Write write) {
  ImplicitLocOpBuilder &b = kernel.builder();
  auto writeAll = [&](Share &own) {
    own.forEach({}, [&](const Share::LanePiece &piece, ValueRange) -> SmallVector<Value> {
      if (piece.isThere)
        kernel.onlyIf(piece.isThere, [&] { writePiece(kernel, piece, write); });
      else
        writePiece(kernel, piece, write);
      return {};
    });
  };
  if (ShapedType::getNumElements(innerSizes) == 1) {
    Share::LanePiece only;
    only.at.push_back(Indices(innerSizes.size(), indexConstant(b, 0)));
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, team.lane, indexConstant(b, 0));
    return kernel.onlyIf(isFirst, [&] { writePiece(kernel, only, write); });
  }
  if (ArrayRef(innerSizes) == ArrayRef(terms))
    return writeAll(share);
  Share own(kernel, team, innerSizes, 1, /*isUnrolled=*/false);
  writeAll(own);
}

void Rows::emit(KernelEmitter &kernel, const Team &team, const Row &row, Write write) {
  at.assign(shapeOf(tensor).size(), Value());
  for (auto [d, index] : llvm::zip(rowDims, row.at))
    at[d] = index;
  bool isInRegisters = isUnrolled();
  Share share(kernel, team, terms, theOrder.piece, isInRegisters);
  int64_t count = ShapedType::getNumElements(terms);
  int64_t ofLane = int64_t(llvm::divideCeil(count, theOrder.lanes));
  // Lanes without an element read that of another one, which may be written meanwhile.
  bool isWhole = count % (theOrder.lanes * theOrder.piece) == 0;
  bool readsOwn = row.overwrites == Overwrites::nothing || (!row.isThere && isWhole);
  if (isInRegisters && ofLane <= kElementsAhead && ArrayRef(innerSizes) == ArrayRef(terms) &&
      readsOwn)
    readAhead(kernel, share);
  for (const Kept &one : kept)
    if (termSizesOf(one.op) == terms) {
      keep(kernel, one, team, share);
    } else {
      Share own(kernel, team, termSizesOf(one.op), theOrder.piece, isInRegisters);
      keep(kernel, one, team, own);
    }
  // Larger teams have met at a barrier.
  if (row.overwrites == Overwrites::row && (row.isThere || !isWhole) && theOrder.lanes <= kWarp)
    kernel.launch().barrier();
  if (row.isThere)
    kernel.onlyIf(row.isThere, [&] { writeElements(kernel, team, share, write); });
  else
    writeElements(kernel, team, share, write);
}
