// What the CPU brings to the phases: the answers of its policy and the names of its pipelines.

#include "gantry/Target/CPU/CPUTarget.h"

#include "Convolutions/Pairs.h"
#include "Convolutions/Transposed.h"
#include "EmitCode.h"
#include "Fusion.h"
#include "Machine.h"
#include "Products/Panels.h"
#include "gantry/Analysis/InPlace.h"
#include "gantry/Target/CPU/Passes.h"

using namespace mlir;
using namespace gantry;

namespace {
struct CPUTarget : Target {
  StringRef getName() const override { return kCPUTarget; }

  ArrayRef<StringRef> getDrivers() const override {
    static const StringRef drivers[] = {"host", "sim"};
    return drivers;
  }

  /// GPUs that it stands for keep f32.
  bool mayRound(Operation *op, DeviceType type, FloatType element, TargetAttr) const override {
    auto conv = dyn_cast<ConvOp>(op);
    return type == DeviceType::CPU && element.isBF16() &&
           (conv ? hasPairs(conv) : isa<MatmulOp>(op));
  }

  void replaceByConvolution(Operation *op, DeviceType type, FloatType element) const override {
    if (type != DeviceType::CPU || !element.isBF16())
      return;
    if (auto transposed = dyn_cast<ConvTransposeOp>(op))
      gantry::replaceByConvolution(transposed);
    else if (auto filter = dyn_cast<ConvFilterGradOp>(op))
      gantry::replaceByConvolution(filter);
  }

  bool mayJoin(Operation *op, ArrayRef<Operation *> group, TargetAttr) const override {
    return cpu::mayJoin(op, group);
  }

  bool mayMerge(ArrayRef<Operation *> first, ArrayRef<Operation *> second) const override {
    return cpu::mayMerge(first, second);
  }

  int64_t getPartsOfReduction(Operation *op) const override { return cpu::partsOfReduction(op); }

  /// All that gantry-keep-in-place may find.
  SmallVector<InPlace> getArgumentsToOverwrite(KernelOp kernel) const override {
    return argumentsLikeResults(kernel);
  }

  Attribute getLayoutOfConstant(KernelOp kernel, unsigned argument) const override {
    return cpu::layoutOfConstant(kernel, argument);
  }

  Attribute getLayoutOfComputed(KernelOp kernel, unsigned argument) const override {
    return cpu::layoutOfComputed(kernel, argument);
  }

  bool canReadLayout(KernelOp kernel, unsigned argument, Attribute layout) const override {
    return cpu::canPickFromPanels(kernel, argument, layout);
  }

  void buildKernelPipeline(OpPassManager &pm) const override { buildCPUKernelPipeline(pm); }

  void buildCallPipeline(OpPassManager &pm) const override {
    // Kernels were made before it was known which of them update a buffer in place.
    pm.addPass(createShareArgumentsPass());
  }

  void buildCodePipeline(OpPassManager &pm) const override { buildLLVMPipeline(pm); }

  FailureOr<std::string> printCode(ModuleOp kernels, TargetAttr target, Text form) const override {
    if (form != Text::llvm)
      return std::string();
    return printLLVMIR(kernels, machinesOf(target).front());
  }

  LogicalResult outlineCode(ModuleOp kernels, TargetAttr target, PlanCode &code) const override {
    return addCode(kernels, target, code, [&](ArrayRef<std::string>, const std::string &machine) {
      return outlineCPUCode(kernels, machine);
    });
  }

  LogicalResult emitCode(ModuleOp kernels, TargetAttr target, PlanCode &code) const override {
    return addCode(kernels, target, code,
                   [&](ArrayRef<std::string> symbols, const std::string &machine) {
                     return emitCPUCode(kernels, symbols, machine);
                   });
  }

private:
  using Maker =
      function_ref<FailureOr<CPUCode>(ArrayRef<std::string> symbols, const std::string &machine)>;

  /// An object for each CPU; the simulator's devices run the host's.
  LogicalResult addCode(ModuleOp kernels, TargetAttr target, PlanCode &code, Maker make) const {
    std::vector<std::string> symbols;
    SymbolTable here(kernels);
    for (const std::string &name : code.kernels())
      if (here.lookup(name))
        symbols.push_back(name);
    if (symbols.empty())
      return success();
    for (const std::string &machine : machinesOf(target)) {
      FailureOr<CPUCode> made = make(symbols, machine);
      if (failed(made))
        return failure();
      auto object = code.addObject(plan::ir::CodeKind::ElfSharedObject, made->target,
                                   made->features, made->sharedObject);
      for (const std::string &symbol : symbols)
        for (StringRef driver : code.drivers())
          if (llvm::is_contained(getDrivers(), driver))
            code.addVariant(symbol,
                            plan::ir::VariantAttr::get(kernels.getContext(), driver, object));
    }
    return success();
  }
};
} // namespace

void gantry::registerCPUTarget() { registerTarget(std::make_unique<CPUTarget>()); }
