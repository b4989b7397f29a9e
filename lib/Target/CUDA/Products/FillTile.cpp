#include "FillTile.h"

#include "Banks.h"
#include "StoreAccumulators.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Bytes that a thread reads at once, where it can, and bytes of a sector of memory.
static constexpr int64_t kAccessBytes = 16, kSectorBytes = 32;
/// Terms of a row that a thread reads one by one, to write them at once.
static constexpr int64_t kMostGathered = 8;
/// How many threads write 16 bytes in one pass over the banks.
static constexpr int64_t kThreadsOfPass = 8;

//===----------------------------------------------------------------------===//
// Who reads what
//===----------------------------------------------------------------------===//

FillTile::FillTile(KernelEmitter &kernel, const Product &product, const Side &side, Value factor,
                   ArrayRef<unsigned> loops, int64_t extent, int64_t depth)
    : kernel(kernel), launch(kernel.launch()), product(product), side(side), factor(factor),
      loops(loops), extent(extent), depth(depth), places(Places::of(product, side)) {
  if (places)
    chooseRead();
  else
    chooseComputed();
}

int64_t FillTile::bytesOfElement() const {
  return std::max<int64_t>(1, elementOf(side.operand->get()).getIntOrFloatBitWidth() / 8);
}

/// Threads walk along the last dimension of what they compute.
void FillTile::chooseComputed() {
  linalg::GenericOp op = product.op;
  ArrayRef<int64_t> shape = shapeOf(side.operand->get());
  int64_t last = int64_t(shape.size()) - 1;
  while (last >= 0 && shape[last] == 1)
    --last;
  if (last < 0)
    return;
  AffineExpr expr = op.getMatchingIndexingMap(side.operand).getResult(last);
  alongK = llvm::none_of(loops, [&](unsigned loop) { return expr.isFunctionOfDim(loop); });
  lanesAlongRows = !alongK;
}

/// How many neighbours of a walk are there to be read at once, at most `most`: where they follow
/// each other in memory, and begin where such an access may.
static int64_t widthAlong(const Product &product, const Side &side, const Places &places,
                          const Walk &own, const Walk &other, int64_t most) {
  linalg::GenericOp op = product.op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (own.last().step != 1 || own.last().meetsBorder() ||
      elementOf(side.operand->get()).isInteger(1))
    return 1;
  Walk outer(places, sizes, product.batch);
  auto fits = [&](int64_t width) {
    return places.start % width == 0 && own.isMultipleOf(width, /*along=*/true) &&
           other.isMultipleOf(width, /*along=*/false) && outer.isMultipleOf(width, false);
  };
  int64_t width = 1;
  while (width < most && fits(2 * width))
    width *= 2;
  return width;
}

/// Terms, where they are nearer to each other than rows are. Of patches, too: a row of a window is
/// nearer than the next window.
static bool isReadAlongK(const Walk &rows, const Walk &walkOfK, int64_t bytes) {
  const int64_t rowStep = rows.last().step;
  return walkOfK.last().step == 1 || rows.loops.empty() || rowStep > walkOfK.last().step ||
         (rowStep * bytes >= kSectorBytes &&
          llvm::any_of(walkOfK.loops, [&](const Walk::Loop &loop) { return loop.step < rowStep; }));
}

bool gantry::gpu::mayBeCopied(const Product &product, const Side &side, Value factor,
                              ArrayRef<unsigned> loops) {
  constexpr int64_t leastBytes = 4;
  linalg::GenericOp op = product.op;
  std::optional<Places> places = Places::of(product, side);
  if (!places || !places->bodies.empty() || factor != op.getMatchingBlockArgument(side.operand) ||
      (!places->borders.empty() && !matchPattern(places->outside, m_PosZeroFloat())))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Walk rows(*places, sizes, loops), walkOfK(*places, sizes, product.k);
  const int64_t bytes = factor.getType().getIntOrFloatBitWidth() / 8;
  const bool alongK = isReadAlongK(rows, walkOfK, bytes);
  return widthAlong(product, side, *places, alongK ? walkOfK : rows, alongK ? rows : walkOfK,
                    kAccessBytes / bytes) *
             bytes >=
         leastBytes;
}

/// What is together in memory is read at once. Where rows are, but not evenly enough, a thread
/// reads several terms of one row instead: what it asks for them is the same, and they are written
/// at once to lines of K.
void FillTile::chooseRead() {
  linalg::GenericOp op = product.op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  rowWalk.emplace(*places, sizes, loops);
  walkOfK.emplace(*places, sizes, product.k);
  alongK = isReadAlongK(*rowWalk, *walkOfK, bytesOfElement());
  lanesAlongRows = !alongK;
  const Walk &own = alongK ? *walkOfK : *rowWalk, &other = alongK ? *rowWalk : *walkOfK;
  values = widthAlong(product, side, *places, own, other,
                      std::min(kAccessBytes / bytesOfElement(), alongK ? depth : extent));
  if (alongK || values > 1 || walkOfK->last().meetsBorder())
    return;
  auto fits = [&](int64_t width) {
    return walkOfK->last().size % width == 0 && width <= depth &&
           extent * depth / width >= launch.threads();
  };
  while (values < kMostGathered && values * bytesOfElement() < kAccessBytes && fits(2 * values))
    values *= 2;
  alongK = values > 1;
}

int64_t FillTile::turns() const { return std::max<int64_t>(1, pieces() / launch.threads()); }

