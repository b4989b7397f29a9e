// By teams: reductions of rows and columns, with what feeds them and what follows.
//
// Softmax, norms and sums have reductions over the same elements, a row of them, and one result for
// each row. A team of lanes takes a row (Sums.h): neighbouring threads where the row's elements are
// neighbours in memory, so that they read together; else threads that are as far apart as there are
// columns in a block, so that neighbouring threads read neighbouring columns. Short rows share a
// block, long rows have one of several warps.
//
// Unrolled, a lane's elements are values: what one reduction has read or computed, the next and the
// result take from registers. Rows of more elements than fit there are read again by each.

#include "Sums.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Threads of a block that has several rows, when there are rows for so many blocks.
static constexpr int64_t kThreads = 128, kEnoughBlocks = 256;
/// Elements of a lane that may be kept in registers, and operations that code may have for them.
static constexpr int64_t kUnrolledElements = 64, kUnrolledOperations = 8192;
/// Elements of a lane for which all that the result needs is read before the first sum, so that a
/// row waits for memory once; of more there would be too few registers, and enough else to do.
static constexpr int64_t kElementsAhead = 8;
/// What an expanded function counts for.
static constexpr int64_t kFunctionCost = 20;

namespace {
class TeamsWay : public Way {
public:
  TeamsWay(const Output &output, Sharing found);

  bool applies() const { return doesApply; }
  int64_t threads() const override;
  void emit(KernelEmitter &kernel) override;

private:
  bool isUnrolled(KernelEmitter &kernel) const;
  Team makeTeam(KernelEmitter &kernel);
  Value firstOfWarp(KernelEmitter &kernel) const;
  void emitRows(KernelEmitter &kernel);
  void readAhead(KernelEmitter &kernel, Share &share);
  Indices placeOf(const Indices &inner) const;
  void keep(KernelEmitter &kernel, const Kept &kept, const Team &team, Share &share);
  void writeElements(KernelEmitter &kernel, const Team &team, Share &share);
  void writePiece(KernelEmitter &kernel, const Share::Piece &piece);

  SmallVector<Kept> kept; ///< the reductions
  SmallVector<unsigned> rowDims, innerDims;
  SmallVector<int64_t> rowSizes, innerSizes, terms;
  Order order;
  int64_t rows = 1;
  bool doesApply = false;

  Indices at;    ///< of the output; those of the row are known
  Value isThere; ///< whether there is this team's row; null when there always is
};
} // namespace

static SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> others;
  for (int64_t size : sizes)
    if (size != 1)
      others.push_back(size);
  return others;
}

/// All reductions have one value for each row, over elements that are shared among lanes alike.
TeamsWay::TeamsWay(const Output &output, Sharing sharing) : Way(output) {
  for (Kept &one : sharing.kept)
    if (one.op.getNumReductionLoops() > 0)
      kept.push_back(one);
  rowDims.assign(sharing.rows.begin(), sharing.rows.end());
  for (auto [d, size] : llvm::enumerate(output.shape())) {
    bool isRow = llvm::is_contained(rowDims, unsigned(d));
    (isRow ? rowSizes : innerSizes).push_back(size);
    if (!isRow)
      innerDims.push_back(d);
  }
  rows = ShapedType::getNumElements(rowSizes);
  if (kept.empty() || rows == 0)
    return;
  order = orderOf(kept.front().op);
  terms = termSizesOf(kept.front().op);
  doesApply = llvm::all_of(kept, [&](const Kept &one) {
    ArrayRef<int64_t> shape = shapeOf(one.op->getResult(0));
    bool isOfRow = llvm::all_of(llvm::zip(one.dims, shape), [](auto dim) {
      return std::get<0>(dim) >= 0 || std::get<1>(dim) == 1;
    });
    return isOfRow && ShapedType::getNumElements(shape) == rows && isJoined(one.op) &&
           orderOf(one.op) == order && withoutOnes(termSizesOf(one.op)) == withoutOnes(terms);
  });
}

