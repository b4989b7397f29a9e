#include "TilePair.h"

#include "Banks.h"
#include "Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry::gpu;

TilePair::TilePair(KernelEmitter &kernel, const Product &product, Value left, Value right,
                   const TileSizes &sizes)
    : fillLeft(kernel, product, product.left, left, product.rows, sizes.rows, sizes.terms),
      fillRight(kernel, product, product.right, right, product.columns, sizes.columns, sizes.terms),
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

void TilePair::moveTo(const TilePlace &place) {
  fillLeft.moveTo(place.batch, place.row);
  fillRight.moveTo(place.batch, place.column);
}

TileMemory TilePair::allocate(const FillTile &fill, int64_t extent, const Layout &layout) {
  int64_t length = layout.linesOfTerms ? sizes.terms : extent;
  int64_t stages = product.count(product.terms) > sizes.terms ? 2 : 1;
  int64_t step = std::max(layout.step, fill.valuesOfStore(layout.linesOfTerms));
  int64_t stride = chooseStride(length, step, layout.mostPadding, [&](int64_t stride) {
    return fill.passesToStore(layout.linesOfTerms, stride) + layout.passesToRead(stride);
  });
  TileMemory memory{Value(), extent, sizes.terms, layout.linesOfTerms, stride, stages};
  memory.memory = kernel.launch().allocate(stages * memory.stageSize(), fill.type(), 1);
  return memory;
}

SmallVector<Value> TilePair::addUp(const Layout &ofLeft, const Layout &ofRight, ValueRange zeros,
                                   Multiply multiply) {
  ImplicitLocOpBuilder &b = kernel.builder();
  left = allocate(fillLeft, sizes.rows, ofLeft);
  right = allocate(fillRight, sizes.columns, ofRight);
  Value zero = indexConstant(b, 0);
  fillLeft.store(fillLeft.load(zero, Value()), left, zero);
  fillRight.store(fillRight.load(zero, Value()), right, zero);
  kernel.launch().barrier();
  if (left.stages == 1)
    return multiply(zeros, zero, zero);

  int64_t rounds = llvm::divideCeil(product.count(product.terms), sizes.terms);
  auto loop = scf::ForOp::create(b, zero, indexConstant(b, rounds), indexConstant(b, 1), zeros);
  Elements::Region inside(kernel.elements(), loop.getBody());
  Value round = loop.getInductionVar();
  Value two = indexConstant(b, 2), next = addIndex(b, round, indexConstant(b, 1));
  Value now = arith::RemUIOp::create(b, round, two), later = arith::RemUIOp::create(b, next, two);
  Value isMore = isBelow(b, next, rounds), term = mulIndex(b, next, sizes.terms);
  SmallVector<Value> loadedLeft = fillLeft.load(term, isMore);
  SmallVector<Value> loadedRight = fillRight.load(term, isMore);
  SmallVector<Value> sums = multiply(loop.getRegionIterArgs(), mulIndex(b, now, left.stageSize()),
                                     mulIndex(b, now, right.stageSize()));
  kernel.onlyIf(isMore, [&] {
    fillLeft.store(loadedLeft, left, mulIndex(b, later, left.stageSize()));
    fillRight.store(loadedRight, right, mulIndex(b, later, right.stageSize()));
  });
  kernel.launch().barrier();
  scf::YieldOp::create(b, sums);
  return loop.getResults();
}
