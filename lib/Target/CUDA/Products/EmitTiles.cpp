// Products in tiles: what is multiplied is read into shared memory a few terms at a time, each
// element once for a block, and each thread keeps the sums of a small matrix in registers. What the
// kernel computes from a sum it computes when that is complete.

#include "EmitTiles.h"
#include "Banks.h"
#include "CoreTiles.h"
#include "Threads/Kernel.h"
#include "Tile.h"
#include "TilePair.h"
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
  TileEmitter(KernelEmitter &kernel, const Product &product, const Tile &tile);
  void run(const TilePlace &place, StoreAccumulators &store);

private:
  void findPlace();
  std::pair<int64_t, int64_t> firstOf(const Share &share, int64_t thread) const;
  TilePair::Layout layoutOf(const Share &share) const;
  SmallVector<Value> addUp();
  SmallVector<Value> multiply(ValueRange accumulators, Value stageOfLeft, Value stageOfRight);
  SmallVector<Value> multiplyAtK(ValueRange accumulators, Value atK, Value stageOfLeft,
                                 Value stageOfRight);
  SmallVector<Value> read(const TileMemory &from, const Share &share, Value atK, Value stage);
  Value multiplyAdd(Value x, Value y, Value sum);

  SmallVector<Run> runsOf(ArrayRef<Value> accumulators);

  Launch &launch;
  Elements &elements;
  const Product &product;
  const Tile tile;
  ImplicitLocOpBuilder &b;
  TilePair pair;
  Share rows, columns;
  Value slice;
};
} // namespace

TileEmitter::TileEmitter(KernelEmitter &kernel, const Product &product, const Tile &tile)
    : launch(kernel.launch()), elements(kernel.elements()), product(product), tile(tile),
      b(kernel.builder()), pair(kernel, product, product.left.factor, product.right.factor,
                                {tile.rows, tile.columns, tile.k}) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Which part of the tile this thread computes.
