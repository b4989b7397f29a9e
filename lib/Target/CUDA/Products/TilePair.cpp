#include "TilePair.h"

#include "AsyncCopy.h"
#include "Banks.h"
#include "Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry::gpu;

TilePair::TilePair(KernelEmitter &kernel, const Product &product, Value left, Value right,
                   const TileSizes &sizes)
    : fillLeft(kernel, product, product.left, left, product.rows, sizes.rows, sizes.k),
      fillRight(kernel, product, product.right, right, product.columns, sizes.columns, sizes.k),
      kernel(kernel), product(product), sizes(sizes) {}

TilePlace gantry::gpu::placeOfBlock(KernelEmitter &kernel, const Product &product, int64_t rows,
                                    int64_t columns) {
  ImplicitLocOpBuilder &b = kernel.builder();
  TileGrid grid(ProductSizes::of(product), rows, columns);
  kernel.launch().needBlocks(grid.blocks());
  Indices at = delinearize(b, kernel.launch().block(), {grid.batch, grid.across, grid.down});
  TilePlace place;
  llvm::append_range(place.batch, delinearize(b, at[0], product.sizes(product.batch)));
  place.column = mulIndex(b, at[1], columns);
  place.row = mulIndex(b, at[2], rows);
  return place;
}

void TilePair::useStages(int64_t count) {
  stages = count;
  fillLeft.useCopies();
  fillRight.useCopies();
}

void TilePair::moveTo(const TilePlace &place) {
  fillLeft.moveTo(place.batch, place.row);
  fillRight.moveTo(place.batch, place.column);
}

int64_t TilePair::rounds() const { return llvm::divideCeil(product.count(product.k), sizes.k); }

TileMemory TilePair::allocate(const FillTile &fill, int64_t extent, const Layout &layout) {
  int64_t length = layout.linesOfK ? sizes.k : extent;
  if (stages > 0) {
    const int64_t bytes = fill.type().getIntOrFloatBitWidth() / 8;
    TileMemory memory{Value(),
                      extent,
                      sizes.k,
                      layout.linesOfK,
                      length,
                      std::min(stages, rounds()),
                      Swizzle::of(length * bytes, bytes, layout.piecesAtOnce)};
    memory.memory = kernel.launch().allocate(memory.stages * memory.stageSize(), fill.type(), 1);
    return memory;
  }
  int64_t stages = rounds() > 1 ? 2 : 1;
  int64_t step = std::max(layout.step, fill.valuesOfStore(layout.linesOfK));
  int64_t stride = chooseStride(length, step, layout.mostPadding, [&](int64_t stride) {
    return fill.passesToStore(layout.linesOfK, stride) + layout.passesToRead(stride);
  });
  TileMemory memory{Value(), extent, sizes.k, layout.linesOfK, stride, stages, {}};
  memory.memory = kernel.launch().allocate(stages * memory.stageSize(), fill.type(), 1);
  return memory;
}

//===----------------------------------------------------------------------===//
// In stages
//===----------------------------------------------------------------------===//

/// The part of a round, on its way to a stage from here on.
void TilePair::copy(Value round, Value stage) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Value atK = mulIndex(b, round, sizes.k);
  fillLeft.copy(atK, left, mulIndex(b, stage, left.stageSize()));
  fillRight.copy(atK, right, mulIndex(b, stage, right.stageSize()));
}

/// A round waits for its own part and for all threads: then everybody sees that part, and nobody
/// reads the one before it any more, whose place the next copies take. Groups of copies are counted
/// also where there is nothing left to copy.
SmallVector<Value> TilePair::addUpInStages(ValueRange zeros, Multiply multiply) {
  ImplicitLocOpBuilder &b = kernel.builder();
  const int64_t count = left.stages, ahead = std::max<int64_t>(1, count - 1);
  for (int64_t round = 0; round < ahead; ++round) {
    copy(indexConstant(b, round), indexConstant(b, round));
    closeCopies(b);
  }
  Value zero = indexConstant(b, 0);
  if (count == 1) {
    waitForCopies(b, 0);
    kernel.launch().barrier();
    return multiply(zeros, zero, zero);
  }
  return kernel.loops().loop(0, rounds(), 1, zeros, [&](Value round, ValueRange soFar) {
    Value next = addIndex(b, round, indexConstant(b, ahead));
    Value stages = indexConstant(b, count), now = arith::RemUIOp::create(b, round, stages);
    waitForCopies(b, ahead - 1);
    kernel.launch().barrier();
    kernel.onlyIf(isBelow(b, next, rounds()),
                  [&] { copy(next, arith::RemUIOp::create(b, next, stages)); });
    closeCopies(b);
    return multiply(soFar, mulIndex(b, now, left.stageSize()), mulIndex(b, now, right.stageSize()));
  });
}

//===----------------------------------------------------------------------===//
// Through registers
//===----------------------------------------------------------------------===//

SmallVector<Value> TilePair::addUp(const Layout &ofLeft, const Layout &ofRight, ValueRange zeros,
                                   Multiply multiply) {
  ImplicitLocOpBuilder &b = kernel.builder();
  left = allocate(fillLeft, sizes.rows, ofLeft);
  right = allocate(fillRight, sizes.columns, ofRight);
  if (stages > 0)
    return addUpInStages(zeros, multiply);
  Value zero = indexConstant(b, 0);
  fillLeft.store(fillLeft.load(zero, Value()), left, zero);
  fillRight.store(fillRight.load(zero, Value()), right, zero);
  kernel.launch().barrier();
  if (left.stages == 1)
    return multiply(zeros, zero, zero);

  return kernel.loops().loop(0, rounds(), 1, zeros, [&](Value round, ValueRange soFar) {
    Value two = indexConstant(b, 2), next = addIndex(b, round, indexConstant(b, 1));
    Value now = arith::RemUIOp::create(b, round, two), later = arith::RemUIOp::create(b, next, two);
    Value isMore = isBelow(b, next, rounds()), atK = mulIndex(b, next, sizes.k);
    SmallVector<Value> loadedLeft = fillLeft.load(atK, isMore);
    SmallVector<Value> loadedRight = fillRight.load(atK, isMore);
    SmallVector<Value> accumulators =
        multiply(soFar, mulIndex(b, now, left.stageSize()), mulIndex(b, now, right.stageSize()));
    kernel.onlyIf(isMore, [&] {
      fillLeft.store(loadedLeft, left, mulIndex(b, later, left.stageSize()));
      fillRight.store(loadedRight, right, mulIndex(b, later, right.stageSize()));
    });
    kernel.launch().barrier();
    return accumulators;
  });
}
