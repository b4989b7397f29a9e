// From the LLVM dialect to a shared object: translate, optimise, generate code, link in process.

#include "EmitCode.h"

#include "Convolutions/Dot.h"
#include "Link.h"
#include "Machine.h"
#include "MultiplyAdds.h"
#include "Products/BlockQuantizedMicrokernel.h"
#include "Products/EmitMicrokernel.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Target/EmitParts.h"
#include "gantry/Target/FatalErrors.h"
#include "gantry/Target/MadeCode.h"
#include "gantry/Target/Optimize.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace gantry;

/// The rows of tiles that multiply matrices, if a kernel calls some: a thread's state has to be set
/// for them. Those of a kernel have as many, or more than registers have.
static int64_t rowsOfAMXMicrokernels(const llvm::Function &kernel, const Registers &registers) {
  for (const llvm::BasicBlock &block : kernel)
    for (const llvm::Instruction &instruction : block) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function *called = call ? call->getCalledFunction() : nullptr;
      auto tile =
          called ? cpu::Microkernel::of(called->getName()) : std::optional<cpu::Microkernel>();
      if (tile && cpu::usesAMX(*tile, registers))
        return tile->rows;
    }
  return 0;
}

/// `void kernel(void *const *buffers, i64 begin, i64 end)` around the function that takes each
/// buffer as an argument of its own.
static void addEntry(llvm::Module &module, llvm::StringRef kernel, const Registers &registers) {
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
  const int64_t amxRows = rowsOfAMXMicrokernels(*body, registers);
  if (amxRows != 0)
    cpu::configureAMX(b, amxRows);
  b.CreateCall(body, arguments);
  if (amxRows != 0)
    cpu::releaseAMX(b);
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
    if (!machine.tune.empty())
      function.addFnAttr("tune-cpu", machine.tune);
    if (!machine.llvmFeatures.empty())
      function.addFnAttr("target-features", machine.llvmFeatures);
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
  optimizeModule(module, target, tuning);
}

/// Whether a module has the bodies of the tiles that its kernels call.
enum class Tiles { inside, elsewhere };

static FailureOr<std::unique_ptr<llvm::Module>> translate(ModuleOp module,
                                                          ArrayRef<std::string> kernels,
                                                          const Machine &machine,
                                                          llvm::LLVMContext &context, Tiles tiles) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "gantry");
  if (!llvmModule)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.target->getTargetTriple());
  llvmModule->setDataLayout(machine.target->createDataLayout());
  for (const std::string &kernel : kernels)
    addEntry(*llvmModule, kernel, machine.registers);
  if (tiles == Tiles::inside)
    cpu::defineMicrokernels(*llvmModule, machine.registers);
  else
    cpu::hideMicrokernels(*llvmModule);
  cpu::defineDots(*llvmModule, machine.registers);
  if (machine.registers.fma)
    cpu::writeMultiplyAdds(*llvmModule);
  if (usesBFloat(*llvmModule))
    addBFloatTruncation(*llvmModule);
  setAttributes(*llvmModule, machine);
  return llvmModule;
}

static LogicalResult diagnoseFatal(Location loc, const std::string &cpu, const Status &fatal) {
  return emitFatal(loc, "code for --target-cpu=" + cpu, fatal);
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
  std::string text;
  LogicalResult result = failure();
  auto print = [&] {
    llvm::LLVMContext context;
    auto llvmModule = translate(module, {}, *machine, context, Tiles::inside);
    if (failed(llvmModule))
      return;
    optimize(**llvmModule, *machine->target);
    llvm::raw_string_ostream stream(text);
    (*llvmModule)->print(stream, nullptr);
    result = success();
  };
  if (Status fatal = runGuarded(print); !fatal.ok())
    return diagnoseFatal(module.getLoc(), cpu, fatal);
  if (failed(result))
    return failure();
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

static FailureOr<CodeBytes> generateCode(ModuleOp module, llvm::Module &llvmModule,
                                         Machine &machine) {
  optimize(llvmModule, *machine.target);
  CodeBytes object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine.target->addPassesToEmitFile(codegen, stream, nullptr,
                                          llvm::CodeGenFileType::ObjectFile)) {
    module.emitError("internal error: this LLVM cannot write object files");
    return failure();
  }
  codegen.run(llvmModule);
  return object;
}

