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
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace gantry;

/// What a kernel is called in a module that has nothing else: code of it is any plan's.
static constexpr llvm::StringLiteral kEntry = "kernel", kBody = "body";

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
static void addEntry(llvm::Module &module, llvm::Function &body, const Registers &registers) {
  body.setName(kBody);
  body.setLinkage(llvm::GlobalValue::InternalLinkage);
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0), *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntry, module);
  entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  unsigned buffers = body.arg_size() - 2;
  for (unsigned i = 0; i < buffers; ++i)
    arguments.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, entry->getArg(0), i)));
  arguments.push_back(entry->getArg(1));
  arguments.push_back(entry->getArg(2));
  const int64_t amxRows = rowsOfAMXMicrokernels(body, registers);
  if (amxRows != 0)
    cpu::configureAMX(b, amxRows);
  b.CreateCall(&body, arguments);
  if (amxRows != 0)
    cpu::releaseAMX(b);
  b.CreateRetVoid();
}

/// Tables by their order, not as the plan that they come from numbers them.
static void renameTables(llvm::Module &module) {
  for (llvm::GlobalVariable &table : module.globals())
    if (table.hasLocalLinkage())
      table.setName("table");
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
  function->setComdat(module.getOrInsertComdat(function->getName()));
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

namespace {
/// Whether a module has the bodies of the tiles that its kernels call.
enum class Tiles { inside, elsewhere };
} // namespace

/// With an entry for `kernel`, unless that is empty.
static FailureOr<std::unique_ptr<llvm::Module>> translate(ModuleOp module, StringRef kernel,
                                                          const Machine &machine,
                                                          llvm::LLVMContext &context, Tiles tiles) {
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "gantry");
  if (!llvmModule)
    return module.emitError("internal error: kernels could not be translated to LLVM IR");
  llvmModule->setTargetTriple(machine.target->getTargetTriple());
  llvmModule->setDataLayout(machine.target->createDataLayout());
  if (!kernel.empty())
    addEntry(*llvmModule, *llvmModule->getFunction(kernel), machine.registers);
  renameTables(*llvmModule);
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
    auto llvmModule = translate(module, "", *machine, context, Tiles::inside);
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

namespace {
/// A function of a plan, alone with what it reads and calls.
struct Part {
  StringRef name;
  OwningOpRef<ModuleOp> module;
  Tiles tiles;
  std::string symbol; ///< of its code, in the object
  CodeBytes object;
};
} // namespace

/// A kernel's code has the name of what it is made of, so that it is once in the process, and once
/// in a plan, whatever kernels it is of.
static LogicalResult compile(Part &part, const std::string &cpu) {
  FailureOr<Machine> machine = makeMachine(part.module->getLoc(), cpu);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  StringRef kernel = part.tiles == Tiles::inside ? "" : part.name;
  auto code = translate(*part.module, kernel, *machine, context, part.tiles);
  if (failed(code))
    return failure();
  const std::string key = keyOfCode(**code, cpu);
  part.symbol = kernel.empty() ? part.name.str() : (kEntry + "_" + llvm::toHex(key, true)).str();
  FailureOr<CodeBytes> object = makeCodeOnce(key, [&] {
    if (!kernel.empty())
      (*code)->getFunction(kEntry)->setName(part.symbol);
    return generateCode(*part.module, **code, *machine);
  });
  if (failed(object))
    return failure();
  part.object = std::move(*object);
  return success();
}

/// A module of `func` and what it reads and calls, in the order in which it does.
static OwningOpRef<ModuleOp> isolate(ModuleOp module, LLVM::LLVMFuncOp func,
                                     const SymbolTable &symbols) {
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> alone = ModuleOp::create(builder, module.getLoc());
  (*alone)->setAttrs(module->getDiscardableAttrDictionary());
  llvm::SetVector<Operation *> needed;
  needed.insert(func);
  for (size_t i = 0; i < needed.size(); ++i) { // which grows
    auto uses = SymbolTable::getSymbolUses(needed[i]);
    for (SymbolTable::SymbolUse use : *uses)
      needed.insert(symbols.lookup(use.getSymbolRef().getRootReference()));
  }
  builder.setInsertionPointToEnd(alone->getBody());
  for (Operation *op : needed)
    builder.clone(*op);
  return alone;
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

  SymbolTable symbols(module);
  std::vector<Part> parts;
  for (const std::string &kernel : kernels)
    parts.push_back({kernel,
                     isolate(module, symbols.lookup<LLVM::LLVMFuncOp>(kernel), symbols),
                     Tiles::elsewhere,
                     {},
                     {}});
  // Tiles are shared by all of them, and each is a part of its own, which other plans have, too.
  for (LLVM::LLVMFuncOp tile : tilesOf(module))
    parts.push_back({tile.getSymName(), isolate(module, tile, symbols), Tiles::inside, {}, {}});
  auto emit = [&](size_t i) -> LogicalResult {
    LogicalResult compiled = failure();
    Status fatal = runGuarded([&] { compiled = compile(parts[i], cpu); });
    return fatal.ok() ? compiled : diagnoseFatal(module.getLoc(), cpu, fatal);
  };
  if (failed(emitParts(module.getContext(), parts.size(), emit)))
    return failure();

  std::vector<CodeBytes> objects;
  std::vector<std::pair<std::string, std::string>> names;
  llvm::StringSet<> linked;
  for (Part &part : parts) {
    if (part.tiles == Tiles::elsewhere)
      names.emplace_back(part.name, part.symbol);
    if (linked.insert(part.symbol).second)
      objects.push_back(std::move(part.object));
  }
  if (Status status = linkObjects(objects, names, code->sharedObject); !status.ok()) {
    auto error = emitError(module.getLoc()) << status.message();
    setStatusCode(*error.getUnderlyingDiagnostic(), status.code());
    return failure();
  }
  return code;
}
