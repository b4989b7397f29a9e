// Products in tiles: what is multiplied is read into shared memory a few terms at a time, each
// element once for a block, and each thread keeps the sums of a small matrix in registers. What the
// kernel computes from a sum it computes when that is complete.

#include "FillTile.h"
#include "Threads/Kernel.h"
#include "Tile.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Multiply-adds that stand one after the other in the code, at most.
static constexpr int64_t kMostUnrolled = 1024;
/// What a thread loads from shared memory at once, in bytes.
static constexpr int64_t kAccessBytes = 16;

namespace {
/// The elements of one side that a thread has: pieces of neighbours, evenly spread over the tile.
struct Share {
  int64_t extent, own; ///< of the tile, of a thread
  int64_t piece;       ///< neighbours
  Value lane;          ///< which of the threads along this side

  int64_t pieces() const { return own / piece; }
  int64_t lanes() const { return extent / own; }
  /// Where the first element of piece `i` is in the tile.
  Value start(ImplicitLocOpBuilder &b, int64_t i) const {
    return addIndex(b, mulIndex(b, lane, piece), indexConstant(b, i * lanes() * piece));
  }
};

class TileEmitter {
public:
  TileEmitter(KernelEmitter &kernel, const Output &output, const Product &product,
              const Tile &tile);
  void run();

private:
  void findPlace();
  TileMemory allocate(const FillTile &fill, int64_t extent);
  SmallVector<Value> addUp();
  SmallVector<Value> multiply(ValueRange sums, Value stageOfLeft, Value stageOfRight);
  SmallVector<Value> multiplyTerm(ValueRange sums, Value term, Value stageOfLeft,
                                  Value stageOfRight);
  SmallVector<Value> read(const TileMemory &from, const Share &share, Value term, Value stage);
  Value multiplyAdd(Value x, Value y, Value sum);

  void finish(ArrayRef<Value> sums);
  void finishSlices(ArrayRef<Value> sums);
  void storeRun(Value row, Value column, ArrayRef<Value> sums);
  void storePiece(Value row, Value column, ArrayRef<Value> sums);
  void provideInLine();
  Indices indicesAt(Value row, Value column);
  bool runsAlongColumns() const;

  KernelEmitter &kernel;
  const Output &output;
  Launch &launch;
  Elements &elements;
  const Product &product;
  const Tile tile;
  ImplicitLocOpBuilder &b;
  FillTile fillLeft, fillRight;
  TileMemory left, right;
  Share rows, columns;
  SmallVector<Value> batch;
  Value firstRow, firstColumn, slice;
  Value sum,
      linear; ///< of the element that is being computed: the sum, its place in row-major order
};
} // namespace

TileEmitter::TileEmitter(KernelEmitter &kernel, const Output &output, const Product &product,
                         const Tile &tile)
    : kernel(kernel), output(output), launch(kernel.launch()), elements(kernel.elements()),
      product(product), tile(tile), b(kernel.builder()),
      fillLeft(kernel, product, product.left, product.left.factor, product.rows, tile.rows,
               tile.terms),
      fillRight(kernel, product, product.right, product.right.factor, product.columns, tile.columns,
                tile.terms) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Which tile this block computes, and which part of it this thread. Blocks that follow each other
/// have the same columns.
void TileEmitter::findPlace() {
  int64_t downward = llvm::divideCeil(product.count(product.rows), tile.rows);
  int64_t across = llvm::divideCeil(product.count(product.columns), tile.columns);
  launch.needBlocks(tile.blocks(product));
  Indices at = delinearize(b, launch.block(), {product.count(product.batch), across, downward});
  batch = delinearize(b, at[0], product.sizes(product.batch));
  firstColumn = mulIndex(b, at[1], tile.columns);
  firstRow = mulIndex(b, at[2], tile.rows);
  fillLeft.moveTo(batch, firstRow);
  fillRight.moveTo(batch, firstColumn);

  int64_t wide = kAccessBytes * 8 / product.type().getIntOrFloatBitWidth();
  rows = {tile.rows, tile.threadRows, std::min(wide, tile.threadRows), Value()};
  columns = {tile.columns, tile.threadColumns, std::min(wide, tile.threadColumns), Value()};
  Indices thread = delinearize(b, launch.thread(), {tile.slices, rows.lanes(), columns.lanes()});
  slice = thread[0];
  rows.lane = thread[1];
  columns.lane = thread[2];
}

