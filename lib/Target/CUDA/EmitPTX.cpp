// From gpu modules in the LLVM dialect to PTX and machine code: translate, optimise, generate code,
// assemble; each module for each architecture by itself, in parallel.

#include "EmitPTX.h"

#include "Assemble.h"
#include "gantry/Device/GPUArch.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/EmitParts.h"
#include "gantry/Target/FatalErrors.h"
#include "gantry/Target/MadeCode.h"
#include "gantry/Target/Optimize.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
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
  static const auto names = llvm::map_to_vector(gpuArchs, gpuArchName);
  static const SmallVector<StringRef> known(names.begin(), names.end());
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

/// Without a number of blocks that a multiprocessor is to hold, ptxas saves registers for more of
/// them, by a word or two in memory of the thread.
static void allowAllRegisters(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      function.addFnAttr("nvvm.minctasm", "1");
}

/// Tables are of a module, but the modules of a plan can be read as one text.
static void makeNamesUnique(llvm::Module &module) {
  constexpr unsigned shared = 3; // begins with the name of its kernel
  for (llvm::GlobalVariable &variable : module.globals())
    if (variable.hasLocalLinkage() && variable.getAddressSpace() != shared)
      variable.setName(variable.getName() + "_" + module.getName());
}

static FailureOr<CodeBytes> generateCode(::mlir::gpu::GPUModuleOp module, llvm::Module &code,
                                         llvm::TargetMachine &machine, Target::Text form) {
  optimizeModule(code, machine, llvm::PipelineTuningOptions());
  makeNamesUnique(code);
  CodeBytes text;
  llvm::raw_svector_ostream stream(text);
  if (form == Target::Text::llvm) {
    code.print(stream, nullptr);
    return text;
  }
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("internal error: this LLVM cannot write PTX");
  passes.run(code);
  return text;
}

static FailureOr<std::string> emitModule(::mlir::gpu::GPUModuleOp module, StringRef arch,
                                         Target::Text form) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(arch);
  if (!machine)
    return module.emitError("internal error: this LLVM makes no code for NVIDIA GPUs");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, module.getName());
  if (!code)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  inlineDeviceFunctions(*code);
  alignSharedMemory(*code);
  allowAllRegisters(*code);
  auto generate = [&] { return generateCode(module, *code, *machine, form); };
  std::string made =
      (arch + (form == Target::Text::llvm ? " llvm " : " ptx ") + module.getName()).str();
  FailureOr<CodeBytes> text = makeCodeOnce(keyOfCode(*code, made), generate);
  if (failed(text))
    return failure();
  return std::string(text->begin(), text->end());
}

static FailureOr<std::string> emitModuleGuarded(::mlir::gpu::GPUModuleOp module, StringRef arch,
                                                Target::Text form) {
  FailureOr<std::string> text = failure();
  if (Status fatal = runGuarded([&] { text = emitModule(module, arch, form); }); !fatal.ok())
    return emitFatal(module.getLoc(), "PTX for " + arch.str(), fatal);
  return text;
}

//===----------------------------------------------------------------------===//
// For a plan
//===----------------------------------------------------------------------===//

static LogicalResult diagnoseNoCubins(Location loc, const Assembler &assembler, StringRef arch,
                                      const Status &status) {
  if (assembler.use == Assembler::Use::required) {
    auto error = emitError(loc) << "no machine code for " << arch << ": " << status.message();
    setStatusCode(*error.getUnderlyingDiagnostic(), status.code());
    return error;
  }
  emitRemark(loc) << "no machine code for " << arch
                  << ", which leaves it to the driver: " << status.message();
  return success();
}

static Expected<Ptxas> startPtxas(const Assembler &assembler) {
  if (assembler.program.empty())
    return Status::unavailable("no ptxas was found in the folders of PATH, in $CUDA_HOME/bin or in "
                               "/usr/local/cuda/bin; GANTRY_PTXAS names one");
  return Ptxas::start(assembler);
}

/// For an architecture there is machine code of all modules or of none, so that what a plan has
/// does not depend on which of several programs failed.
static LogicalResult checkCubins(Location loc, const Assembler &assembler,
                                 MutableArrayRef<GPUCode> codes, ArrayRef<Status> statuses) {
  llvm::StringSet<> failedFor;
  for (auto [code, status] : llvm::zip(codes, statuses))
    if (!status.ok() && failedFor.insert(code.arch).second &&
        failed(diagnoseNoCubins(loc, assembler, code.arch, status)))
      return failure();
  for (GPUCode &code : codes)
    if (failedFor.contains(code.arch))
      code.cubin.clear();
  return success();
}

FailureOr<bool> gantry::hasAssembler(ModuleOp kernels, ArrayRef<std::string> archs,
                                     const Assembler &assembler) {
  if (assembler.use == Assembler::Use::never)
    return false;
  Expected<Ptxas> ptxas = startPtxas(assembler);
  if (ptxas)
    return true;
  for (const std::string &arch : archs)
    if (failed(diagnoseNoCubins(kernels.getLoc(), assembler, arch, ptxas.status())))
      return failure();
  return false;
}

FailureOr<std::vector<GPUCode>> gantry::emitGPUCode(ModuleOp kernels, ArrayRef<std::string> archs,
                                                    const Assembler &assembler) {
  registerTranslations(*kernels.getContext());
  std::vector<GPUCode> codes;
  for (const std::string &arch : archs)
    for (auto module : kernels.getOps<::mlir::gpu::GPUModuleOp>())
      codes.push_back({module, arch, {}, {}});
  std::optional<Expected<Ptxas>> ptxas;
  if (assembler.use != Assembler::Use::never)
    ptxas.emplace(startPtxas(assembler));
  std::vector<Status> statuses(codes.size());
  auto emit = [&](size_t i) -> LogicalResult {
    GPUCode &code = codes[i];
    FailureOr<std::string> text = emitModuleGuarded(code.module, code.arch, Target::Text::ptx);
    if (failed(text))
      return failure();
    code.ptx = std::move(*text);
    if (!ptxas)
      return success();
    Expected<std::vector<char>> cubin =
        *ptxas ? (*ptxas)->assemble(code.ptx, code.arch, (code.module.getName() + ".ptx").str())
               : Expected<std::vector<char>>(ptxas->status());
    if (cubin)
      code.cubin = cubin.take();
    else
      statuses[i] = cubin.status();
    return success();
  };
  if (failed(emitParts(kernels.getContext(), codes.size(), emit)) ||
      failed(checkCubins(kernels.getLoc(), assembler, codes, statuses)))
    return failure();
  return codes;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// Version, target and size of addresses are said once, at the top.
static StringRef withoutHeader(StringRef text) {
  constexpr llvm::StringLiteral last = ".address_size 64\n";
  return text.substr(text.find(last) + last.size());
}

FailureOr<std::string> gantry::printGPUCode(ModuleOp kernels, StringRef arch, Target::Text form) {
  registerTranslations(*kernels.getContext());
  std::string all;
  for (auto module : kernels.getOps<::mlir::gpu::GPUModuleOp>()) {
    FailureOr<std::string> text = emitModuleGuarded(module, arch, form);
    if (failed(text))
      return failure();
    bool isFirst = all.empty();
    all += isFirst || form == Target::Text::llvm ? StringRef(*text) : withoutHeader(*text);
  }
  return all;
}
