// By shared rows, the general way for elements that share reductions (Sharing.h): a block takes the
// elements that agree in some dimensions. Its threads compute what is kept together, one thing
// after the other, into memory of the block, then the elements.
//
// Sums over many terms are split among the threads of a block and added in a tree, in an order that
// depends on the shape alone.

#include "Kernel.h"

#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// A block adds up sums of at least so many terms together.
static constexpr int64_t kTermsForBlock = 32;

namespace {
class SharedRowsWay : public Way {
public:
  SharedRowsWay(const Output &output, Sharing sharing) : Way(output), sharing(std::move(sharing)) {}
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
  void addUp(KernelEmitter &kernel, const Kept &kept, Indices loops, ArrayRef<Value> stores,
             Value at);

  Sharing sharing;
  llvm::DenseMap<Type, Value> trees; ///< shared memory for sums, by type
};
} // namespace

int64_t SharedRowsWay::threads() const {
  int64_t own = std::max<int64_t>(1, rows()), most = output.count() / own;
  for (Kept kept : sharing.kept)
    most = std::max(most, ShapedType::getNumElements(kept.op.getStaticLoopRanges()) / own);
  return threadsFor(most);
}

/// The op that joins two partial sums of a reduction with one result, or null.
static Operation *joinOf(linalg::GenericOp op) {
  if (op->getNumResults() != 1)
    return nullptr;
  Operation *last = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument soFar = op.getRegionOutputArgs().front();
  if (!last || last->getNumOperands() != 2 || !soFar.hasOneUse() || *soFar.user_begin() != last ||
      !::mlir::arith::getNeutralElement(last))
    return nullptr;
  return last;
}

static Value join(ImplicitLocOpBuilder &b, Operation *op, Value x, Value y) {
  Operation *copy = b.clone(*op);
  copy->setOperands({x, y});
  return copy->getResult(0);
}

/// Each thread adds up every n-th term; then halves are added to halves.
void SharedRowsWay::addUp(KernelEmitter &kernel, const Kept &kept, Indices loops,
                          ArrayRef<Value> stores, Value at) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  Elements &elements = kernel.elements();
  linalg::GenericOp op = kept.op;
  Operation *last = joinOf(op);
  Type type = last->getResult(0).getType();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges(), terms;
  for (auto [loop, size] : llvm::zip(loops, sizes))
    if (!loop)
      terms.push_back(size);
  Value neutral = arith::ConstantOp::create(b, *::mlir::arith::getNeutralElement(last));
  auto sum =
      scf::ForOp::create(b, launch.thread(), indexConstant(b, ShapedType::getNumElements(terms)),
                         indexConstant(b, launch.threads()), neutral);
  {
    Elements::Region inside(elements, sum.getBody());
    Indices term = delinearize(b, sum.getInductionVar(), terms), all = loops;
    size_t next = 0;
    for (Value &loop : all)
      if (!loop)
        loop = term[next++];
    scf::YieldOp::create(b, elements.step(op, all, sum.getRegionIterArgs()));
  }
  Value &tree = trees[type];
  if (!tree)
    tree = launch.allocate(launch.threads(), type, rows());
  Value thread = launch.thread();
  memref::StoreOp::create(b, sum.getResult(0), tree, thread);
  launch.barrier();
  auto isBelow = [&](int64_t end) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, indexConstant(b, end));
  };
  for (int64_t half = launch.threads() / 2; half > 0; half /= 2) {
    kernel.onlyIf(isBelow(half), [&] {
      Value mine = memref::LoadOp::create(b, tree, thread);
      Value other = memref::LoadOp::create(b, tree, addIndex(b, thread, indexConstant(b, half)));
      memref::StoreOp::create(b, join(b, last, mine, other), tree, thread);
    });
    launch.barrier();
  }
  kernel.onlyIf(isBelow(1), [&] {
    Value whole = memref::LoadOp::create(b, tree, indexConstant(b, 0));
    Value begin = elements.start(op, loops).front();
    memref::StoreOp::create(b, begin ? join(b, last, begin, whole) : whole, stores.front(), at);
  });
}

/// Computes what the block keeps of an op, one element for each index of its whole dimensions.
void SharedRowsWay::keep(KernelEmitter &kernel, const Kept &kept, ValueRange row) {
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
  int64_t terms = ShapedType::getNumElements(op.getStaticLoopRanges()) /
                  std::max<int64_t>(1, ShapedType::getNumElements(shape));
  if (count < launch.threads() && terms >= kTermsForBlock && joinOf(op)) {
    if (count == 1)
      addUp(kernel, kept, loopsAt(indexConstant(b, 0)), stores, indexConstant(b, 0));
    else
      kernel.loop(indexConstant(b, 0), count, 1, [&](Value number) {
        addUp(kernel, kept, loopsAt(number), stores, number);
        launch.barrier(); // before the next sum uses the tree
      });
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

void SharedRowsWay::emitRow(KernelEmitter &kernel) {
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

void SharedRowsWay::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  launch.needBlocks(rows());
  if (kernel.hasOneOutput())
    return emitRow(kernel);
  kernel.onlyIf(
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, launch.block(), indexConstant(b, rows())),
      [&] { emitRow(kernel); });
}

std::unique_ptr<Way> gantry::gpu::findSharedRows(const Output &output) {
  Sharing sharing = findSharing(output.tensor);
  if (sharing.kept.empty())
    return nullptr;
  return std::make_unique<SharedRowsWay>(output, std::move(sharing));
}
