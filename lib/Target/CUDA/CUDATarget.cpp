// What CUDA brings to the phases: the answers of its policy and the names of its pipelines.

#include "gantry/Target/CUDA/CUDATarget.h"

#include "EmitPTX.h"
#include "gantry/Target/FusionPolicy.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;

/// The architectures that a module of kernels is for, oldest first.
static std::vector<std::string> archsOf(TargetAttr target) {
  std::vector<std::string> archs;
  if (target.getMachines())
    for (auto name : target.getMachines().getAsRange<StringAttr>())
      archs.push_back(name.str());
  if (archs.empty())
    archs.push_back(kDefaultGPUArch.str());
  return archs;
}

static int64_t numberOf(StringRef arch) {
  int64_t number = 0;
  arch.drop_front(3).getAsInteger(10, number);
  return number;
}

static DenseI64ArrayAttr extentOf(DenseI32ArrayAttr size) {
  SmallVector<int64_t> wide(size.asArrayRef());
  return DenseI64ArrayAttr::get(size.getContext(), wide);
}

namespace {
struct CUDATarget : Target {
  StringRef getName() const override { return kCUDATarget; }

  ArrayRef<StringRef> getDrivers() const override {
    static const StringRef drivers[] = {"cuda"};
    return drivers;
  }

  bool mayJoin(Operation *op, ArrayRef<Operation *> group) const override {
    // A line's kernel has no room for what would follow.
    return !isa<CumsumOp>(op) && fitsElementwiseGroup(op, group);
  }

  void buildKernelPipeline(OpPassManager &pm) const override { buildCUDAKernelPipeline(pm); }
  void buildCodePipeline(OpPassManager &pm) const override { buildNVVMPipeline(pm); }

  FailureOr<std::string> printCode(ModuleOp kernels, TargetAttr target, Text form) const override {
    FailureOr<std::vector<std::string>> texts = emitPTX(kernels, archsOf(target).front(), form);
    if (failed(texts))
      return failure();
    return llvm::join(*texts, "\n");
  }

  /// PTX of an architecture runs on it and on all newer ones.
  LogicalResult emitCode(ModuleOp kernels, TargetAttr target, PlanCode &code) const override {
    const std::vector<std::string> archs = archsOf(target);
    for (const std::string &arch : llvm::reverse(archs)) {
      FailureOr<std::vector<std::string>> texts = emitPTX(kernels, arch, Text::ptx);
      if (failed(texts))
        return failure();
      for (auto [module, text] : llvm::zip(kernels.getOps<::mlir::gpu::GPUModuleOp>(), *texts)) {
        FlatSymbolRefAttr object = code.addObject(commands::CodeKind::PTX, arch, {},
                                                  ArrayRef<char>(text.data(), text.size()));
        module.walk([&](LLVM::LLVMFuncOp func) {
          if (func->hasAttr(kGridSizeAttr))
            code.addVariant(func.getSymName(), variantOf(func, object, numberOf(arch)));
        });
      }
    }
    return success();
  }

  static commands::VariantAttr variantOf(LLVM::LLVMFuncOp func, FlatSymbolRefAttr object,
                                         int64_t arch) {
    MLIRContext *context = func.getContext();
    return commands::VariantAttr::get(
        context, "cuda", object, "", "", false, "", ArrayAttr(),
        DenseI64ArrayAttr::get(context, {arch, 0}), 0, 0, 0,
        extentOf(func->getAttrOfType<DenseI32ArrayAttr>(kGridSizeAttr)),
        extentOf(func->getAttrOfType<DenseI32ArrayAttr>(kBlockSizeAttr)), 0);
  }
};
} // namespace

void gantry::registerCUDATarget() { registerTarget(std::make_unique<CUDATarget>()); }