/// Object code of some of the kernels, from a copy of the module that holds only these.
static FailureOr<CodeBytes> compilePart(ModuleOp module, ArrayRef<std::string> kernels,
                                        const std::string &cpu, Tiles tiles) {
  FailureOr<Machine> machine = makeMachine(module.getLoc(), cpu);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, kernels, *machine, context, tiles);
  if (failed(llvmModule))
    return failure();
  return makeCodeOnce(**llvmModule, cpu,
                      [&] { return generateCode(module, **llvmModule, *machine); });
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

/// Adds what the code uses of what plans name only then: the system has to permit it.
static void nameAMXFeatures(ModuleOp module, Machine &machine) {
  bool bf16 = false, bytes = false;
  for (auto func : module.getOps<FunctionOpInterface>())
    if (std::optional<cpu::Microkernel> tile = cpu::Microkernel::of(func.getName());
        tile && cpu::usesAMX(*tile, machine.registers))
      (tile->precision == cpu::OperandPrecision::bf16 ? bf16 : bytes) = true;
  for (const std::string &feature : machine.amxFeatures)
    if (feature == "amx_bf16" ? bf16 : feature == "amx_int8" ? bytes : bf16 || bytes)
      machine.features.push_back(feature);
}

/// The tiles that kernels call.
static SmallVector<LLVM::LLVMFuncOp> tilesOf(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp func) {
    return cpu::Microkernel::of(func.getSymName()) ||
           cpu::BlockQuantizedMicrokernel::of(func.getSymName());
  });
}

/// A module that only declares a tile.
static OwningOpRef<ModuleOp> declareTile(ModuleOp module, LLVM::LLVMFuncOp tile) {
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> alone = ModuleOp::create(builder, module.getLoc());
  (*alone)->setAttrs(module->getDiscardableAttrDictionary());
  builder.setInsertionPointToEnd(alone->getBody());
  builder.clone(*tile);
  return alone;
}

FailureOr<CPUCode> gantry::outlineCPUCode(ModuleOp module, const std::string &cpu) {
  FailureOr<Machine> machine = describeMachine(module.getLoc(), cpu);
  if (failed(machine))
    return failure();
  nameAMXFeatures(module, *machine);
  return CPUCode{{}, std::move(machine->architecture), std::move(machine->features)};
}

FailureOr<CPUCode> gantry::emitCPUCode(ModuleOp module, ArrayRef<std::string> kernels,
                                       const std::string &cpu) {
  FailureOr<CPUCode> code = outlineCPUCode(module, cpu);
  if (failed(code))
    return failure();
  registerTranslations(*module.getContext());

  auto parts = partition(module, kernels);
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (const auto &part : parts)
    modules.push_back(selectKernels(module, part));
  // Tiles are shared by all of them, and each is a part of its own, which other plans have, too.
  const size_t kernelParts = parts.size();
  for (LLVM::LLVMFuncOp tile : tilesOf(module)) {
    parts.push_back({});
    modules.push_back(declareTile(module, tile));
  }
  std::vector<CodeBytes> objects(parts.size());
  auto compile = [&](size_t i) -> LogicalResult {
    FailureOr<CodeBytes> object = failure();
    Tiles tiles = i < kernelParts ? Tiles::elsewhere : Tiles::inside;
    Status fatal = runGuarded([&] { object = compilePart(*modules[i], parts[i], cpu, tiles); });
    if (!fatal.ok())
      return diagnoseFatal(module.getLoc(), cpu, fatal);
    if (failed(object))
      return failure();
    objects[i] = std::move(*object);
    return success();
  };
  if (failed(emitParts(module.getContext(), parts.size(), compile)))
    return failure();

  if (Status linked = linkObjects(objects, code->sharedObject); !linked.ok()) {
    auto error = emitError(module.getLoc()) << linked.message();
    setStatusCode(*error.getUnderlyingDiagnostic(), linked.code());
    return failure();
  }
  return code;
}