TileMemory TileEmitter::allocate(const FillTile &fill, int64_t extent) {
  int64_t padding = kTilePadding * 8 / product.type().getIntOrFloatBitWidth();
  int64_t stages = product.count(product.terms) > tile.terms ? 2 : 1;
  TileMemory memory{Value(), extent, tile.terms, /*linesOfTerms=*/false, extent + padding, stages};
  memory.memory =
      launch.allocate(stages * memory.stageSize(), product.type(), tile.blocks(product));
  return memory;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Copies of the body's own ops, whose flags say what may be contracted.
Value TileEmitter::multiplyAdd(Value x, Value y, Value sum) {
  Operation *term = b.clone(*product.multiply);
  term->setOperands({x, y});
  if (product.multiply->getOperand(0) != product.left.factor)
    term->setOperands({y, x});
  Operation *next = b.clone(*product.add);
  bool sumIsFirst = product.add->getOperand(1) == product.multiply->getResult(0);
  next->setOperands(sumIsFirst ? ValueRange{sum, term->getResult(0)}
                               : ValueRange{term->getResult(0), sum});
  return next->getResult(0);
}

SmallVector<Value> TileEmitter::read(const TileMemory &from, const Share &share, Value term,
                                     Value stage) {
  SmallVector<Value> values;
  Value line = addIndex(b, mulIndex(b, term, from.stride), stage);
  for (int64_t i = 0; i < share.pieces(); ++i) {
    Value at = addIndex(b, line, share.start(b, i));
    if (share.piece == 1) {
      values.push_back(memref::LoadOp::create(b, from.memory, at));
      continue;
    }
    auto type = VectorType::get({share.piece}, product.type());
    int64_t bytes = share.piece * product.type().getIntOrFloatBitWidth() / 8;
    Value piece = vector::LoadOp::create(b, type, from.memory, ValueRange{at},
                                         /*nontemporal=*/false, llvm::MaybeAlign(bytes));
    llvm::append_range(values, vector::ToElementsOp::create(b, piece).getResults());
  }
  return values;
}

SmallVector<Value> TileEmitter::multiplyTerm(ValueRange sums, Value term, Value stageOfLeft,
                                             Value stageOfRight) {
  SmallVector<Value> x = read(left, rows, term, stageOfLeft);
  SmallVector<Value> y = read(right, columns, term, stageOfRight);
  SmallVector<Value> next(sums.begin(), sums.end());
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j)
      next[i * y.size() + j] = multiplyAdd(x[i], y[j], sums[i * y.size() + j]);
  return next;
}

/// The terms of this thread's slice that are in shared memory, one after the other.
SmallVector<Value> TileEmitter::multiply(ValueRange sums, Value stageOfLeft, Value stageOfRight) {
  int64_t terms = tile.terms / tile.slices;
  int64_t together =
      std::clamp<int64_t>(kMostUnrolled / (tile.threadRows * tile.threadColumns), 1, terms);
  Value first = mulIndex(b, slice, terms);
  auto run = [&](ValueRange soFar, Value start) {
    SmallVector<Value> next(soFar.begin(), soFar.end());
    for (int64_t i = 0; i < together; ++i)
      next = multiplyTerm(next, addIndex(b, start, indexConstant(b, i)), stageOfLeft, stageOfRight);
    return next;
  };
  if (together == terms)
    return run(sums, first);
  auto loop = scf::ForOp::create(b, indexConstant(b, 0), indexConstant(b, terms),
                                 indexConstant(b, together), sums);
  Elements::Region inside(elements, loop.getBody());
  scf::YieldOp::create(b,
                       run(loop.getRegionIterArgs(), addIndex(b, first, loop.getInductionVar())));
  return loop.getResults();
}