/// Few rows are spread over many blocks, for a GPU has many multiprocessors.
int64_t TeamsWay::threads() const {
  int64_t most = std::clamp<int64_t>(rows * order.lanes / kEnoughBlocks, kWarp, kThreads);
  int64_t threads = int64_t(llvm::bit_floor(uint64_t(most)));
  if (order.isAlongRows)
    return std::max(order.lanes, threads);
  // At least a warp's columns, so that they are read together.
  int64_t columns = std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(uint64_t(rows)));
  return std::max(threads, order.lanes * columns);
}

static int64_t costOf(Operation &op) {
  return isa<math::MathDialect>(op.getDialect()) || isa<arith::DivFOp>(op) ? kFunctionCost : 1;
}

/// Whether the code for a lane's elements, each on its own, is not too long.
bool TeamsWay::isUnrolled(KernelEmitter &kernel) const {
  int64_t cost = 0, elements = ShapedType::getNumElements(terms) / order.lanes;
  for (Operation &op : kernel.function().getBody().front()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      continue;
    bool isKept = llvm::any_of(kept, [&](const Kept &one) { return one.op == generic; });
    if (!isKept && termsOf(generic) > 1)
      return false;
    generic.walk([&](Operation *inner) { cost += costOf(*inner); });
  }
  return elements <= kUnrolledElements && cost * (elements + 1) <= kUnrolledOperations;
}

/// Which row this thread helps with, and as which lane.
Team TeamsWay::makeTeam(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  int64_t teams = launch.threads() / order.lanes;
  auto divide = [&](int64_t by) -> Value {
    return arith::DivUIOp::create(b, launch.thread(), indexConstant(b, by));
  };
  auto rest = [&](int64_t by) -> Value {
    return arith::RemUIOp::create(b, launch.thread(), indexConstant(b, by));
  };
  Team team{order.lanes, order.isAlongRows ? 1 : teams,
            order.isAlongRows ? rest(order.lanes) : divide(teams),
            int64_t(llvm::divideCeil(rows, teams))};
  Value inBlock = order.isAlongRows ? divide(order.lanes) : rest(teams);
  Value row = addIndex(b, mulIndex(b, launch.block(), teams), inBlock);
  // Teams without a row help the last one, so that no lane is missing of a warp or at a barrier.
  bool isWarp = order.isAlongRows && order.lanes == kWarp;
  if (rows % teams != 0 && !isWarp) {
    isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, indexConstant(b, rows));
    row = arith::MinUIOp::create(b, row, indexConstant(b, rows - 1));
  }
  at.assign(output.shape().size(), Value());
  for (auto [d, index] : llvm::zip(rowDims, delinearize(b, row, rowSizes)))
    at[d] = index;
  return team;
}