/// All are powers of two. Along terms, the threads of a warp read a sector of each of their rows,
/// or one term of many rows.
SmallVector<FillTile::Digit, 4> FillTile::digits() const {
  if (!alongK) {
    int64_t across = extent / values;
    // Eight threads write at a time. Where a line has less for them, each has a line.
    bool isShort = values > 1 && across < kThreadsOfPass && !copies;
    int64_t lines = isShort ? std::min(depth, kThreadsOfPass) : 1;
    return {{1, lines, 1, true},
            {lines, across, values, false},
            {lines * across, depth / lines, lines, true}};
  }
  int64_t across = depth / values;
  // What goes to shared memory by itself needs no order of its own there.
  if (copies)
    return {{1, across, values, true}, {across, extent, 1, false}};
  if (lanesAlongRows)
    return {{1, extent, 1, false}, {extent, across, values, true}};
  int64_t lanesOfRow =
      std::min(across, std::max<int64_t>(1, kSectorBytes / bytesOfElement() / values));
  int64_t lanes = std::min(extent, kWarp / lanesOfRow);
  return {{1, lanes, 1, false},
          {lanes, lanesOfRow, values, true},
          {lanes * lanesOfRow, extent / lanes, lanes, false},
          {lanesOfRow * extent, across / lanesOfRow, lanesOfRow * values, true}};
}

/// Digits of `thread + turn * threads`; all divisors are powers of two, so the two never carry.
int64_t FillTile::offsetOf(int64_t turn, bool ofK) const {
  int64_t offset = 0;
  for (const Digit &own : digits())
    if (own.isOfK == ofK)
      offset += turn * launch.threads() / own.divisor % own.modulus * own.weight;
  return offset;
}

FillTile::Place FillTile::placeOf(int64_t turn) {
  ImplicitLocOpBuilder &b = launch.builder();
  return {addIndex(b, threadRow, indexConstant(b, offsetOf(turn, false))),
          addIndex(b, threadK, indexConstant(b, offsetOf(turn, true)))};
}

int64_t FillTile::passesToStore(bool linesOfK, int64_t stride) const {
  int64_t bytes = factor.getType().getIntOrFloatBitWidth() / 8;
  auto placeOfLane = [&](int64_t lane) {
    int64_t row = 0, atK = 0;
    for (const Digit &own : digits())
      (own.isOfK ? atK : row) += lane / own.divisor % own.modulus * own.weight;
    int64_t line = linesOfK ? row : atK, column = linesOfK ? atK : row;
    return (line * stride + column) * bytes;
  };
  bool isOneLine = linesOfK == alongK;
  return turns() * (isOneLine ? countPasses(placeOfLane, values * bytes)
                              : values * countPasses(placeOfLane, bytes));
}

void FillTile::moveTo(ValueRange indices, Value start) {
  ImplicitLocOpBuilder &b = launch.builder();
  batch = llvm::to_vector(indices);
  first = start;
  threadRow = threadK = indexConstant(b, 0);
  for (const Digit &own : digits()) {
    Value part = launch.thread();
    if (own.modulus == 1 || own.divisor >= launch.threads())
      continue;
    if (own.divisor > 1)
      part = arith::DivUIOp::create(b, part, indexConstant(b, own.divisor));
    if (launch.threads() / own.divisor > own.modulus)
      part = arith::RemUIOp::create(b, part, indexConstant(b, own.modulus));
    Value &to = own.isOfK ? threadK : threadRow;
    to = addIndex(b, to, mulIndex(b, part, own.weight));
  }
  if (!places)
    return;
  memory = flat(b, kernel.memoryOf(places->argument.getArgNumber()));
  makeTable();
  for (int64_t turn = 0; turn < turns(); ++turn)
    if (int64_t offset = offsetOf(turn, false); !spots.contains(offset))
      spots.insert({offset, spotOfRow(offset)});
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void FillTile::store(ArrayRef<Value> loaded, const TileMemory &to, Value offset) {
  ImplicitLocOpBuilder &b = launch.builder();
  auto write = [&] {
    for (int64_t turn = 0; turn < turns(); ++turn) {
      Place place = placeOf(turn);
      SmallVector<Value> piece(loaded.slice(turn * values, values));
      if (round)
        for (Value &value : piece)
          value = round(value);
      Value line = to.linesOfK ? place.row : place.k;
      Value column = to.linesOfK ? place.k : place.row;
      Value at = addIndex(b, addIndex(b, mulIndex(b, line, to.stride), column), offset);
      bool isOneLine = to.linesOfK == alongK;
      if (isOneLine && values > 1) {
        auto type = VectorType::get({values}, factor.getType());
        int64_t bytes = values * factor.getType().getIntOrFloatBitWidth() / 8;
        Value whole = vector::FromElementsOp::create(b, type, piece);
        vector::StoreOp::create(b, whole, to.memory, ValueRange{at}, /*nontemporal=*/false,
                                llvm::MaybeAlign(std::min(bytes, kAccessBytes)));
        continue;
      }
      for (auto [i, value] : llvm::enumerate(piece)) {
        int64_t step = int64_t(i) * (isOneLine ? 1 : to.stride);
        memref::StoreOp::create(b, value, to.memory, addIndex(b, at, indexConstant(b, step)));
      }
    }
  };
  if (isForAll())
    return write();
  kernel.onlyIf(isBelow(b, launch.thread(), pieces()), write);
}