/// While the sums of one part are added up, the next part is read; it is written to the other half
/// of the shared memory, so that a round has one barrier.
SmallVector<Value> TileEmitter::addUp() {
  int64_t terms = product.count(product.terms);
  Value zero = indexConstant(b, 0);
  left = allocate(fillLeft, tile.rows);
  right = allocate(fillRight, tile.columns);
  fillLeft.store(fillLeft.load(zero, Value()), left, zero);
  fillRight.store(fillRight.load(zero, Value()), right, zero);
  launch.barrier();
  Value start = arith::ConstantOp::create(b, b.getZeroAttr(product.type()));
  SmallVector<Value> sums(tile.threadRows * tile.threadColumns, start);
  if (left.stages == 1)
    return multiply(sums, zero, zero);

  int64_t rounds = llvm::divideCeil(terms, tile.terms);
  auto loop = scf::ForOp::create(b, zero, indexConstant(b, rounds), indexConstant(b, 1), sums);
  Elements::Region inside(elements, loop.getBody());
  Value round = loop.getInductionVar();
  Value two = indexConstant(b, 2), next = addIndex(b, round, indexConstant(b, 1));
  Value now = arith::RemUIOp::create(b, round, two), later = arith::RemUIOp::create(b, next, two);
  Value isMore = isBelow(b, next, rounds), term = mulIndex(b, next, tile.terms);
  SmallVector<Value> ofLeft = fillLeft.load(term, isMore), ofRight = fillRight.load(term, isMore);
  SmallVector<Value> added = multiply(loop.getRegionIterArgs(), mulIndex(b, now, left.stageSize()),
                                      mulIndex(b, now, right.stageSize()));
  kernel.onlyIf(isMore, [&] {
    fillLeft.store(ofLeft, left, mulIndex(b, later, left.stageSize()));
    fillRight.store(ofRight, right, mulIndex(b, later, right.stageSize()));
  });
  launch.barrier();
  scf::YieldOp::create(b, added);
  return loop.getResults();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Indices TileEmitter::indicesAt(Value row, Value column) {
  linalg::GenericOp op = product.op;
  Indices loops(op.getNumLoops()), at;
  auto place = [&](ArrayRef<unsigned> list, ValueRange indices) {
    for (auto [loop, index] : llvm::zip(list, indices))
      loops[loop] = index;
  };
  place(product.batch, batch);
  place(product.rows, delinearize(b, row, product.sizes(product.rows)));
  place(product.columns, delinearize(b, column, product.sizes(product.columns)));
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (AffineExpr expr : map.getResults())
    at.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
  return at;
}

/// Whether neighbouring columns are neighbours in the result.
bool TileEmitter::runsAlongColumns() const {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last && !product.columns.empty() && last.getPosition() == product.columns.back() &&
         product.sizes(product.columns).back() % columns.piece == 0;
}

/// What the result reads at its own place needs no indices.
void TileEmitter::provideInLine() {
  Alignment alignment(output.tensor);
  for (BlockArgument argument : kernel.function().getBody().front().getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()) || !alignment.isAligned(argument))
      continue;
    Value line = flat(b, kernel.memoryOf(argument.getArgNumber()));
    elements.provide(argument, [this, line](ValueRange) -> Value {
      return memref::LoadOp::create(b, line, linear);
    });
  }
}

/// Neighbours; all is read before anything is written, which may be to the same memory.
void TileEmitter::storePiece(Value row, Value column, ArrayRef<Value> sums) {
  Indices at = indicesAt(row, column);
  Value first = linearize(b, at, shapeOf(product.op->getResult(0)));
  bool sameShape = output.shape() == shapeOf(product.op->getResult(0));
  SmallVector<Value> computed, places;
  for (auto [i, next] : llvm::enumerate(sums)) {
    sum = next;
    linear = addIndex(b, first, indexConstant(b, int64_t(i)));
    places.push_back(linear);
    if (i > 0)
      at.back() = addIndex(b, at.back(), indexConstant(b, 1));
    computed.push_back(
        elements.at(output.tensor, sameShape ? at : delinearize(b, linear, output.shape())));
  }
  Value line = flat(b, launch.result(output.result));
  for (auto [value, place] : llvm::zip(computed, places))
    memref::StoreOp::create(b, value, line, place);
}

