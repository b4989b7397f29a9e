// From the LLVM dialect to a shared object: translate, optimise, generate code, link in process.

#include "EmitCode.h"

#include "lld/Common/Driver.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
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

/// The scheduler after register allocation takes time quadratic in the length of a block, 40 % of
/// code generation for unrolled kernels, and gains nothing on processors that reorder. LLVM has no
/// other switch for it than its command line.
static void disablePostRAScheduler() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto option = options.find("post-RA-scheduler"); option != options.end())
    option->second->addOccurrence(1, "post-RA-scheduler", "0");
}

static FailureOr<Machine> makeMachine(Location loc, const std::string &cpu) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    disablePostRAScheduler();
  });
  Machine machine;
  bool native = cpu == "native";
  machine.cpu = native ? llvm::sys::getHostCPUName().str() : cpu;
  machine.features = native ? hostFeatures() : "";
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "no code generator for " << triple.str() << ": " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget || !subtarget->isCPUStringValid(machine.cpu))
    return emitError(loc)
           << "unknown CPU '" << cpu
           << "' in --target-cpu; known are native, x86-64-v3, x86-64-v4 and LLVM's names";
  llvm::TargetOptions targetOptions;
  // Products and sums fuse where the ops allow it (contract), nowhere else.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  targetOptions.NoTrappingFPMath = true;
  machine.target.reset(target->createTargetMachine(triple, machine.cpu, machine.features,
                                                   targetOptions, llvm::Reloc::PIC_, std::nullopt,
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

static bool usesBFloat(const llvm::Module &module) {
  auto isBFloat = [](const llvm::Value *value) {
    return value->getType()->getScalarType()->isBFloatTy();
  };
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block)
        if (isBFloat(&instruction) || llvm::any_of(instruction.operand_values(), isBFloat))
          return true;
  return false;
}

/// On CPUs without bf16, LLVM moves some vectors of it as f32, and for the way back it calls a
/// function of the compiler's run-time library, which plans do not have: so the code brings it
/// along. Rounds to nearest, ties to even; NaN stays NaN.
static void addBFloatTruncation(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()}, false);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::WeakODRLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  llvm::Value *x = function->getArg(0), *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *high = b.CreateLShr(bits, 16);
  llvm::Value *bias = b.CreateAdd(b.CreateAnd(high, 1), b.getInt32(0x7fff));
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(bits, bias), 16);
  llvm::Value *quiet = b.CreateOr(high, 0x40);
  llvm::Value *result = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  b.CreateRet(b.CreateBitCast(b.CreateTrunc(result, b.getInt16Ty()), b.getBFloatTy()));
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
  // Blocks of registers are unrolled already; more makes blocks that take seconds to schedule.
  tuning.LoopUnrolling = false;
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

static FailureOr<std::unique_ptr<llvm::Module>> translate(ModuleOp module,
                                                          ArrayRef<std::string> kernels,
                                                          const Machine &machine,
                                                          llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "gantry");
  if (!llvmModule)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.target->getTargetTriple());
  llvmModule->setDataLayout(machine.target->createDataLayout());
  for (const std::string &kernel : kernels)
    addEntry(*llvmModule, kernel);
  if (usesBFloat(*llvmModule))
    addBFloatTruncation(*llvmModule);
  setAttributes(*llvmModule, machine);
  optimize(*llvmModule, *machine.target);
  return llvmModule;
}

