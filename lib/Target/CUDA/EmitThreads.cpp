// Kernels of tensor ops as the code of GPU threads.
//
// A result is computed in one of two ways. *Elements*: a thread for some neighbouring elements,
// which it computes from all that they depend on (Elements.h). *Rows*: a block of threads for the
// elements that share reductions (Sharing.h); together the threads compute what is kept, one after
// the other, then the elements. Results of one kernel are computed one after the other, by the same
// threads.
//
// Sums over many terms are split among the threads of a block and added in a tree, in an order that
// depends on the shape alone.

#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"

#include "Launch.h"
#include "Sharing.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/Reshapes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_EMITTHREADSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Bytes that a thread reads or writes at once, where it can.
static constexpr int64_t kAccessBytes = 16;
/// A block adds up sums of at least so many terms together.
static constexpr int64_t kTermsForBlock = 32;

namespace {
/// Elements of a result, all of them or one piece of a joined one.
struct Output {
  Value tensor;
  unsigned result;              ///< of the kernel
  std::optional<unsigned> axis; ///< along which it is a piece
  int64_t start = 0;            ///< of the piece
  Sharing sharing;

  ArrayRef<int64_t> shape() const { return shapeOf(tensor); }
  int64_t count() const { return ShapedType::getNumElements(shape()); }
  bool isByRows() const { return !sharing.kept.empty(); }
  int64_t rows() const {
    int64_t rows = 1;
    for (unsigned d : sharing.rows)
      rows *= shape()[d];
    return rows;
  }
};

class KernelEmitter {
public:
  KernelEmitter(func::FuncOp func, ModuleOp module) : func(func), module(module) {}
  LogicalResult run();

private:
  LogicalResult checkOps();
  void findOutputs();
  int64_t chooseThreads();
  void provideArguments(const Output &output);
  void provideTables();
  void keepInPlace();

  void emitElements(const Output &output);
  void emitRows(const Output &output);
  void keep(const Output &output, const Kept &kept, ValueRange row);
  void addUp(const Kept &kept, Indices loops, ArrayRef<Value> stores, Value at);
  /// `values` elements one after the other, from number `first` on.
  void emitRun(const Output &output, Value first, int64_t values, ValueRange indices);

  /// The body for 0 <= i < count, by this thread and those of its block in turns.
  void forMine(int64_t count, function_ref<void(Value)> emit);
  void onlyIf(Value condition, function_ref<void()> emit);

  func::FuncOp func;
  ModuleOp module;
  std::vector<Output> outputs;
  std::optional<Launch> launch;
  std::optional<Elements> elements;
  Value linear; ///< number of the element that is being computed, in its result
  llvm::DenseMap<Type, Value> trees; ///< shared memory for sums, by type
};
} // namespace

//===----------------------------------------------------------------------===//
// What there is to compute
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::checkOps() {
  for (Operation &op : func.getBody().front()) {
    bool hasTensors = llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (hasTensors &&
        !isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp, tensor::PadOp,
             tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp,
             tensor::InsertSliceOp, tensor::InsertOp, tensor::ConcatOp, arith::ConstantOp>(op))
      return op.emitError("internal error: cannot be computed element by element");
  }
  return success();
}

void KernelEmitter::findOutputs() {
  for (auto [i, value] : llvm::enumerate(func.getBody().front().getTerminator()->getOperands())) {
    Value root = skipReshapes(value);
    auto joined = root.getDefiningOp<tensor::ConcatOp>();
    if (!joined) {
      outputs.push_back({root, unsigned(i), std::nullopt, 0, findSharing(root)});
      continue;
    }
    unsigned axis = joined.getDim();
    int64_t start = 0;
    for (Value piece : joined.getInputs()) {
      outputs.push_back({piece, unsigned(i), axis, start, findSharing(piece)});
      start += shapeOf(piece)[axis];
    }
  }
}

int64_t KernelEmitter::chooseThreads() {
  int64_t most = 1;
  bool byRows = llvm::any_of(outputs, [](const Output &output) { return output.isByRows(); });
  for (const Output &output : outputs) {
    if (!byRows) {
      most = std::max(most, output.count());
      continue;
    }
    most = std::max(most, output.count() / std::max<int64_t>(1, output.rows()));
    for (Kept kept : output.sharing.kept)
      most = std::max(most, ShapedType::getNumElements(kept.op.getStaticLoopRanges()) /
                                std::max<int64_t>(1, output.rows()));
  }
  return threadsFor(most);
}

//===----------------------------------------------------------------------===//
// Where elements come from
//===----------------------------------------------------------------------===//

