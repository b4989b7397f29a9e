// By shared rows, the general way for elements that share reductions (Sharing.h): a block takes the
// elements that agree in some dimensions. Its threads compute what is kept together, one thing
// after the other, into memory of the block, then the elements. Sums that may be split are, among
// teams of lanes (Sums.h); others go to a thread each.

#include "Sums.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace {
class SharedRowsStrategy : public LoweringStrategy {
public:
  SharedRowsStrategy(const Output &output, Sharing sharing)
      : LoweringStrategy(output), sharing(std::move(sharing)) {}
  int64_t threads() const override;
  void emit(KernelEmitter &kernel) override;

private:
  int64_t rows() const {
    int64_t rows = 1;
    for (unsigned d : sharing.rows)
      rows *= output.shape()[d];
    return rows;
  }
  void emitRow(KernelEmitter &kernel);
  void keep(KernelEmitter &kernel, const Kept &kept, ValueRange row);
  void addUpInTeams(KernelEmitter &kernel, linalg::GenericOp op, int64_t count,
                    function_ref<Indices(Value)> loopsAt, ArrayRef<Value> stores);

  Sharing sharing;
};
} // namespace

int64_t SharedRowsStrategy::threads() const {
  int64_t own = std::max<int64_t>(1, rows()), most = output.count() / own;
  int64_t lanes = 1;
  for (Kept kept : sharing.kept) {
    most = std::max(most, ShapedType::getNumElements(kept.op.getStaticLoopRanges()) / own);
    lanes = std::max(lanes, orderOf(kept.op).lanes);
  }
  return std::max(threadsFor(most), lanes);
}

/// Teams take the sums in turns. Of a warp all lanes have work, or none has.
void SharedRowsStrategy::addUpInTeams(KernelEmitter &kernel, linalg::GenericOp op, int64_t count,
                                      function_ref<Indices(Value)> loopsAt,
                                      ArrayRef<Value> stores) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  Order order = orderOf(op);
  Value thread = launch.thread(), lanes = indexConstant(b, order.lanes);
  int64_t teams = launch.threads() / order.lanes,
          ofWarp = std::max<int64_t>(1, kWarp / order.lanes);
  Team team{order.lanes, 1, arith::RemUIOp::create(b, thread, lanes), rows()};
  Value own = arith::DivUIOp::create(b, thread, lanes);
  auto isBelow = [&](Value x, int64_t end) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, indexConstant(b, end));
  };
  auto addOne = [&](Value number) {
    Value mine = arith::MinUIOp::create(b, number, indexConstant(b, count - 1));
    Share share(kernel, team, termSizesOf(op), order.piece, /*isUnrolled=*/false);
    SmallVector<Value> sums = addUp(kernel, op, loopsAt(mine), team, share);
    Value isWriter = arith::AndIOp::create(b, isBelow(team.lane, 1), isBelow(number, count));
    kernel.onlyIf(isWriter, [&] {
      for (auto [sum, store] : llvm::zip(sums, stores))
        memref::StoreOp::create(b, sum, store, mine);
    });
  };
  kernel.loops().loop(0, count, teams, [&](Value first) {
    Value number = addIndex(b, first, own);
    if (order.lanes > kWarp) {
      addOne(number);
      return launch.barrier(); // before the next sums meet in the same memory
    }
    Value ofFirstLane =
        mulIndex(b, arith::DivUIOp::create(b, own, indexConstant(b, ofWarp)), ofWarp);
    kernel.onlyIf(isBelow(addIndex(b, first, ofFirstLane), count), [&] { addOne(number); });
  });
}

