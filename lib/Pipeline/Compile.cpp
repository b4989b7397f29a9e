// Compiles a graph file: import, run the phases, make code, write the plan.

#include "gantry/Arrays/Files.h"
#include "gantry/Frontend/Frontend.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Support/File.h"
#include "gantry/Support/Hash.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/Plan/WritePlan.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gantry;

/// Large constants would fill the screen; what matters of them is their type.
static constexpr int64_t kElideAbove = 32;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().elideLargeElementsAttrs(kElideAbove).elideLargeResourceString(kElideAbove));
  // Of resources whose bytes are left out, MLIR prints an empty section.
  constexpr llvm::StringLiteral nothing = "\n{-#\n\n#-}\n";
  if (StringRef(text).ends_with(nothing))
    text.resize(text.size() - nothing.size());
  return text;
}

/// Until Place knows more devices: the host alone.
static void setHostTopology(ModuleOp module) {
  if (module->hasAttr(kTopologyAttr))
    return;
  auto host = DeviceAttr::get(module.getContext(), "/job:localhost/replica:0/task:0/device:CPU:0");
  module->setAttr(kTopologyAttr, TopologyAttr::get(module.getContext(), host));
}

/// Makes the functions that are not wanted private, so that Resolve removes them.
static LogicalResult selectEntry(ModuleOp module, StringRef entry) {
  if (entry.empty())
    return success();
  if (!module.lookupSymbol<func::FuncOp>(entry)) {
    auto error = module.emitError() << "no function '" << entry << "'; the functions are ";
    llvm::interleaveComma(module.getOps<func::FuncOp>(), error, [&](func::FuncOp f) { error << f.getSymName(); });
    return error;
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (func.getSymName() != entry)
      func.setPrivate();
  return success();
}

/// Reads what `--value NAME=FILE` gives; whether the graph has such an input is the frontend's matter.
static FailureOr<InputValue> readValue(StringRef text, Location loc) {
  auto [name, file] = text.split('=');
  if (name.empty() || file.empty())
    return emitError(loc) << "--value '" << text << "' is not NAME=FILE.npy";
  auto read = arrays::readArray(file.str());
  if (!read)
    return emitError(loc) << "--value " << name << ": " << read.status().message();
  const arrays::ArrayView array = read->array.view();
  InputValue value;
  value.name = name.str();
  value.shape = read->array.shape;
  if (arrays::isFloat(array.element)) {
    std::vector<double> &numbers = value.elements.emplace<std::vector<double>>();
    for (uint64_t i = 0; i < array.count(); ++i)
      numbers.push_back(arrays::valueAt(array, i));
  } else {
    std::vector<int64_t> &numbers = value.elements.emplace<std::vector<int64_t>>();
    for (uint64_t i = 0; i < array.count(); ++i)
      numbers.push_back(arrays::integerAt(array, i));
  }
  return value;
}

FailureOr<ImportOptions> gantry::readImportOptions(const CompileOptions &options, MLIRContext &context) {
  Location loc = UnknownLoc::get(&context);
  ImportOptions import;
  import.entry = options.entry;
  for (const std::string &text : options.dims) {
    auto [name, number] = StringRef(text).rsplit('=');
    int64_t size;
    if (name.empty() || number.getAsInteger(10, size) || size < 0)
      return emitError(loc) << "--dim '" << text << "' is not NAME=SIZE";
    import.dims.emplace_back(name.str(), size);
  }
  for (const std::string &text : options.values) {
    FailureOr<InputValue> value = readValue(text, loc);
    if (failed(value))
      return failure();
    for (const InputValue &other : import.values)
      if (other.name == value->name)
        return emitError(loc) << "--value " << value->name << " is given twice";
    import.values.push_back(std::move(*value));
  }
  return import;
}

static LogicalResult run(ModuleOp module, const CompileOptions &options, Phase last,
                         function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  pm.enableVerifier(options.verifyEach);
  if (options.printIR) {
    module.getContext()->disableMultithreading();
    pm.enableIRPrinting();
  }
  build(pm);
  if (failed(pm.run(module)))
    return failure();
  return mlir::verify(module);
}

FailureOr<Compiled> gantry::compileGraph(StringRef path, const CompileOptions &options, MLIRContext &context,
                                         function_ref<void(StringRef)> progress) {
  progress("import");
  FailureOr<ImportOptions> import = readImportOptions(options, context);
  if (failed(import))
    return failure();
  OwningOpRef<ModuleOp> module = importGraph(path, *import, &context);
  if (!module)
    return failure();
  setHostTopology(*module);
  if (failed(selectEntry(*module, options.entry)))
    return failure();
  Compiled result;
  if (options.stopAfter == Phase::import) {
    result.text = print(*module);
    return result;
  }

  // Sizes that the importer has used up are no open dimensions any more.
  CompileOptions passes = options;
  bool open = false;
  for (auto func : module->getOps<func::FuncOp>())
    for (Type type : func.getArgumentTypes())
      open |= isa<RankedTensorType>(type) && !cast<RankedTensorType>(type).hasStaticShape();
  if (!open)
    passes.dims.clear();

  progress("compile");
  Phase last = options.stopAfter ? std::min(*options.stopAfter, Phase::memory) : Phase::memory;
  if (failed(run(*module, options, last, [&](OpPassManager &pm) { buildPipeline(pm, passes, last); })))
    return failure();
  if (options.stopAfter && *options.stopAfter <= Phase::memory) {
    result.text = print(*module);
    return result;
  }

  progress("generate code");
  auto kernels = module->lookupSymbol<ModuleOp>("kernels");
  std::vector<std::string> symbols;
  for (auto kernel : module->getOps<planir::KernelOp>())
    symbols.push_back(kernel.getSymName().str());
  CPUTargetOptions target;
  target.cpu = options.targetCPU;
  CPUCode code;
  if (!symbols.empty()) {
    if (failed(run(kernels, options, Phase::llvm, buildLLVMPipeline)))
      return failure();
    if (options.stopAfter == Phase::llvm) {
      FailureOr<std::string> text = printLLVMIR(kernels, target);
      if (failed(text))
        return failure();
      result.text = *text;
      return result;
    }
    FailureOr<CPUCode> made = emitCPUCode(kernels, symbols, target);
    if (failed(made))
      return failure();
    code = std::move(*made);
  }

  progress("write");
  PlanInfo info;
  info.source = llvm::sys::path::filename(path).str();
  if (auto file = MappedFile::open(path.str()); file.ok())
    info.sourceHash = hashBytes(file->bytes());
  uint64_t constants = 0;
  for (auto constant : module->getOps<planir::ConstantOp>())
    constants += constant.getSize();
  if (!options.output.empty() && constants >= options.outputAbove) {
    if (failed(writePlanFile(*module, code, info, options.output)))
      return failure();
    return result;
  }
  FailureOr<AlignedBuffer> bytes = writePlanBytes(*module, code, info);
  if (failed(bytes))
    return failure();
  result.plan = std::move(*bytes);
  return result;
}