/// The results of a reduction are values from here on, the same in all lanes.
void TeamsWay::keep(KernelEmitter &kernel, const Kept &one, const Team &team, Share &share) {
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

Indices TeamsWay::placeOf(const Indices &inner) const {
  Indices place = at;
  for (auto [d, index] : llvm::zip(innerDims, inner))
    place[d] = index;
  return place;
}

/// What the result needs besides the reductions: a scale, a bias.
void TeamsWay::readAhead(KernelEmitter &kernel, Share &share) {
  llvm::DenseSet<Value> late;
  for (Operation &op : kernel.function().getBody().front()) {
    bool isLate = llvm::any_of(kept, [&](const Kept &one) { return one.op == &op; });
    isLate |= llvm::any_of(op.getOperands(), [&](Value v) { return late.contains(v); });
    if (isLate)
      late.insert_range(op.getResults());
  }
  share.forEach({}, [&](const Share::Piece &piece, ValueRange) -> SmallVector<Value> {
    for (const Indices &own : piece.at)
      kernel.elements().prepare(output.tensor, placeOf(own), late);
    return {};
  });
}

/// All reads come before all writes, which may be to the same memory.
void TeamsWay::writePiece(KernelEmitter &kernel, const Share::Piece &piece) {
  SmallVector<std::pair<Indices, Value>> computed;
  for (const Indices &own : piece.at) {
    Indices place = placeOf(own);
    computed.push_back({place, kernel.elements().at(output.tensor, place)});
  }
  for (auto &[place, value] : computed)
    kernel.write(output, place, value);
}

void TeamsWay::writeElements(KernelEmitter &kernel, const Team &team, Share &share) {
  ImplicitLocOpBuilder &b = kernel.builder();
  auto writeAll = [&](Share &own) {
    own.forEach({}, [&](const Share::Piece &piece, ValueRange) -> SmallVector<Value> {
      if (piece.isThere)
        kernel.onlyIf(piece.isThere, [&] { writePiece(kernel, piece); });
      else
        writePiece(kernel, piece);
      return {};
    });
  };
  if (ShapedType::getNumElements(innerSizes) == 1) {
    Share::Piece only;
    only.at.push_back(Indices(innerSizes.size(), indexConstant(b, 0)));
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, team.lane, indexConstant(b, 0));
    return kernel.onlyIf(isFirst, [&] { writePiece(kernel, only); });
  }
  if (ArrayRef(innerSizes) == ArrayRef(terms))
    return writeAll(share);
  Share own(kernel, team, innerSizes, 1, /*isUnrolled=*/false);
  writeAll(own);
}

void TeamsWay::emitRows(KernelEmitter &kernel) {
  Team team = makeTeam(kernel);
  bool isInRegisters = isUnrolled(kernel);
  Share share(kernel, team, terms, order.piece, isInRegisters);
  // Lanes without an element read that of another one, which may be written meanwhile.
  bool readsOwn = !isThere && ShapedType::getNumElements(terms) % (order.lanes * order.piece) == 0;
  int64_t ofLane = int64_t(llvm::divideCeil(ShapedType::getNumElements(terms), order.lanes));
  if (isInRegisters && ofLane <= kElementsAhead && ArrayRef(innerSizes) == ArrayRef(terms) &&
      (readsOwn || !kernel.launch().mayOverwrite()))
    readAhead(kernel, share);
  for (const Kept &one : kept)
    if (termSizesOf(one.op) == terms) {
      keep(kernel, one, team, share);
    } else {
      Share own(kernel, team, termSizesOf(one.op), order.piece, isInRegisters);
      keep(kernel, one, team, own);
    }
  if (isThere)
    kernel.onlyIf(isThere, [&] { writeElements(kernel, team, share); });
  else
    writeElements(kernel, team, share);
}

/// The first row of this thread's warp, where that is sure to be a row's or several.
Value TeamsWay::firstOfWarp(KernelEmitter &kernel) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  Value warp = arith::DivUIOp::create(b, launch.thread(), indexConstant(b, kWarp));
  return addIndex(b, mulIndex(b, launch.block(), launch.threads() / order.lanes),
                  mulIndex(b, warp, kWarp / order.lanes));
}

void TeamsWay::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  int64_t teams = launch.threads() / order.lanes, blocks = llvm::divideCeil(rows, teams);
  launch.needBlocks(blocks);
  auto isBelow = [&](Value x, int64_t end) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, end));
  };
  if (kernel.hasOneOutput() && rows % teams == 0)
    return emitRows(kernel);
  // Warps of rows meet in no memory, so those without one may leave the others alone.
  if (order.isAlongRows && order.lanes <= kWarp)
    return kernel.onlyIf(isBelow(firstOfWarp(kernel), rows), [&] { emitRows(kernel); });
  if (kernel.hasOneOutput())
    return emitRows(kernel);
  kernel.onlyIf(isBelow(launch.block(), blocks), [&] { emitRows(kernel); });
}

std::unique_ptr<Way> gantry::gpu::findTeams(const Output &output) {
  auto way = std::make_unique<TeamsWay>(output, findSharing(output.tensor));
  if (!way->applies())
    return nullptr;
  return way;
}
