// Moves the code of threads to where it is lowered: kernels of gpu modules, one for those whose
// elements 32 bits can number and one for the others, because the width of an index is a module's.

#include "gantry/Target/CUDA/CUDATarget.h"
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

namespace {
struct OutlineKernels : gantry::impl::OutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func->hasAttr(kBlockSizeAttr))
        outline(func);
    // Tables belong to the module that reads them.
    for (auto table : llvm::make_early_inc_range(getOperation().getOps<memref::GlobalOp>())) {
      for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
        if (!SymbolTable::symbolKnownUseEmpty(table.getSymNameAttr(), module))
          OpBuilder::atBlockBegin(module.getBody()).clone(*table);
      table.erase();
    }
  }

  gpu::GPUModuleOp moduleFor(func::FuncOp func) {
    StringRef name = isNarrow(func) ? "narrow" : "wide";
    if (auto module = getOperation().lookupSymbol<gpu::GPUModuleOp>(name))
      return module;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    return gpu::GPUModuleOp::create(builder, getOperation().getLoc(), name);
  }

  void outline(func::FuncOp func) {
    gpu::GPUModuleOp module = moduleFor(func);
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
