// From the LLVM dialect to a shared object: translate, optimise, generate code, link in process.

#include "gantry/Target/CPU/CPUTarget.h"

#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace gantry;

namespace {
/// The CPU that code is made for, as LLVM wants it said.
struct Machine {
  std::string cpu, features;
  std::unique_ptr<llvm::TargetMachine> target;
};
} // namespace

static std::string hostFeatures() {
  std::string text;
  for (const auto &[name, on] : llvm::sys::getHostCPUFeatures())
    text += (text.empty() ? "" : ",") + std::string(on ? "+" : "-") + name.str();
  return text;
}

static FailureOr<Machine> makeMachine(Location loc, const CPUTargetOptions &options) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  Machine machine;
  bool native = options.cpu == "native";
  machine.cpu = native ? llvm::sys::getHostCPUName().str() : options.cpu;
  machine.features = native ? hostFeatures() : "";
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "no code generator for " << triple.str() << ": " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, machine.cpu, ""));
  if (!subtarget || !subtarget->isCPUStringValid(machine.cpu))
    return emitError(loc) << "unknown CPU '" << options.cpu
                          << "' in --target-cpu; known are native, x86-64-v3, x86-64-v4 and LLVM's names";
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  targetOptions.NoTrappingFPMath = true;
  machine.target.reset(target->createTargetMachine(triple, machine.cpu, machine.features, targetOptions,
                                                   llvm::Reloc::PIC_, std::nullopt,
                                                   llvm::CodeGenOptLevel::Aggressive));
  return machine;
}

/// `void kernel(void *const *buffers, i64 begin, i64 end)` around the function that takes each
/// buffer as an argument of its own.
static void addEntry(llvm::Module &module, llvm::StringRef kernel) {
  llvm::Function *body = module.getFunction(kernel);
  if (!body)
    return;
  body->setName(kernel + ".body");
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  body->addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  unsigned buffers = body->arg_size() - 2;
  for (unsigned i = 0; i < buffers; ++i)
    arguments.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, entry->getArg(0), i)));
  arguments.push_back(entry->getArg(1));
  arguments.push_back(entry->getArg(2));
  b.CreateCall(body, arguments);
  b.CreateRetVoid();
}

static void setAttributes(llvm::Module &module, const Machine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.cpu);
    if (!machine.features.empty())
      function.addFnAttr("target-features", machine.features);
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&target, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

static FailureOr<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, ArrayRef<std::string> kernels, const Machine &machine, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerAllToLLVMIRTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "gantry");
  if (!llvmModule)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.target->getTargetTriple());
  llvmModule->setDataLayout(machine.target->createDataLayout());
  for (const std::string &kernel : kernels)
    addEntry(*llvmModule, kernel);
  setAttributes(*llvmModule, machine);
  optimize(*llvmModule, *machine.target);
  return llvmModule;
}

/// Names of /proc/cpuinfo for the features that matter to generated code.
static std::vector<std::string> requiredFeatures(const llvm::TargetMachine &target) {
  static constexpr std::pair<const char *, const char *> known[] = {
      {"avx", "avx"},           {"avx2", "avx2"},         {"fma", "fma"},
      {"f16c", "f16c"},         {"bmi2", "bmi2"},         {"avx512f", "avx512f"},
      {"avx512vl", "avx512vl"}, {"avx512bw", "avx512bw"}, {"avx512dq", "avx512dq"},
      {"avx512cd", "avx512cd"}, {"avx512vnni", "avx512_vnni"}, {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"}};
  const llvm::MCSubtargetInfo &subtarget = *target.getMCSubtargetInfo();
  std::vector<std::string> features;
  for (auto [llvmName, cpuinfoName] : known)
    if (subtarget.checkFeatures(std::string("+") + llvmName))
      features.push_back(cpuinfoName);
  return features;
}

namespace {
/// A file that disappears with its owner.
struct TemporaryFile {
  llvm::SmallString<128> path;
  explicit TemporaryFile(llvm::StringRef suffix) {
    if (llvm::sys::fs::createTemporaryFile("gantry", suffix, path))
      path.clear();
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
};
} // namespace

static LogicalResult link(Location loc, llvm::StringRef object, std::vector<char> &sharedObject) {
  TemporaryFile input("o"), output("so");
  if (input.path.empty() || output.path.empty())
    return emitError(loc) << "cannot create a temporary file for linking; set TMPDIR to a folder that can be written";
  std::error_code error;
  {
    llvm::raw_fd_ostream stream(input.path, error);
    stream << object;
  }
  if (error)
    return emitError(loc) << "cannot write " << input.path << ": " << error.message();
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string messages;
  llvm::raw_string_ostream log(messages);
  const char *arguments[] = {"ld.lld", "-shared", "--gc-sections", "-s", "--hash-style=gnu", "-z", "separate-code",
                             "-o",     output.path.c_str(), input.path.c_str()};
  lld::Result result = lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc) << "internal error: linking the kernels failed: " << messages;
  auto buffer = llvm::MemoryBuffer::getFile(output.path, false, false);
  if (!buffer)
    return emitError(loc) << "cannot read " << output.path << ": " << buffer.getError().message();
  sharedObject.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  return success();
}

FailureOr<std::string> gantry::printLLVMIR(ModuleOp module, const CPUTargetOptions &options) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), options);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, {}, *machine, context);
  if (failed(llvmModule))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*llvmModule)->print(stream, nullptr);
  return text;
}

FailureOr<CPUCode> gantry::emitCPUCode(ModuleOp module, ArrayRef<std::string> kernels,
                                       const CPUTargetOptions &options) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), options);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, kernels, *machine, context);
  if (failed(llvmModule))
    return failure();

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->target->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("internal error: this LLVM cannot write object files");
  codegen.run(**llvmModule);

  CPUCode code;
  code.target = machine->target->getTargetTriple().getArch() == llvm::Triple::x86_64
                    ? "x86-64"
                    : machine->target->getTargetTriple().getArchName().str();
  code.features = requiredFeatures(*machine->target);
  if (failed(link(module.getLoc(), llvm::StringRef(object.data(), object.size()), code.sharedObject)))
    return failure();
  return code;
}