void KernelEmitter::provideArguments(const Output &output) {
  ImplicitLocOpBuilder &b = launch->builder();
  Alignment alignment(output.tensor);
  Block &body = func.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    Value buffer = argument;
    auto type = cast<RankedTensorType>(argument.getType());
    // The argument will be a memref; until then a cast stands for that.
    auto cast = UnrealizedConversionCastOp::create(
        b, MemRefType::get(type.getShape(), type.getElementType()), buffer);
    Value memory = cast.getResult(0);
    if (alignment.isAligned(argument)) {
      Value line = flat(b, memory);
      elements->provide(argument, [this, line](ValueRange) -> Value {
        return memref::LoadOp::create(launch->builder(), line, linear);
      });
    } else {
      elements->provide(argument, [this, memory](ValueRange indices) -> Value {
        return memref::LoadOp::create(launch->builder(), memory, indices);
      });
    }
  }
}

/// Constants of different elements go into the module.
void KernelEmitter::provideTables() {
  ImplicitLocOpBuilder &b = launch->builder();
  unsigned number = 0;
  for (auto constant : func.getBody().front().getOps<arith::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || dense.isSplat() || dense.getNumElements() <= 1)
      continue;
    auto type = MemRefType::get(dense.getType().getShape(), dense.getElementType());
    std::string name = (func.getSymName() + "_table" + Twine(number++)).str();
    OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
    memref::GlobalOp::create(atEnd, constant.getLoc(), name, atEnd.getStringAttr("private"), type,
                             dense, /*constant=*/true, IntegerAttr());
    Value memory = memref::GetGlobalOp::create(b, type, name);
    elements->provide(constant, [this, memory](ValueRange indices) -> Value {
      return memref::LoadOp::create(launch->builder(), memory, indices);
    });
  }
}

/// A result may take the place of an argument of which each thread reads the element that it
/// writes, and no other.
void KernelEmitter::keepInPlace() {
  WorkAttr work = WorkAttr::of(func);
  SmallVector<int64_t> kept;
  if (work.getInPlace() && outputs.size() == 1 && !outputs.front().axis) {
    Alignment alignment(outputs.front().tensor);
    for (int64_t argument : work.getInPlace().asArrayRef())
      if (alignment.isAligned(func.getArgument(argument)))
        kept.push_back(argument);
  }
  if (work.getInPlace())
    func->setAttr(kWorkAttr, work.withInPlace(kept));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void KernelEmitter::onlyIf(Value condition, function_ref<void()> emit) {
  auto branch = scf::IfOp::create(launch->builder(), condition, /*withElseRegion=*/false);
  branch.thenBlock()->getTerminator()->erase();
  Elements::Region inside(*elements, branch.thenBlock());
  emit();
  scf::YieldOp::create(launch->builder());
}

void KernelEmitter::forMine(int64_t count, function_ref<void(Value)> emit) {
  ImplicitLocOpBuilder &b = launch->builder();
  int64_t threads = launch->threads();
  Value thread = launch->thread();
  if (count == threads)
    return emit(thread);
  if (count < threads)
    return onlyIf(
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, indexConstant(b, count)),
        [&] { emit(thread); });
  auto loop = scf::ForOp::create(b, thread, indexConstant(b, count), indexConstant(b, threads));
  loop.getBody()->getTerminator()->erase();
  Elements::Region inside(*elements, loop.getBody());
  emit(loop.getInductionVar());
  scf::YieldOp::create(b);
}

void KernelEmitter::emitRun(const Output &output, Value first, int64_t values, ValueRange indices) {
  ImplicitLocOpBuilder &b = launch->builder();
  Value buffer = launch->result(output.result);
  SmallVector<Value> computed;
  SmallVector<Indices> places;
  for (int64_t i = 0; i < values; ++i) {
    linear = addIndex(b, first, indexConstant(b, i));
    Indices at(indices.begin(), indices.end());
    if (indices.empty())
      at = delinearize(b, linear, output.shape());
    else if (i != 0)
      at.back() = addIndex(b, at.back(), indexConstant(b, i));
    computed.push_back(elements->at(output.tensor, at));
    places.push_back(at);
  }
  // All reads come before all writes, which may be to the same memory.
  Value line = output.axis ? Value() : flat(b, buffer);
  for (auto [i, value] : llvm::enumerate(computed)) {
    if (!output.axis) {
      memref::StoreOp::create(b, value, line, addIndex(b, first, indexConstant(b, i)));
      continue;
    }
    Value &moved = places[i][*output.axis];
    moved = addIndex(b, moved, indexConstant(b, output.start));
    memref::StoreOp::create(b, value, buffer, places[i]);
  }
}

