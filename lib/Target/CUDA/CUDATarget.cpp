// What CUDA brings to the phases: the answers of its policy and the names of its pipelines.

#include "gantry/Target/CUDA/CUDATarget.h"

#include "EmitPTX.h"
#include "Fusion.h"
#include "Products/CoreTiles.h"
#include "Products/Filters.h"
#include "Products/LibraryProduct.h"
#include "gantry/Target/CUDA/Libraries.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

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

int64_t gantry::gpuArchNumber(StringRef arch) {
  int64_t number = 0;
  arch.drop_front(3).getAsInteger(10, number);
  return number;
}

int64_t gantry::oldestGPUArch(TargetAttr config) {
  if (!config || !config.getMachines() || config.getMachines().empty())
    return gpuArchNumber(kDefaultGPUArch);
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (auto arch : config.getMachines().getAsRange<StringAttr>())
    oldest = std::min(oldest, gpuArchNumber(arch.getValue()));
  return oldest;
}

int64_t gantry::oldestGPUArch(ModuleOp kernels) {
  return oldestGPUArch(kernels->getAttrOfType<TargetAttr>(kTargetAttr));
}

bool gantry::mayRoundToTF32(TargetAttr config) { return config && config.getMath() == Math::tf32; }

/// As large as products for tensor cores have to be; depthwise convolutions are not.
static bool fitsTensorCores(ConvOp conv) {
  constexpr int64_t fewestTerms = 16, fewestRows = gantry::gpu::kFewestCoreRows;
  ArrayRef<int64_t> filter = conv.getFilter().getType().getShape(),
                    result = conv.getType().getShape();
  const int64_t columns = result[0] * ShapedType::getNumElements(result.drop_front(2));
  return filter[0] / int64_t(conv.getGroups()) >= fewestRows && columns >= fewestRows &&
         ShapedType::getNumElements(filter.drop_front()) >= fewestTerms;
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

  /// By shapes, devices and architectures alone, never by what is fused.
  bool mayRound(Operation *op, DeviceType type, FloatType, TargetAttr config) const override {
    auto conv = dyn_cast<ConvOp>(op);
    return type == DeviceType::GPU && oldestGPUArch(config) >= kTensorCoreArch &&
           (conv ? fitsTensorCores(conv) : isa<MatmulOp>(op));
  }

  bool mayJoin(Operation *op, ArrayRef<Operation *> group, TargetAttr config) const override {
    return gantry::gpu::fitsGroup(op, group, config);
  }

  int64_t getPartsOfReduction(Operation *op) const override { return gantry::gpu::partsOfRows(op); }

  Attribute getLayoutOfConstant(KernelOp kernel, unsigned argument) const override {
    return gantry::gpu::layoutOfConstant(kernel, argument);
  }

  void buildKernelPipeline(OpPassManager &pm) const override { buildCUDAKernelPipeline(pm); }
  void buildCodePipeline(OpPassManager &pm) const override { buildNVVMPipeline(pm); }

  FailureOr<std::string> printCode(ModuleOp kernels, TargetAttr target, Text form) const override {
    return printGPUCode(kernels, archsOf(target).front(), form);
  }

  LogicalResult outlineCode(ModuleOp kernels, TargetAttr target, PlanCode &plan) const override {
    if (kernels.getOps<func::FuncOp>().empty())
      return success();
    FailureOr<bool> cubins = hasAssembler(kernels, newestFirst(target), plan.assembler());
    if (failed(cubins))
      return failure();
    addLibraries(kernels, plan);
    for (const std::string &arch : newestFirst(target))
      addTo(plan, kernels, arch, *cubins, {}, {});
    return success();
  }

  LogicalResult emitCode(ModuleOp kernels, TargetAttr target, PlanCode &plan) const override {
    FailureOr<std::vector<GPUCode>> codes =
        emitGPUCode(kernels, newestFirst(target), plan.assembler());
    if (failed(codes))
      return failure();
    addLibraries(kernels, plan);
    for (const GPUCode &code : *codes)
      addTo(plan, code.module, code.arch, !code.cubin.empty(), code.cubin,
            ArrayRef(code.ptx.data(), code.ptx.size()));
    return success();
  }

private:
  static std::vector<std::string> newestFirst(TargetAttr target) {
    std::vector<std::string> archs = archsOf(target);
    std::reverse(archs.begin(), archs.end());
    return archs;
  }

  /// First of all, where somebody has asked for them: what the machine lacks is passed over.
  static void addLibraries(ModuleOp kernels, PlanCode &plan) {
    kernels.walk([&](FunctionOpInterface func) {
      if (auto product = func->getAttrOfType<StringAttr>(kLibraryProductAttr))
        plan.addVariant(func.getName(), libraryVariant(product));
    });
  }

  static plan::ir::VariantAttr libraryVariant(StringAttr product) {
    const uint64_t scratch =
        gantry::gpu::scratchFor(*plan::MatrixProduct::parse(product.getValue()));
    return plan::ir::VariantAttr::get(
        product.getContext(), "cuda", FlatSymbolRefAttr(), StringRef(plan::matmulLibrary),
        StringRef(plan::oldestMatmulLibrary), false, product.getValue(), ArrayAttr(),
        DenseI64ArrayAttr(), 0, 0, scratch, DenseI64ArrayAttr(), DenseI64ArrayAttr(), 0);
  }

  /// Machine code first, which is for its architecture alone; PTX runs on all newer ones.
  static void addTo(PlanCode &plan, Operation *module, const std::string &name, bool hasCubin,
                    ArrayRef<char> cubin, ArrayRef<char> ptx) {
    const int64_t arch = gpuArchNumber(name);
    if (hasCubin)
      addTo(plan, module, plan.addObject(plan::ir::CodeKind::Cubin, name, {}, cubin), {arch, arch});
    addTo(plan, module, plan.addObject(plan::ir::CodeKind::PTX, name, {}, ptx), {arch, 0});
  }

  static void addTo(PlanCode &plan, Operation *module, FlatSymbolRefAttr object,
                    std::array<int64_t, 2> archs) {
    module->walk([&](FunctionOpInterface func) {
      if (func->hasAttr(kGridSizeAttr))
        plan.addVariant(func.getName(), variantOf(func, object, archs));
    });
  }

  static plan::ir::VariantAttr variantOf(Operation *func, FlatSymbolRefAttr object,
                                         ArrayRef<int64_t> archs) {
    MLIRContext *context = func->getContext();
    return plan::ir::VariantAttr::get(
        context, "cuda", object, "", "", false, "", ArrayAttr(),
        DenseI64ArrayAttr::get(context, archs), 0, 0, 0,
        extentOf(func->getAttrOfType<DenseI32ArrayAttr>(kGridSizeAttr)),
        extentOf(func->getAttrOfType<DenseI32ArrayAttr>(kBlockSizeAttr)), 0);
  }
};
} // namespace

void gantry::registerCUDATarget() { registerTarget(std::make_unique<CUDATarget>()); }
