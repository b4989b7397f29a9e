// Moves the code of threads to where it is lowered: kernels of gpu modules. Those whose elements 32
// bits can number are apart from the others, because the width of an index is a module's. Modules
// are small, so that threads share the work of making code of them, here and where a driver does.

#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

/// Largest number that indices, and the products that lead to them, reach in a narrow module.
static constexpr int64_t kMostNarrow = int64_t(1) << 30;

static bool isNarrow(func::FuncOp func) {
  auto fits = [](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    return !buffer || buffer.getNumElements() < kMostNarrow;
  };
  bool narrow = llvm::all_of(func.getArgumentTypes(), fits);
  // Loops may run longer than any buffer is.
  func.walk([&](arith::ConstantIndexOp constant) { narrow &= constant.value() < kMostNarrow; });
  return narrow;
}

/// Kernels of a module; more are cut into modules of about equal size.
static constexpr size_t kMostKernels = 8;

namespace {
struct OutlineKernels : gantry::impl::OutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> narrow, wide;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kBlockSizeAttr))
        (isNarrow(func) ? narrow : wide).push_back(func);
    outlineInBatches(narrow, kNarrowModule);
    outlineInBatches(wide, kWideModule);
    // Tables belong to the module that reads them.
    for (auto table : llvm::make_early_inc_range(getOperation().getOps<memref::GlobalOp>())) {
      for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
        if (!SymbolTable::symbolKnownUseEmpty(table.getSymNameAttr(), module))
          OpBuilder::atBlockBegin(module.getBody()).clone(*table);
      table.erase();
    }
  }

  /// Which batch a kernel is in depends on the kernels alone.
  void outlineInBatches(ArrayRef<func::FuncOp> kernels, StringRef name) {
    size_t batches = llvm::divideCeil(kernels.size(), kMostKernels);
    for (size_t batch = 0; batch < batches; ++batch) {
      OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
      std::string numbered = batch == 0 ? name.str() : (name + "_" + Twine(batch)).str();
      auto module = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), numbered);
      for (size_t i = batch * kernels.size() / batches; i < (batch + 1) * kernels.size() / batches;
           ++i)
        outline(kernels[i], module);
    }
  }

  void outline(func::FuncOp func, gpu::GPUModuleOp module) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<memref::AllocOp> shared(func.getBody().getOps<memref::AllocOp>());
    SmallVector<Type> sharedTypes;
    for (memref::AllocOp alloc : shared)
      sharedTypes.push_back(alloc.getType());
    auto kernel = gpu::GPUFuncOp::create(builder, func.getLoc(), func.getSymName(),
                                         func.getFunctionType(), sharedTypes);
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    kernel.setKnownBlockSizeAttr(func->getAttrOfType<DenseI32ArrayAttr>(kBlockSizeAttr));
    kernel.setKnownGridSizeAttr(func->getAttrOfType<DenseI32ArrayAttr>(kGridSizeAttr));
    if (Attribute product = func->getAttr(kLibraryProductAttr))
      kernel->setAttr(kLibraryProductAttr, product);
    if (ArrayAttr attributes = func.getAllArgAttrs())
      kernel.setAllArgAttrs(attributes);
    Block &from = func.getBody().front(), &to = kernel.getBody().front();
    for (auto [alloc, memory] : llvm::zip(shared, kernel.getWorkgroupAttributions())) {
      alloc.replaceAllUsesWith(Value(memory));
      alloc.erase();
    }
    for (auto [old, argument] : llvm::zip(from.getArguments(), to.getArguments()))
      old.replaceAllUsesWith(argument);
    to.getOperations().splice(to.end(), from.getOperations());
    Operation *end = to.getTerminator();
    OpBuilder atEnd(end);
    gpu::ReturnOp::create(atEnd, end->getLoc());
    end->erase();
    func.erase();
  }
};
} // namespace
