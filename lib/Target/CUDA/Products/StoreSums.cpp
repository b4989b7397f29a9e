#include "StoreSums.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
  Elements &elements = kernel.elements();
  Alignment alignment(output.tensor);
  for (BlockArgument argument : kernel.function().getBody().front().getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()) || !alignment.isAligned(argument))
      continue;
    Value line = flat(b, kernel.memoryOf(argument.getArgNumber()));
    elements.provide(argument, [this, line](ValueRange) -> Value {
      return memref::LoadOp::create(b, line, linear);
    });
  }
  elements.provide(product.op->getResult(0), [this](ValueRange) { return sum; });
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

void StoreSums::joinAndStore(ArrayRef<Run> runs, Value slice, int64_t slices) {
  Launch &launch = kernel.launch();
  int64_t size = tileRows * tileColumns;
  Value memory = launch.allocate(slices * size, product.type(), 1);
  Value mine = mulIndex(b, slice, size);
  for (const Run &run : runs) {
    Value start = addIndex(b, addIndex(b, mulIndex(b, run.row, tileColumns), run.column), mine);
    for (auto [i, part] : llvm::enumerate(run.sums))
      memref::StoreOp::create(b, part, memory, addIndex(b, start, indexConstant(b, int64_t(i))));
  }
  launch.barrier();
  provideInputs();
  kernel.forMine(size, [&](Value number) {
    Value whole = memref::LoadOp::create(b, memory, number);
    for (int64_t part = 1; part < slices; ++part) {
      Value at = addIndex(b, number, indexConstant(b, part * size));
      Value next = memref::LoadOp::create(b, memory, at);
      Operation *joined = b.clone(*product.add);
      joined->setOperands({whole, next});
      whole = joined->getResult(0);
    }
    Indices at = delinearize(b, number, {tileRows, tileColumns});
    storeRow(Run{at[0], at[1], {whole}});
  });
}