/// Sums of neighbouring columns, as far as they are inside.
void TileEmitter::storeRun(Value row, Value column, ArrayRef<Value> sums) {
  int64_t width = product.count(product.columns);
  auto where = [&](Value at, function_ref<void()> emit) {
    if (width % tile.columns == 0)
      return emit();
    kernel.onlyIf(isBelow(b, at, width), emit);
  };
  if (runsAlongColumns() || sums.size() == 1)
    return where(column, [&] { storePiece(row, column, sums); });
  for (size_t j = 0; j < sums.size(); ++j) {
    Value at = addIndex(b, column, indexConstant(b, int64_t(j)));
    where(at, [&] { storePiece(row, at, sums.slice(j, 1)); });
  }
}

void TileEmitter::finish(ArrayRef<Value> sums) {
  int64_t height = product.count(product.rows);
  for (int64_t i = 0; i < rows.own; ++i) {
    Value row = addIndex(b, addIndex(b, firstRow, rows.start(b, i / rows.piece)),
                         indexConstant(b, i % rows.piece));
    auto emit = [&] {
      for (int64_t j = 0; j < columns.pieces(); ++j)
        storeRun(row, addIndex(b, firstColumn, columns.start(b, j)),
                 sums.slice(i * columns.own + j * columns.piece, columns.piece));
    };
    if (height % tile.rows == 0)
      emit();
    else
      kernel.onlyIf(isBelow(b, row, height), emit);
  }
}

/// The parts of a sum meet in shared memory, where they are added slice by slice.
void TileEmitter::finishSlices(ArrayRef<Value> sums) {
  int64_t size = tile.rows * tile.columns, threads = tile.threads();
  Value memory = launch.allocate(tile.slices * size, product.type(), tile.blocks(product));
  Value mine = mulIndex(b, slice, size);
  for (int64_t i = 0; i < rows.own; ++i)
    for (int64_t j = 0; j < columns.own; ++j) {
      Value row = addIndex(b, rows.start(b, i / rows.piece), indexConstant(b, i % rows.piece));
      Value column =
          addIndex(b, columns.start(b, j / columns.piece), indexConstant(b, j % columns.piece));
      Value at = addIndex(b, addIndex(b, mulIndex(b, row, tile.columns), column), mine);
      memref::StoreOp::create(b, sums[i * columns.own + j], memory, at);
    }
  launch.barrier();
  columns.piece = 1; // a thread has single elements from here on
  auto emit = [&](Value number) {
    Value whole;
    for (int64_t part = 0; part < tile.slices; ++part) {
      Value at = addIndex(b, number, indexConstant(b, part * size));
      Value next = memref::LoadOp::create(b, memory, at);
      if (whole) {
        Operation *joined = b.clone(*product.add);
        joined->setOperands({whole, next});
        next = joined->getResult(0);
      }
      whole = next;
    }
    Indices at = delinearize(b, number, {tile.rows, tile.columns});
    Value row = addIndex(b, firstRow, at[0]), column = addIndex(b, firstColumn, at[1]);
    int64_t height = product.count(product.rows);
    auto write = [&] { storeRun(row, column, whole); };
    if (height % tile.rows == 0)
      write();
    else
      kernel.onlyIf(isBelow(b, row, height), write);
  };
  if (size < threads)
    return kernel.onlyIf(isBelow(b, launch.thread(), size), [&] { emit(launch.thread()); });
  for (int64_t first = 0; first < size; first += threads)
    emit(addIndex(b, launch.thread(), indexConstant(b, first)));
}

void TileEmitter::run() {
  findPlace();
  SmallVector<Value> sums = addUp();
  provideInLine();
  elements.provide(product.op->getResult(0), [this](ValueRange) { return sum; });
  if (tile.slices > 1)
    finishSlices(sums);
  else
    finish(sums);
}

namespace {
class TilesWay : public Way {
public:
  TilesWay(const Output &output, Product product)
      : Way(output), product(std::move(product)), tile(chooseTile(this->product)) {}
  int64_t threads() const override { return tile.threads(); }
  void emit(KernelEmitter &kernel) override { TileEmitter(kernel, output, product, tile).run(); }

private:
  Product product;
  Tile tile;
};
} // namespace

std::unique_ptr<Way> gantry::gpu::findTiles(const Output &output) {
  // A block has as many threads as the tile wants.
  std::optional<Product> product = output.isOnly ? findProduct(output.tensor) : std::nullopt;
  return product ? std::make_unique<TilesWay>(output, std::move(*product)) : nullptr;
}