/// How many neighbours a thread computes.
static int64_t valuesAtOnce(const Output &output) {
  int64_t bytes = std::max<int64_t>(1, elementOf(output.tensor).getIntOrFloatBitWidth() / 8);
  return kAccessBytes / bytes;
}

void KernelEmitter::emitElements(const Output &output) {
  ImplicitLocOpBuilder &b = launch->builder();
  int64_t count = output.count(), values = valuesAtOnce(output);
  if (count == 0)
    return;
  int64_t last = output.shape().empty() ? 1 : output.shape().back();
  // Few elements are better spread over many threads.
  if (count < values * launch->threads() * 8)
    values = 1;
  int64_t runs = (count + values - 1) / values;
  launch->needThreads(runs);
  Value run = launch->global();
  auto emitAll = [&] {
    Value first = mulIndex(b, run, values);
    if (values > 1 && last % values == 0) {
      // In runs, so that it is plain where they begin.
      SmallVector<int64_t> shape(output.shape());
      shape.back() /= values;
      Indices at = delinearize(b, run, shape);
      at.back() = mulIndex(b, at.back(), values);
      return emitRun(output, first, values, at);
    }
    if (count % values == 0)
      return emitRun(output, first, values, {});
    Value isWhole =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, run, indexConstant(b, count / values));
    onlyIf(isWhole, [&] { emitRun(output, first, values, {}); });
    Value isRest =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, run, indexConstant(b, count / values));
    onlyIf(isRest, [&] {
      auto loop = scf::ForOp::create(b, first, indexConstant(b, count), indexConstant(b, 1));
      loop.getBody()->getTerminator()->erase();
      Elements::Region inside(*elements, loop.getBody());
      emitRun(output, loop.getInductionVar(), 1, {});
      scf::YieldOp::create(b);
    });
  };
  // Threads behind the last run have nothing to do.
  if (runs % launch->threads() == 0 && outputs.size() == 1)
    return emitAll();
  onlyIf(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, run, indexConstant(b, runs)), emitAll);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

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
void KernelEmitter::addUp(const Kept &kept, Indices loops, ArrayRef<Value> stores, Value at) {
  ImplicitLocOpBuilder &b = launch->builder();
  linalg::GenericOp op = kept.op;
  Operation *last = joinOf(op);
  Type type = last->getResult(0).getType();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges(), terms;
  for (auto [loop, size] : llvm::zip(loops, sizes))
    if (!loop)
      terms.push_back(size);
  Value neutral = arith::ConstantOp::create(b, *::mlir::arith::getNeutralElement(last));
  auto sum =
      scf::ForOp::create(b, launch->thread(), indexConstant(b, ShapedType::getNumElements(terms)),
                         indexConstant(b, launch->threads()), neutral);
  {
    Elements::Region inside(*elements, sum.getBody());
    Indices term = delinearize(b, sum.getInductionVar(), terms), all = loops;
    size_t next = 0;
    for (Value &loop : all)
      if (!loop)
        loop = term[next++];
    scf::YieldOp::create(b, elements->step(op, all, sum.getRegionIterArgs()));
  }
  Value &tree = trees[type];
  if (!tree)
    tree = launch->allocate(launch->threads(), type, outputs.front().rows());
  Value thread = launch->thread();
  memref::StoreOp::create(b, sum.getResult(0), tree, thread);
  launch->barrier();
  for (int64_t half = launch->threads() / 2; half > 0; half /= 2) {
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, indexConstant(b, half));
    onlyIf(isFirst, [&] {
      Value mine = memref::LoadOp::create(b, tree, thread);
      Value other = memref::LoadOp::create(b, tree, addIndex(b, thread, indexConstant(b, half)));
      memref::StoreOp::create(b, join(b, last, mine, other), tree, thread);
    });
    launch->barrier();
  }
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, indexConstant(b, 0));
  onlyIf(isFirst, [&] {
    Value whole = memref::LoadOp::create(b, tree, indexConstant(b, 0));
    Value begin = elements->start(op, loops).front();
    memref::StoreOp::create(b, begin ? join(b, last, begin, whole) : whole, stores.front(), at);
  });
}

