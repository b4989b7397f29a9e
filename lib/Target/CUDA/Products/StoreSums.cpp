#include "StoreSums.h"

#include "Banks.h"
#include "Tile.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

Value gantry::gpu::isBelow(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, y));
}

StoreSums::StoreSums(KernelEmitter &kernel, const Output &output, const Product &product,
                     int64_t tileRows, int64_t tileColumns)
    : kernel(kernel), output(output), product(product), tileRows(tileRows),
      tileColumns(tileColumns), b(kernel.builder()) {}

void StoreSums::moveTo(ValueRange indices, Value row, Value column) {
  batch = llvm::to_vector(indices);
  firstRow = row;
  firstColumn = column;
}

//===----------------------------------------------------------------------===//
// Places in the result
//===----------------------------------------------------------------------===//

/// Of the op's result.
Indices StoreSums::indicesAt(Value row, Value column) {
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

/// Whether so many columns from a multiple of that on are neighbours in the result.
bool StoreSums::areNeighbours(int64_t columns) const {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last && !product.columns.empty() && last.getPosition() == product.columns.back() &&
         product.sizes(product.columns).back() % columns == 0;
}

/// The sum is there, and what the result reads at its own place needs no indices.
void StoreSums::provideInputs() {
  kernel.provideInLine(output, linear);
  kernel.elements().provide(product.op->getResult(0), [this](ValueRange) { return sum; });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// All is read before anything is written, which may be to the same memory.
void StoreSums::storeInside(Value row, Value column, ArrayRef<Value> sums) {
  Indices at = indicesAt(row, column);
  ArrayRef<int64_t> shape = shapeOf(product.op->getResult(0));
  Value first = linearize(b, at, shape);
  SmallVector<Value> computed, places;
  for (auto [i, next] : llvm::enumerate(sums)) {
    sum = next;
    linear = addIndex(b, first, indexConstant(b, int64_t(i)));
    places.push_back(linear);
    if (i > 0)
      at.back() = addIndex(b, at.back(), indexConstant(b, 1));
    bool sameShape = output.shape() == shape;
    Indices own = sameShape ? at : delinearize(b, linear, output.shape());
    computed.push_back(kernel.elements().at(output.tensor, own));
  }
  Value line = flat(b, kernel.launch().result(output.result));
  for (auto [value, place] : llvm::zip(computed, places))
    memref::StoreOp::create(b, value, line, place);
}

/// As far as its columns are inside.
void StoreSums::storeRun(const Run &run) {
  int64_t width = product.count(product.columns);
  Value row = addIndex(b, firstRow, run.row), column = addIndex(b, firstColumn, run.column);
  auto store = [&](Value at, ArrayRef<Value> sums) {
    if (width % tileColumns == 0)
      return storeInside(row, at, sums);
    kernel.onlyIf(isBelow(b, at, width), [&] { storeInside(row, at, sums); });
  };
  if (run.sums.size() == 1 || areNeighbours(int64_t(run.sums.size())))
    return store(column, run.sums);
  for (auto [j, next] : llvm::enumerate(run.sums))
    store(addIndex(b, column, indexConstant(b, int64_t(j))), next);
}

/// Runs of one row, if it is inside.
void StoreSums::storeRow(ArrayRef<Run> runs) {
  int64_t height = product.count(product.rows);
  auto emit = [&] {
    for (const Run &run : runs)
      storeRun(run);
  };
  if (height % tileRows == 0)
    return emit();
  kernel.onlyIf(isBelow(b, addIndex(b, firstRow, runs.front().row), height), emit);
}

void StoreSums::store(ArrayRef<Run> runs) {
  provideInputs();
  while (!runs.empty()) {
    Value row = runs.front().row;
    ArrayRef<Run> same = runs.take_while([&](const Run &run) { return run.row == row; });
    storeRow(same);
    runs = runs.drop_front(same.size());
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

void StoreSums::joinAndStore(ArrayRef<Run> runs, Value slice, int64_t slices,
                             function_ref<std::pair<int64_t, int64_t>(int64_t)> firstRun) {
  Launch &launch = kernel.launch();
  int64_t length = int64_t(runs.front().sums.size()),
          bytes = product.type().getIntOrFloatBitWidth() / 8;
  int64_t stride = strideOfRows(tileColumns, length, bytes, firstRun), size = tileRows * stride;
  Value memory = launch.allocate(slices * size, product.type(), 1), mine = mulIndex(b, slice, size);
  auto type = VectorType::get({length}, product.type());
  for (const Run &run : runs) {
    Value start = addIndex(b, addIndex(b, mulIndex(b, run.row, stride), run.column), mine);
    Value parts = vector::FromElementsOp::create(b, type, run.sums);
    vector::StoreOp::create(b, parts, memory, ValueRange{start}, /*nontemporal=*/false,
                            llvm::MaybeAlign(length * bytes));
  }
  launch.barrier();
  provideInputs();
  kernel.forMine(tileRows * tileColumns, [&](Value number) {
    Indices at = delinearize(b, number, {tileRows, tileColumns});
    Value place = addIndex(b, mulIndex(b, at[0], stride), at[1]);
    Value whole = memref::LoadOp::create(b, memory, place);
    for (int64_t part = 1; part < slices; ++part) {
      Value next =
          memref::LoadOp::create(b, memory, addIndex(b, place, indexConstant(b, part * size)));
      Operation *joined = b.clone(*product.add);
      joined->setOperands({whole, next});
      whole = joined->getResult(0);
    }
    storeRow(Run{at[0], at[1], {whole}});
  });
}
