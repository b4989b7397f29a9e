// Kernels of tensor ops as the code of GPU threads: which way computes which output, and what all
// of them have in common (Kernel.h).

#include "Kernel.h"

#include "Products/Filters.h"
#include "Products/LibraryProduct.h"

#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/Reshapes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_EMITTHREADSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// The ways of computing an output, the first that applies is taken.
static constexpr std::unique_ptr<LoweringStrategy> (*kLoweringStrategies[])(const Output &) = {
    findAttentionStrategy, findTiles, findTeams, findSharedRows, findSharedTranspose, findElements};

static std::unique_ptr<LoweringStrategy> findStrategy(const Output &output) {
  for (auto find : kLoweringStrategies)
    if (std::unique_ptr<LoweringStrategy> strategy = find(output))
      return strategy;
  llvm_unreachable("elements can always be computed one by one");
}

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
      outputs.emplace_back(root, unsigned(i), std::nullopt);
      continue;
    }
    unsigned axis = joined.getDim();
    int64_t start = 0;
    for (Value piece : joined.getInputs()) {
      outputs.emplace_back(piece, unsigned(i), axis, start);
      start += shapeOf(piece)[axis];
    }
  }
  auto config = module->getAttrOfType<TargetAttr>(kTargetAttr);
  const std::optional<int64_t> stages = TargetsAttr::of(module).getStages();
  for (Output &output : outputs) {
    output.isOnly = outputs.size() == 1;
    output.arch = oldestGPUArch(config);
    output.mayBeTF32 = mayRoundToTF32(config);
    output.stages = stages;
  }
}

//===----------------------------------------------------------------------===//
// Where elements come from, and go
//===----------------------------------------------------------------------===//

/// The argument will be a memref; until then a cast stands for that.
Value KernelEmitter::memoryOf(unsigned i) {
  BlockArgument argument = func.getBody().front().getArgument(i);
  auto type = cast<RankedTensorType>(argument.getType());
  auto cast = UnrealizedConversionCastOp::create(
      builder(), MemRefType::get(type.getShape(), type.getElementType()), Value(argument));
  return cast.getResult(0);
}

void KernelEmitter::provideInLine(const Output &output, const Value &linear) {
  Alignment alignment(output.tensor);
  for (BlockArgument argument : func.getBody().front().getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()) || !alignment.isAligned(argument))
      continue;
    Value line = flat(builder(), memoryOf(argument.getArgNumber()));
    elements().provide(argument, [this, line, &linear](ValueRange) -> Value {
      return memref::LoadOp::create(builder(), line, linear);
    });
  }
}

/// Constants that lie in a layout of their own.
void KernelEmitter::providePacked(BlockArgument argument, Value memory) {
  Value line = flat(builder(), memory);
  SmallVector<int64_t> strides = stridesOfArgument(argument);
  elements().provide(argument, [this, line, strides](ValueRange indices) -> Value {
    Value place = indexConstant(builder(), 0);
    for (auto [index, stride] : llvm::zip(indices, strides))
      if (stride != 0)
        place = addIndex(builder(), place, mulIndex(builder(), index, stride));
    return memref::LoadOp::create(builder(), line, place);
  });
}

void KernelEmitter::provideInputs() {
  elements().forget();
  auto provide = [&](Value tensor, Value memory) {
    elements().provide(tensor, [this, memory](ValueRange indices) -> Value {
      return memref::LoadOp::create(builder(), memory, indices);
    });
  };
  for (BlockArgument argument : func.getBody().front().getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    Value memory = memoryOf(argument.getArgNumber());
    if (isPacked(argument))
      providePacked(argument, memory);
    else
      provide(argument, memory);
  }
  for (auto [constant, memory] : tables)
    provide(constant, memory);
}

Value KernelEmitter::makeTable(DenseElementsAttr elements) {
  auto type = MemRefType::get(elements.getType().getShape(), elements.getElementType());
  std::string name = (func.getSymName() + "_table" + Twine(numTables++)).str();
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  memref::GlobalOp::create(atEnd, func.getLoc(), name, atEnd.getStringAttr("private"), type,
                           elements, /*constant=*/true, atEnd.getI64IntegerAttr(kTableAlignment));
  return memref::GetGlobalOp::create(builder(), type, name);
}

/// Constants of different elements go into the module.
void KernelEmitter::makeTables() {
  for (auto constant : func.getBody().front().getOps<arith::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && !dense.isSplat() && dense.getNumElements() > 1)
      tables.push_back({constant, makeTable(dense)});
  }
}

void KernelEmitter::write(const Output &output, ValueRange indices, Value value) {
  Indices at(indices.begin(), indices.end());
  if (output.axis)
    at[*output.axis] =
        addIndex(builder(), at[*output.axis], indexConstant(builder(), output.start));
  memref::StoreOp::create(builder(), value, launch().result(output.result), at);
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
// Control flow
//===----------------------------------------------------------------------===//

void KernelEmitter::forMine(int64_t count, function_ref<void(Value)> emit) {
  ImplicitLocOpBuilder &b = builder();
  Value thread = launch().thread();
  if (count == launch().threads())
    return emit(thread);
  if (count > launch().threads())
    return loops().loop(thread, count, launch().threads(), emit);
  onlyIf(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, indexConstant(b, count)),
         [&] { emit(thread); });
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Arguments are memrefs once nothing needs their tensors.
void KernelEmitter::replaceArguments(unsigned count) {
  Block &body = func.getBody().front();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = body.getArgument(i);
    auto type = cast<RankedTensorType>(argument.getType());
    argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      user->getResult(0).replaceAllUsesWith(argument);
      user->erase();
    }
  }
  func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
}

LogicalResult KernelEmitter::run() {
  if (failed(checkOps()))
    return failure();
  findOutputs();
  keepInPlace();
  std::vector<std::unique_ptr<LoweringStrategy>> strategies;
  int64_t threads = kWarp;
  for (const Output &output : outputs) {
    strategies.push_back(findStrategy(output));
    threads = std::max(threads, strategies.back()->threads());
  }
  SmallVector<Type> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands())
    results.push_back(skipReshapes(value).getType());
  unsigned arguments = func.getNumArguments();
  theLaunch.emplace(func, results, threads);
  theElements.emplace(builder());
  makeTables();
  for (std::unique_ptr<LoweringStrategy> &strategy : strategies) {
    provideInputs();
    strategy->emit(*this);
  }
  launch().finish();
  replaceArguments(arguments);
  if (auto product = func->getAttrOfType<StringAttr>(kLibraryProductAttr)) {
    if (WorkAttr::of(func).getScratch() != 0)
      return func.emitError("internal error: a library's product has scratch memory of its own");
    addWorkspace(func, *plan::MatrixProduct::parse(product.getValue()));
  }
  return success();
}

namespace {
struct EmitThreads : gantry::impl::EmitThreadsPassBase<EmitThreads> {
  /// Tensor cores have instructions of these dialects, whose headers are heavy.
  void getDependentDialects(DialectRegistry &registry) const override {
    EmitThreadsPassBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }

  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!func.isExternal() && !func->hasAttr(kBlockSizeAttr))
        if (failed(KernelEmitter(func, getOperation()).run()))
          return signalPassFailure();
  }
};
} // namespace
