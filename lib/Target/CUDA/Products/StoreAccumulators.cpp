#include "StoreAccumulators.h"

#include "Banks.h"
#include "Tile.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Sums of slices that a thread joins and writes together.
static constexpr int64_t kMostTogether = 32;

Value gantry::gpu::isBelow(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, y));
}

StoreAccumulators::StoreAccumulators(KernelEmitter &kernel, const Output &output,
                                     const Product &product, int64_t tileRows, int64_t tileColumns)
    : kernel(kernel), output(output), product(product), tileRows(tileRows),
      tileColumns(tileColumns), b(kernel.builder()), inner(shapeOf(skipMoves(output.tensor))) {
  for (unsigned d = 0; d < output.shape().size(); ++d) {
    unsigned from = d;
    for (Value tensor = output.tensor; tensor != skipMoves(tensor);) {
      auto move = tensor.getDefiningOp<linalg::GenericOp>();
      from = (*orderOfMove(move))[from];
      tensor = move->getOperand(0);
    }
    order.push_back(from);
  }
}

void StoreAccumulators::moveTo(const TilePlace &place) {
  batch = place.batch;
  firstRow = place.row;
  firstColumn = place.column;
}

void StoreAccumulators::keepIn(Value memory, int64_t stride) {
  kept = memory;
  keptStride = stride;
}

//===----------------------------------------------------------------------===//
// Places in the result
//===----------------------------------------------------------------------===//