/// Computes what the block keeps of an op, one element for each index of its whole dimensions.
void SharedRowsStrategy::keep(KernelEmitter &kernel, const Kept &kept, ValueRange row) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  linalg::GenericOp op = kept.op;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  SmallVector<int64_t> local;
  for (auto [d, size] : llvm::zip(kept.dims, shape))
    if (d < 0)
      local.push_back(size);
  int64_t count = ShapedType::getNumElements(local);
  SmallVector<Value> stores;
  for (Value result : op->getResults())
    stores.push_back(launch.allocate(count, elementOf(result), rows()));

  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  auto loopsAt = [&](Value number) {
    Indices at = delinearize(b, number, local), loops(op.getNumLoops());
    size_t next = 0;
    for (auto [d, expr] : llvm::zip(kept.dims, map.getResults())) {
      Value index = d < 0 ? at[next++] : row[d];
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops[dim.getPosition()] = index;
    }
    return loops;
  };
  if (orderOf(op).lanes > 1) {
    addUpInTeams(kernel, op, count, loopsAt, stores);
  } else {
    kernel.forMine(count, [&](Value number) {
      SmallVector<Value> values = kernel.elements().reduce(op, loopsAt(number));
      for (auto [value, store] : llvm::zip(values, stores))
        memref::StoreOp::create(b, value, store, number);
    });
  }
  launch.barrier();
  for (auto [result, store] : llvm::zip(op->getResults(), stores)) {
    auto read = [&b, store, local, dims = kept.dims](ValueRange indices) -> Value {
      Indices own;
      for (auto [d, index] : llvm::zip(dims, indices))
        if (d < 0)
          own.push_back(index);
      return memref::LoadOp::create(b, store, linearize(b, own, local));
    };
    kernel.elements().provide(result, read);
  }
}

void SharedRowsStrategy::emitRow(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  SmallVector<int64_t> rowSizes, innerSizes;
  SmallVector<unsigned> inner;
  for (unsigned d = 0; d < output.shape().size(); ++d)
    if (llvm::is_contained(sharing.rows, d))
      rowSizes.push_back(output.shape()[d]);
    else
      inner.push_back(d), innerSizes.push_back(output.shape()[d]);
  Indices row = delinearize(b, launch.block(), rowSizes), at(output.shape().size());
  for (auto [d, index] : llvm::zip(sharing.rows, row))
    at[d] = index;
  for (const Kept &kept : sharing.kept)
    keep(kernel, kept, at);
  int64_t count = ShapedType::getNumElements(innerSizes), values = valuesAtOnce(output.element());
  bool isWhole = !inner.empty() && inner.back() + 1 == output.shape().size() &&
                 innerSizes.back() % values == 0 && count >= values * launch.threads();
  if (!isWhole)
    values = 1;
  kernel.forMine(count / values, [&](Value number) {
    SmallVector<int64_t> sizes = innerSizes;
    if (values > 1)
      sizes.back() /= values;
    Indices own = delinearize(b, number, sizes);
    if (values > 1)
      own.back() = mulIndex(b, own.back(), values);
    for (auto [d, index] : llvm::zip(inner, own))
      at[d] = index;
    // All reads come before all writes, which may be to the same memory.
    SmallVector<std::pair<Indices, Value>> computed;
    for (int64_t i = 0; i < values; ++i) {
      Indices place = at;
      if (i != 0)
        place.back() = addIndex(b, place.back(), indexConstant(b, i));
      computed.push_back({place, kernel.elements().at(output.tensor, place)});
    }
    for (auto &[place, value] : computed)
      kernel.write(output, place, value);
  });
}

void SharedRowsStrategy::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  launch.needBlocks(rows());
  if (kernel.hasOneOutput())
    return emitRow(kernel);
  kernel.onlyIf(
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, launch.block(), indexConstant(b, rows())),
      [&] { emitRow(kernel); });
}

std::unique_ptr<LoweringStrategy> gantry::gpu::findSharedRows(const Output &output) {
  Sharing sharing = findSharing(output.tensor);
  if (sharing.kept.empty())
    return nullptr;
  return std::make_unique<SharedRowsStrategy>(output, std::move(sharing));
}