/// Computes what the block keeps of an op, one element for each index of its whole dimensions.
void KernelEmitter::keep(const Output &output, const Kept &kept, ValueRange row) {
  ImplicitLocOpBuilder &b = launch->builder();
  linalg::GenericOp op = kept.op;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  SmallVector<int64_t> local;
  for (auto [d, size] : llvm::zip(kept.dims, shape))
    if (d < 0)
      local.push_back(size);
  int64_t count = ShapedType::getNumElements(local);
  SmallVector<Value> stores;
  for (Value result : op->getResults())
    stores.push_back(launch->allocate(count, elementOf(result), output.rows()));

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
  if (count < launch->threads() && terms >= kTermsForBlock && joinOf(op)) {
    if (count == 1) {
      addUp(kept, loopsAt(indexConstant(b, 0)), stores, indexConstant(b, 0));
    } else {
      auto loop =
          scf::ForOp::create(b, indexConstant(b, 0), indexConstant(b, count), indexConstant(b, 1));
      loop.getBody()->getTerminator()->erase();
      Elements::Region inside(*elements, loop.getBody());
      addUp(kept, loopsAt(loop.getInductionVar()), stores, loop.getInductionVar());
      launch->barrier(); // before the next sum uses the tree
      scf::YieldOp::create(b);
    }
  } else {
    forMine(count, [&](Value number) {
      SmallVector<Value> values = elements->reduce(op, loopsAt(number));
      for (auto [value, store] : llvm::zip(values, stores))
        memref::StoreOp::create(b, value, store, number);
    });
  }
  launch->barrier();
  for (auto [result, store] : llvm::zip(op->getResults(), stores)) {
    auto read = [this, store, local, dims = kept.dims](ValueRange indices) -> Value {
      ImplicitLocOpBuilder &b = launch->builder();
      Indices own;
      for (auto [d, index] : llvm::zip(dims, indices))
        if (d < 0)
          own.push_back(index);
      return memref::LoadOp::create(b, store, linearize(b, own, local));
    };
    elements->provide(result, read);
  }
}

void KernelEmitter::emitRows(const Output &output) {
  ImplicitLocOpBuilder &b = launch->builder();
  int64_t rows = output.rows();
  launch->needBlocks(rows);
  auto emitAll = [&] {
    SmallVector<int64_t> rowSizes, innerSizes;
    SmallVector<unsigned> inner;
    for (unsigned d = 0; d < output.shape().size(); ++d)
      if (llvm::is_contained(output.sharing.rows, d))
        rowSizes.push_back(output.shape()[d]);
      else
        inner.push_back(d), innerSizes.push_back(output.shape()[d]);
    Indices row = delinearize(b, launch->block(), rowSizes), at(output.shape().size());
    for (auto [d, index] : llvm::zip(output.sharing.rows, row))
      at[d] = index;
    for (const Kept &kept : output.sharing.kept)
      keep(output, kept, at);
    bool rowsFirst =
        inner.empty() || output.sharing.rows.empty() || output.sharing.rows.back() < inner.front();
    int64_t count = ShapedType::getNumElements(innerSizes), values = valuesAtOnce(output);
    if (!rowsFirst || innerSizes.empty() || innerSizes.back() % values ||
        count < values * launch->threads())
      values = 1;
    forMine(count / values, [&](Value number) {
      SmallVector<int64_t> sizes = innerSizes;
      if (values > 1)
        sizes.back() /= values;
      Indices own = delinearize(b, number, sizes);
      if (values > 1)
        own.back() = mulIndex(b, own.back(), values);
      for (auto [d, index] : llvm::zip(inner, own))
        at[d] = index;
      Value first =
          rowsFirst ? addIndex(b, mulIndex(b, launch->block(), count), mulIndex(b, number, values))
                    : linearize(b, at, output.shape());
      emitRun(output, first, values, at);
    });
  };
  if (outputs.size() == 1)
    return emitAll();
  onlyIf(
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, launch->block(), indexConstant(b, rows)),
      emitAll);
}

LogicalResult KernelEmitter::run() {
  if (failed(checkOps()))
    return failure();
  findOutputs();
  keepInPlace();
  SmallVector<Type> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    results.push_back(skipReshapes(value).getType());
  unsigned arguments = func.getNumArguments();
  launch.emplace(func, results, chooseThreads());
  elements.emplace(launch->builder());
  provideTables();
  for (const Output &output : outputs) {
    provideArguments(output);
    if (output.isByRows())
      emitRows(output);
    else
      emitElements(output);
  }
  // Arguments are memrefs from here on.
  launch->finish();
  Block &body = func.getBody().front();
  for (unsigned i = 0; i < arguments; ++i) {
    BlockArgument argument = body.getArgument(i);
    auto type = cast<RankedTensorType>(argument.getType());
    argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      user->getResult(0).replaceAllUsesWith(argument);
      user->erase();
    }
  }
  func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
  return success();
}

namespace {
struct EmitThreads : gantry::impl::EmitThreadsPassBase<EmitThreads> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!func.isExternal() && !func->hasAttr(kBlockSizeAttr))
        if (failed(KernelEmitter(func, getOperation()).run()))
          return signalPassFailure();
  }
};
} // namespace