void TileEmitter::findPlace() {
  int64_t wide = kAccessBytes * 8 / product.type().getIntOrFloatBitWidth();
  rows = {tile.rows, tile.threadRows, std::min(wide, tile.threadRows), Value()};
  columns = {tile.columns, tile.threadColumns, std::min(wide, tile.threadColumns), Value()};
  Indices thread = delinearize(b, launch.thread(), {tile.slices, rows.lanes(), columns.lanes()});
  slice = thread[0];
  rows.lane = thread[1];
  columns.lane = thread[2];
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Copies of the body's own ops, whose flags say what may be contracted.
Value TileEmitter::multiplyAdd(Value x, Value y, Value sum) {
  Operation *multiplied = b.clone(*product.multiply);
  multiplied->setOperands({x, y});
  if (product.multiply->getOperand(0) != product.left.factor)
    multiplied->setOperands({y, x});
  Operation *next = b.clone(*product.add);
  bool sumIsFirst = product.add->getOperand(1) == product.multiply->getResult(0);
  next->setOperands(sumIsFirst ? ValueRange{sum, multiplied->getResult(0)}
                               : ValueRange{multiplied->getResult(0), sum});
  return next->getResult(0);
}

SmallVector<Value> TileEmitter::read(const TileMemory &from, const Share &share, Value atK,
                                     Value stage) {
  SmallVector<Value> values;
  Value line = addIndex(b, mulIndex(b, atK, from.stride), stage);
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

SmallVector<Value> TileEmitter::multiplyAtK(ValueRange accumulators, Value atK, Value stageOfLeft,
                                            Value stageOfRight) {
  SmallVector<Value> x = read(pair.left, rows, atK, stageOfLeft);
  SmallVector<Value> y = read(pair.right, columns, atK, stageOfRight);
  SmallVector<Value> next(accumulators.begin(), accumulators.end());
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j)
      next[i * y.size() + j] = multiplyAdd(x[i], y[j], accumulators[i * y.size() + j]);
  return next;
}

/// The terms of this thread's slice that are in shared memory, one after the other.
SmallVector<Value> TileEmitter::multiply(ValueRange accumulators, Value stageOfLeft,
                                         Value stageOfRight) {
  int64_t sizeK = tile.k / tile.slices;
  int64_t together =
      std::clamp<int64_t>(kMostUnrolled / (tile.threadRows * tile.threadColumns), 1, sizeK);
  Value first = mulIndex(b, slice, sizeK);
  auto run = [&](ValueRange soFar, Value start) {
    SmallVector<Value> next(soFar.begin(), soFar.end());
    for (int64_t i = 0; i < together; ++i)
      next = multiplyAtK(next, addIndex(b, start, indexConstant(b, i)), stageOfLeft, stageOfRight);
    return next;
  };
  if (together == sizeK)
    return run(accumulators, first);
  return LoopBuilder(b, &elements)
      .loop(0, sizeK, together, accumulators,
            [&](Value i, ValueRange soFar) { return run(soFar, addIndex(b, first, i)); });
}

/// Where lane `lane` of the first warp has its first element of a side, and which terms.
std::pair<int64_t, int64_t> TileEmitter::firstOf(const Share &share, int64_t thread) const {
  int64_t of =
      &share == &columns ? thread % columns.lanes() : thread / columns.lanes() % rows.lanes();
  return {of * share.piece, thread / tile.threadsOfSlice() % tile.slices * (tile.k / tile.slices)};
}

/// Tiles have a line for each term.
TilePair::Layout TileEmitter::layoutOf(const Share &share) const {
  int64_t bytes = product.type().getIntOrFloatBitWidth() / 8;
  auto passesToRead = [this, &share, bytes](int64_t stride) {
    auto place = [&](int64_t lane) {
      auto [first, atK] = firstOf(share, lane);
      return (atK * stride + first) * bytes;
    };
    return tile.k / tile.slices * share.pieces() * countPasses(place, share.piece * bytes);
  };
  return {false, share.piece, tile.padding / bytes, passesToRead};
}

SmallVector<Value> TileEmitter::addUp() {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(product.type()));
  SmallVector<Value> zeros(tile.threadRows * tile.threadColumns, zero);
  return pair.addUp(layoutOf(rows), layoutOf(columns), zeros,
                    [&](ValueRange accumulators, Value left, Value right) {
                      return multiply(accumulators, left, right);
                    });
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// What this thread has: row by row, piece by piece.
SmallVector<Run> TileEmitter::runsOf(ArrayRef<Value> accumulators) {
  SmallVector<Run> runs;
  for (int64_t i = 0; i < rows.own; ++i) {
    Value row = addIndex(b, rows.start(b, i / rows.piece), indexConstant(b, i % rows.piece));
    for (int64_t j = 0; j < columns.pieces(); ++j)
      runs.push_back({row, columns.start(b, j),
                      SmallVector<Value>(
                          accumulators.slice(i * columns.own + j * columns.piece, columns.piece))});
  }
  return runs;
}

void TileEmitter::run(const TilePlace &place, StoreAccumulators &store) {
  pair.moveTo(place);
  store.moveTo(place);
  findPlace();
  SmallVector<Value> accumulators = addUp();
  if (tile.slices > 1)
    store.joinAndStore(runsOf(accumulators), slice, tile.slices, [&](int64_t thread) {
      return std::pair(firstOf(rows, thread).first, firstOf(columns, thread).first);
    });
  else
    store.store(runsOf(accumulators));
}

void gantry::gpu::emitTile(KernelEmitter &kernel, const Product &product, const Tile &tile,
                           const TilePlace &place, StoreAccumulators &store) {
  TileEmitter(kernel, product, tile).run(place, store);
}

namespace {
class TilesStrategy : public LoweringStrategy {
public:
  TilesStrategy(const Output &output, Product product)
      : LoweringStrategy(output), product(std::move(product)),
        tile(chooseTile(ProductSizes::of(this->product),
                        this->product.type().getIntOrFloatBitWidth() / 8)) {}
  int64_t threads() const override { return tile.threads(); }
  void emit(KernelEmitter &kernel) override {
    StoreAccumulators store(kernel, output, product, tile.rows, tile.columns);
    emitTile(kernel, product, tile, placeOfBlock(kernel, product, tile.rows, tile.columns), store);
  }

private:
  Product product;
  Tile tile;
};
} // namespace

std::unique_ptr<LoweringStrategy> gantry::gpu::findTiles(const Output &output) {
  // A block has as many threads as the tile wants.
  std::optional<Product> product = output.isOnly ? findTiledProduct(output.tensor) : std::nullopt;
  if (!product)
    return nullptr;
  if (std::unique_ptr<LoweringStrategy> cores = makeCoreTiles(output, *product))
    return cores;
  return std::make_unique<TilesStrategy>(output, std::move(*product));
}
