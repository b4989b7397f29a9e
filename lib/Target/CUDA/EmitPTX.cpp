// From gpu modules in the LLVM dialect to PTX: translate, optimise, generate code.

#include "EmitPTX.h"

#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/FatalErrors.h"
#include "gantry/Target/Optimize.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

using namespace mlir;
using namespace gantry;

ArrayRef<StringRef> gantry::knownGPUArchs() {
  static const StringRef known[] = {"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
                                    "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
  return known;
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(StringRef arch) {
  static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // What is one operation was written as one.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, arch, "", options, llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
}

static void registerTranslations(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

/// Upstream's conversion calls libdevice for what is one instruction with one rounding, or none.
/// Here it becomes that instruction; other functions are arithmetic long since.
static void inlineDeviceFunctions(llvm::Module &module) {
  namespace Intrinsic = llvm::Intrinsic;
  static const std::pair<StringRef, Intrinsic::ID> instructions[] = {
      {"fabs", Intrinsic::fabs}, {"sqrt", Intrinsic::sqrt},        {"floor", Intrinsic::floor},
      {"ceil", Intrinsic::ceil}, {"trunc", Intrinsic::trunc},      {"rint", Intrinsic::roundeven},
      {"fma", Intrinsic::fma},   {"copysign", Intrinsic::copysign}};
  for (auto [name, instruction] : instructions)
    for (StringRef suffix : {"f", ""})
      if (llvm::Function *called = module.getFunction(("__nv_" + name + suffix).str())) {
        called->replaceAllUsesWith(
            Intrinsic::getOrInsertDeclaration(&module, instruction, {called->getReturnType()}));
        called->eraseFromParent();
      }
}

/// Of an array without an alignment LLVM's passes assume the one that it would like, and the NVPTX
/// back end writes the one that it has to have.
///
/// An array that does not end where an access of 16 bytes may end has the alignment of its
/// elements, or LLVM would read four of them where three are left.
static void alignSharedMemory(llvm::Module &module) {
  constexpr unsigned shared = 3, access = 16;
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::GlobalVariable &variable : module.globals()) {
    llvm::Type *type = variable.getValueType();
    if (variable.getAddressSpace() != shared)
      continue;
    bool isWhole = layout.getTypeAllocSize(type) % access == 0;
    variable.setAlignment(isWhole ? llvm::Align(access) : layout.getABITypeAlign(type));
  }
}

static FailureOr<std::string> emitModule(::mlir::gpu::GPUModuleOp module,
                                         llvm::TargetMachine &machine, Target::Text form) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, module.getName());
  if (!code)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  inlineDeviceFunctions(*code);
  alignSharedMemory(*code);
  optimizeModule(*code, machine, llvm::PipelineTuningOptions());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  if (form == Target::Text::llvm) {
    code->print(stream, nullptr);
    return std::string(text);
  }
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("internal error: this LLVM cannot write PTX");
  passes.run(*code);
  return std::string(text);
}

FailureOr<std::vector<std::string>> gantry::emitPTX(ModuleOp kernels, StringRef arch,
                                                    Target::Text form) {
  registerTranslations(*kernels.getContext());
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(arch);
  if (!machine)
    return kernels.emitError("internal error: this LLVM makes no code for NVIDIA GPUs");
  std::vector<std::string> texts;
  for (auto module : kernels.getOps<::mlir::gpu::GPUModuleOp>()) {
    FailureOr<std::string> text = failure();
    if (auto fatal = runGuarded([&] { text = emitModule(module, *machine, form); }))
      return module.emitError("internal error: LLVM gave up making PTX: ") << *fatal;
    if (failed(text))
      return failure();
    texts.push_back(std::move(*text));
  }
  return texts;
}