/// Names of /proc/cpuinfo for the features that matter to generated code.
static std::vector<std::string> requiredFeatures(const llvm::TargetMachine &target) {
  static constexpr std::pair<const char *, const char *> known[] = {{"avx", "avx"},
                                                                    {"avx2", "avx2"},
                                                                    {"fma", "fma"},
                                                                    {"f16c", "f16c"},
                                                                    {"bmi2", "bmi2"},
                                                                    {"avx512f", "avx512f"},
                                                                    {"avx512vl", "avx512vl"},
                                                                    {"avx512bw", "avx512bw"},
                                                                    {"avx512dq", "avx512dq"},
                                                                    {"avx512cd", "avx512cd"},
                                                                    {"avx512ifma", "avx512ifma"},
                                                                    {"avx512vbmi", "avx512vbmi"},
                                                                    {"avx512vbmi2", "avx512_vbmi2"},
                                                                    {"xop", "xop"},
                                                                    {"fma4", "fma4"},
                                                                    {"avx512vnni", "avx512_vnni"},
                                                                    {"avx512bf16", "avx512_bf16"},
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

static LogicalResult link(Location loc, ArrayRef<llvm::SmallVector<char, 0>> objects,
                          std::vector<char> &sharedObject) {
  std::vector<std::unique_ptr<TemporaryFile>> inputs;
  TemporaryFile output("so");
  std::vector<const char *> arguments = {
      "ld.lld", "-shared",       "--gc-sections", "-s", "--hash-style=gnu",
      "-z",     "separate-code", "--threads=1",   "-o", output.path.c_str()};
  for (const auto &object : objects) {
    inputs.push_back(std::make_unique<TemporaryFile>("o"));
    std::error_code error;
    if (!inputs.back()->path.empty()) {
      llvm::raw_fd_ostream stream(inputs.back()->path, error);
      stream.write(object.data(), object.size());
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
    if (inputs.back()->path.empty() || output.path.empty() || error)
      return emitError(loc)
             << "cannot write a temporary file for linking; set TMPDIR to a folder that "
                "can be written and has room";
    arguments.push_back(inputs.back()->path.c_str());
  }
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string messages;
  llvm::raw_string_ostream log(messages);
  lld::Result result = lld::lldMain(arguments, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc) << "internal error: linking the kernels failed: " << messages;
  auto buffer = llvm::MemoryBuffer::getFile(output.path, false, false);
  if (!buffer)
    return emitError(loc) << "cannot read " << output.path << ": " << buffer.getError().message();
  sharedObject.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  return success();
}

/// All that is left of a kernel is in the LLVM dialect.
static void registerTranslations(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

FailureOr<std::string> gantry::printLLVMIR(ModuleOp module, const std::string &cpu) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), cpu);
  if (failed(machine))
    return failure();
  registerTranslations(*module.getContext());
  llvm::LLVMContext context;
  auto llvmModule = translate(module, {}, *machine, context);
  if (failed(llvmModule))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*llvmModule)->print(stream, nullptr);
  return text;
}

/// Kernels of about equal weight in each part; how many parts depends on the kernels alone, so that
/// the code is the same on every machine.
static std::vector<std::vector<std::string>> partition(ModuleOp module,
                                                       ArrayRef<std::string> kernels) {
  constexpr size_t kMostParts = 8, kOpsWorthAPart = 400;
  llvm::StringMap<size_t> weights;
  size_t total = 0;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    size_t weight = 0;
    func.walk([&](Operation *) { ++weight; });
    weights[func.getSymName()] = weight;
    total += weight;
  }
  size_t count =
      std::clamp<size_t>(total / kOpsWorthAPart, 1, std::min(kMostParts, kernels.size()));
  std::vector<std::vector<std::string>> parts(count);
  size_t done = 0;
  for (const std::string &kernel : kernels) {
    parts[std::min(count - 1, done * count / std::max<size_t>(total, 1))].push_back(kernel);
    done += weights.lookup(kernel);
  }
  return parts;
}

/// Object code of some of the kernels, from a copy of the module that holds only these.
static FailureOr<llvm::SmallVector<char, 0>>
compilePart(ModuleOp module, ArrayRef<std::string> kernels, const std::string &cpu) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), cpu);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, kernels, *machine, context);
  if (failed(llvmModule))
    return failure();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->target->addPassesToEmitFile(codegen, stream, nullptr,
                                           llvm::CodeGenFileType::ObjectFile)) {
    module.emitError("internal error: this LLVM cannot write object files");
    return failure();
  }
  codegen.run(**llvmModule);
  return object;
}

/// A copy of `module` with the functions of `kernels` and the declarations and globals that all
/// share.
static OwningOpRef<ModuleOp> selectKernels(ModuleOp module, ArrayRef<std::string> kernels) {
  llvm::StringSet<> wanted;
  for (const std::string &kernel : kernels)
    wanted.insert(kernel);
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(builder, module.getLoc());
  (*copy)->setAttrs(module->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(copy->getBody());
  for (Operation &op : *module.getBody()) {
    auto func = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!func || func.isExternal() || wanted.contains(func.getSymName()))
      builder.clone(op);
  }
  return copy;
}

FailureOr<CPUCode> gantry::emitCPUCode(ModuleOp module, ArrayRef<std::string> kernels,
                                       const std::string &cpu) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), cpu);
  if (failed(machine))
    return failure();
  registerTranslations(*module.getContext());

  auto parts = partition(module, kernels);
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (const auto &part : parts)
    modules.push_back(selectKernels(module, part));
  std::vector<llvm::SmallVector<char, 0>> objects(parts.size());
  auto compile = [&](size_t i) -> LogicalResult {
    auto object = compilePart(*modules[i], parts[i], cpu);
    if (failed(object))
      return failure();
    objects[i] = std::move(*object);
    return success();
  };
  if (failed(failableParallelForEachN(module.getContext(), 0, parts.size(), compile)))
    return failure();

  CPUCode code;
  code.target = machine->target->getTargetTriple().getArch() == llvm::Triple::x86_64
                    ? "x86-64"
                    : machine->target->getTargetTriple().getArchName().str();
  code.features = requiredFeatures(*machine->target);
  if (failed(link(module.getLoc(), objects, code.sharedObject)))
    return failure();
  return code;
}