/// Of the op's result.
Indices StoreAccumulators::indicesAt(Value row, Value column) {
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

/// Indices of the output are known where it has the shape of the op's result.
StoreAccumulators::Place StoreAccumulators::placeAt(Value row, Value column) {
  ArrayRef<int64_t> own = shapeOf(product.op->getResult(0));
  Indices at = indicesAt(row, column);
  if (llvm::is_sorted(order))
    return {linearize(b, at, own), inner == own ? at : Indices()};
  if (inner != own)
    at = delinearize(b, linearize(b, at, own), inner);
  Indices moved;
  for (unsigned from : order)
    moved.push_back(at[from]);
  return {linearize(b, moved, output.shape()), moved};
}

/// Whether so many columns from a multiple of that on are neighbours in the output.
bool StoreAccumulators::areNeighbours(int64_t columns) const {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  bool keepsLast = llvm::is_sorted(order) ||
                   (order.back() + 1 == order.size() && inner == shapeOf(op->getResult(0)));
  return keepsLast && last && !product.columns.empty() &&
         last.getPosition() == product.columns.back() &&
         product.sizes(product.columns).back() % columns == 0;
}

/// The sum is there, and what the result reads at its own place needs no indices.
void StoreAccumulators::provideInputs() {
  kernel.provideInLine(output, linear);
  kernel.elements().provide(product.op->getResult(0), [this](ValueRange) { return sum; });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Null where all of the tile is.
Value StoreAccumulators::isInside(Value row, Value column) {
  Value condition;
  auto need = [&](Value index, int64_t count, int64_t tile) {
    if (count % tile == 0)
      return;
    Value below = isBelow(b, index, count);
    condition = condition ? arith::AndIOp::create(b, condition, below).getResult() : below;
  };
  if (!kept)
    need(row, product.count(product.rows), tileRows);
  need(column, product.count(product.columns), tileColumns);
  return condition;
}

/// Of the elements from `place` on.
SmallVector<Value> StoreAccumulators::compute(const Place &place, ArrayRef<Value> accumulators) {
  SmallVector<Value> computed;
  for (auto [i, next] : llvm::enumerate(accumulators)) {
    sum = next;
    linear = addIndex(b, place.linear, indexConstant(b, int64_t(i)));
    Indices own = place.at.empty() ? delinearize(b, linear, output.shape()) : place.at;
    if (i > 0 && !place.at.empty())
      own.back() = addIndex(b, own.back(), indexConstant(b, int64_t(i)));
    computed.push_back(kernel.elements().at(output.tensor, own));
  }
  return computed;
}

/// Where the condition, which may be null, holds; elsewhere it is nothing that anybody writes.
SmallVector<Value> StoreAccumulators::computeWhere(Value condition, const Place &place,
                                                   ArrayRef<Value> accumulators) {
  if (!condition)
    return compute(place, accumulators);
  SmallVector<Type> types(accumulators.size(), output.element());
  auto branch = scf::IfOp::create(b, TypeRange(types), condition, /*withElseRegion=*/true);
  {
    Elements::Region inside(kernel.elements(), branch.thenBlock());
    scf::YieldOp::create(b, compute(place, accumulators));
  }
  Elements::Region inside(kernel.elements(), branch.elseBlock());
  scf::YieldOp::create(
      b, SmallVector<Value>(types.size(), LLVM::UndefOp::create(b, output.element())));
  return branch.getResults();
}

/// All is read before anything is written, which may be to the same memory: so what is read is on
/// its way at the same time, too.
void StoreAccumulators::store(ArrayRef<Run> runs) {
  provideInputs();
  struct PendingStore {
    Value isInside, place;
    SmallVector<Value> values;
  };
  SmallVector<PendingStore> pieces;
  const int64_t rows = product.count(product.rows);
  auto add = [&](Value inTile, Value column, ArrayRef<Value> accumulators) {
    Value row = addIndex(b, firstRow, inTile), condition = isInside(row, column);
    if (kept && rows % tileRows != 0)
      row = arith::MinUIOp::create(b, row, indexConstant(b, rows - 1));
    Place place = placeAt(row, column);
    Value to = kept ? addIndex(b, mulIndex(b, inTile, keptStride), column) : place.linear;
    pieces.push_back({condition, to, computeWhere(condition, place, accumulators)});
  };
  for (const Run &run : runs) {
    Value row = run.row, column = addIndex(b, firstColumn, run.column);
    if (run.accumulators.size() == 1 || areNeighbours(int64_t(run.accumulators.size()))) {
      add(row, column, run.accumulators);
      continue;
    }
    for (auto [j, next] : llvm::enumerate(run.accumulators))
      add(row, addIndex(b, column, indexConstant(b, int64_t(j))), next);
  }
  Value line = kept ? kept : flat(b, kernel.launch().result(output.result));
  for (const PendingStore &piece : pieces) {
    auto write = [&] {
      for (auto [i, value] : llvm::enumerate(piece.values))
        memref::StoreOp::create(b, value, line,
                                addIndex(b, piece.place, indexConstant(b, int64_t(i))));
    };
    if (piece.isInside)
      kernel.onlyIf(piece.isInside, write);
    else
      write();
  }
}

/// Of rows of sums in shared memory, so that neither writing runs nor reading elements waits.
static int64_t strideOfRows(int64_t columns, int64_t length, int64_t bytes,
                            function_ref<std::pair<int64_t, int64_t>(int64_t)> firstRun) {
  return chooseStride(columns, length, kMostJoinPadding, [&](int64_t stride) {
    auto write = [&](int64_t lane) {
      auto [row, column] = firstRun(lane);
      return (row * stride + column) * bytes;
    };
    auto read = [&](int64_t lane) { return (lane / columns * stride + lane % columns) * bytes; };
    return countPasses(write, length * bytes) + length * countPasses(read, bytes);
  });
}

void StoreAccumulators::joinAndStore(ArrayRef<Run> runs, Value slice, int64_t slices,
                                     function_ref<std::pair<int64_t, int64_t>(int64_t)> firstRun) {
  Launch &launch = kernel.launch();
  int64_t length = int64_t(runs.front().accumulators.size()),
          bytes = product.type().getIntOrFloatBitWidth() / 8;
  int64_t stride = strideOfRows(tileColumns, length, bytes, firstRun), size = tileRows * stride;
  Value memory = launch.allocate(slices * size, product.type(), 1), mine = mulIndex(b, slice, size);
  auto type = VectorType::get({length}, product.type());
  for (const Run &run : runs) {
    Value start = addIndex(b, addIndex(b, mulIndex(b, run.row, stride), run.column), mine);
    Value parts = vector::FromElementsOp::create(b, type, run.accumulators);
    vector::StoreOp::create(b, parts, memory, ValueRange{start}, /*nontemporal=*/false,
                            llvm::MaybeAlign(length * bytes));
  }
  launch.barrier();
  auto wholeAt = [&](Value row, Value column) {
    Value place = addIndex(b, mulIndex(b, row, stride), column);
    Value whole = memref::LoadOp::create(b, memory, place);
    for (int64_t part = 1; part < slices; ++part) {
      Value next =
          memref::LoadOp::create(b, memory, addIndex(b, place, indexConstant(b, part * size)));
      Operation *joined = b.clone(*product.add);
      joined->setOperands({whole, next});
      whole = joined->getResult(0);
    }
    return Run{row, column, {whole}};
  };
  int64_t count = tileRows * tileColumns, turns = count / launch.threads();
  if (turns == 0 || turns > kMostTogether)
    return kernel.forMine(count, [&](Value number) {
      Indices at = delinearize(b, number, {tileRows, tileColumns});
      store(wholeAt(at[0], at[1]));
    });
  // All numbers are powers of two, so that nothing is carried.
  Indices first = delinearize(b, launch.thread(), {tileRows, tileColumns});
  SmallVector<Run> whole;
  for (int64_t turn = 0; turn < turns; ++turn) {
    int64_t number = turn * launch.threads();
    whole.push_back(wholeAt(addIndex(b, first[0], indexConstant(b, number / tileColumns)),
                            addIndex(b, first[1], indexConstant(b, number % tileColumns))));
  }
  store(whole);
}
