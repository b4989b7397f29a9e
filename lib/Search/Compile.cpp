// Compiles a graph file: import, run the phases, make code, write the plan.

#include "gantry/Search/Compile.h"
#include "Donated.h"
#include "LargestBatch.h"
#include "OverLimit.h"
#include "PlacementSearch.h"
#include "Replicate.h"
#include "TopologyOptions.h"
#include "WhatIf.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Notes.h"
#include "gantry/Frontend/Frontend.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Support/Hash.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/CUDA/Stages.h"
#include "gantry/Target/Plan/WritePlan.h"
#include "gantry/Target/Signatures.h"
#include "gantry/Target/Target.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;

/// Large constants would fill the screen; what matters of them is their type.
static constexpr int64_t kElideAbove = 32;

/// What stands first in a text that cannot be compiled as it is.
static constexpr llvm::StringLiteral kWithoutWeights =
    "// Large weights are not in this text; --with-weights writes them.\n";

static bool hasLargeConstants(ModuleOp module) {
  AttrTypeWalker walker;
  bool found = false;
  walker.addWalk([&](DenseResourceElementsAttr) { found = true; });
  walker.addWalk([&](DenseElementsAttr value) {
    found |= !value.isSplat() && value.getNumElements() > kElideAbove;
  });
  module.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  return found;
}

std::string gantry::printGraph(ModuleOp module, PrintOptions options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(options.withLocations);
  if (!options.withWeights) {
    flags.elideLargeElementsAttrs(kElideAbove).elideLargeResourceString(kElideAbove);
    if (hasLargeConstants(module))
      os << kWithoutWeights;
  }
  module.print(os, flags);
  // Of resources whose bytes are left out, MLIR prints an empty section.
  constexpr llvm::StringLiteral nothing = "\n{-#\n\n#-}\n";
  if (StringRef(text).ends_with(nothing))
    text.resize(text.size() - nothing.size());
  return text;
}

/// Ops from which on passes and code generation are worth several threads: below, starting these
/// and asking for locks takes longer than what they do.
static constexpr unsigned kOpsWorthThreads = 16;

/// Passes of a small graph run on the calling thread, for as long as this is there.
class SmallGraphsAlone {
public:
  explicit SmallGraphsAlone(ModuleOp module) : context(*module.getContext()) {
    unsigned ops = 0;
    module.walk([&](Operation *) { ++ops; });
    isAlone = ops < kOpsWorthThreads && context.isMultithreadingEnabled();
    if (isAlone)
      context.disableMultithreading();
  }
  ~SmallGraphsAlone() {
    if (isAlone)
      context.enableMultithreading();
  }

private:
  MLIRContext &context;
  bool isAlone;
};

/// Makes the functions that are not wanted private, so that Resolve removes them.
static LogicalResult selectEntry(ModuleOp module, StringRef entry) {
  if (entry.empty())
    return success();
  if (!module.lookupSymbol<func::FuncOp>(entry)) {
    auto error = module.emitError() << "no function '" << entry << "'; the functions are ";
    llvm::interleaveComma(module.getOps<func::FuncOp>(), error,
                          [&](func::FuncOp f) { error << f.getSymName(); });
    return error;
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (func.getSymName() != entry)
      func.setPrivate();
  return success();
}

//===----------------------------------------------------------------------===//
// One compilation, step by step
//===----------------------------------------------------------------------===//

/// The values that the importer needs, of those that are there for it.
static FailureOr<ImportOptions> addShapeValues(GraphImporter &importer,
                                               const CompileOptions &options,
                                               std::vector<std::string> &taken) {
  ImportOptions import = options.graph;
  if (options.candidates.empty())
    return import;
  FailureOr<std::vector<std::string>> wanted = importer.shapeInputs(import);
  if (failed(wanted))
    return failure();
  for (const InputValue &candidate : options.candidates)
    if (std::string name = importer.nameOfInput(candidate.name);
        llvm::is_contained(*wanted, name)) {
      import.values.push_back(candidate);
      import.values.back().name = name;
      taken.push_back(candidate.name);
    }
  return import;
}

/// The policy that holds, by its name on the command line.
static std::string placementName(const CompileOptions &options) {
  switch (options.placement) {
  case PlacementPolicy::automatic:
    return "auto";
  case PlacementPolicy::follow:
    return "follow";
  case PlacementPolicy::first:
    return "default";
  case PlacementPolicy::unset:
    return options.explicitCopies ? "follow" : "default";
  }
  llvm_unreachable("a policy without a name");
}

namespace {
struct Compilation {
  const GraphFile &file;
  const CompileOptions &options;
  const PlanOutput &output;
  MLIRContext &context;
  const Watch &watch;
  OwningOpRef<ModuleOp> module;
  Compiled result;
  std::vector<std::string> remarks; ///< a line each, for the plan
  Predictions predictions;
  bool isPlaced = false;                    ///< the module, as far as it came
  bool isSized = false;                     ///< by the importer, open dimensions included
  std::vector<std::string> gpuArchs = {};   ///< that kernels are for; none: the default
  std::vector<std::string> limitSteps = {}; ///< what made the plan fit, for the plan
  LoweredKernels lowered = {};              ///< of plans that are thrown away

  bool stopsAt(Phase phase) const { return options.stopAfter == phase; }
  bool stopsAtCode() const { return stopsAt(Phase::llvm) || stopsAt(Phase::ptx); }

  LogicalResult importModule() {
    GraphImporter importer(file, &context, options.outputs);
    FailureOr<ImportOptions> import = addShapeValues(importer, options, result.shapeValues);
    if (failed(import))
      return failure();
    module = importer.import(*import);
    if (!module)
      return failure();
    isSized = !importer.inputsToSize().empty();
    if (failed(setTopologyFromOptions(*module, options)) || failed(checkAlso(*module, options)))
      return failure();
    setLibraries();
    setStages();
    FailureOr<std::vector<std::string>> archs = findGPUArchs(*module, options);
    if (failed(archs))
      return failure();
    gpuArchs = std::move(*archs);
    if (failed(selectEntry(*module, options.graph.entry)) ||
        failed(markDonated(*module, options.donated)))
      return failure();
    if (options.replicate && failed(replicateFunction(*module, importer, *import, options)))
      return failure();
    result.files = options.files;
    llvm::append_range(result.files, importer.filesRead());
    return success();
  }

  bool isForNVIDIA() {
    return llvm::any_of(getTopology(*module).physical,
                        [](const PhysicalDevice &device) { return device.driver == Driver::cuda; });
  }

  /// What flags say of libraries, and for the rest what the text says. An empty list is a word,
  /// too: without any, products on GPUs of NVIDIA are by a library where that is estimated to be
  /// faster.
  void setLibraries() {
    SmallVector<std::string> names;
    const std::string collectives(plan::collectiveLibrary);
    auto said = (*module)->getAttrOfType<ArrayAttr>(kLibrariesAttr);
    if (options.libraries)
      llvm::append_range(names, *options.libraries);
    else if (!said && isForNVIDIA())
      names.push_back(kAutomaticLibraries.str());
    if (options.libraryCollectives.value_or(false))
      names.push_back(collectives);
    if (said)
      for (auto name : said.getAsRange<StringAttr>())
        if (name == collectives ? !options.libraryCollectives : !options.libraries)
          names.push_back(name.str());
    (*module)->removeAttr(kLibrariesAttr);
    if (!names.empty() || options.libraries || said)
      (*module)->setAttr(kLibrariesAttr,
                         Builder(&context).getStrArrayAttr(llvm::to_vector_of<StringRef>(names)));
  }

  void setStages() {
    if (options.gpuStages)
      (*module)->setAttr(kGPUStagesAttr, Builder(&context).getI64IntegerAttr(*options.gpuStages));
  }

  /// Sizes that the importer has used up name no open dimension any more, and the topology says
  /// what no flag does.
  CompileOptions passOptions() {
    CompileOptions passes = options;
    passes.gpuArchs = gpuArchs;
    passes.targets = findTargets(*module, options);
    if (isSized)
      passes.graph.dims.clear();
    return passes;
  }

  LogicalResult run(ModuleOp on, function_ref<void(OpPassManager &)> build) {
    PassManager pm(&context);
    pm.enableVerifier(options.verifyEach);
    if (options.printIR) {
      context.disableMultithreading();
      pm.enableIRPrinting();
    }
    build(pm);
    const LogicalResult ran = pm.run(on);
    return success(succeeded(checkCancelled()) && succeeded(ran) && succeeded(mlir::verify(on)));
  }

  /// Passes that were skipped succeed, so this comes after everything that may skip.
  LogicalResult checkCancelled() {
    if (!watch.cancel || !watch.cancel->isSet())
      return success();
    InFlightDiagnostic error = emitError(UnknownLoc::get(&context))
                               << "the compilation was cancelled";
    setStatusCode(*error.getUnderlyingDiagnostic(), StatusCode::cancelled);
    return error;
  }

  /// Passes, and the pieces of machine code, are actions; from now on each is skipped once that is
  /// set.
  void skipWhenCancelled() {
    if (watch.cancel)
      context.registerActionHandler(
          [cancel = watch.cancel](function_ref<void()> act, const tracing::Action &) {
            if (!cancel->isSet())
              act();
          });
  }

  void tell(StringRef phase) {
    if (watch.progress)
      watch.progress(phase);
  }

  LogicalResult runPhases(const CompileOptions &passes, Phase first, Phase last,
                          LoweredKernels *known = nullptr) {
    return run(*module, [&](OpPassManager &pm) { buildPipeline(pm, passes, last, first, known); });
  }

  /// The phases up to Place, and what a search has to suggest.
  LogicalResult prepareForPlace() {
    CompileOptions passes = passOptions();
    if (failed(runPhases(passes, Phase::import, Phase::replicate)))
      return failure();
    if (options.placement != PlacementPolicy::automatic)
      return success();
    PlacementSearch search(passes);
    if (failed(search.run(*module)))
      return failure();
    module = search.suggest(0);
    return success();
  }

  /// All phases up to `last`.
  LogicalResult runPhases(Phase last) {
    CompileOptions passes = passOptions();
    if (failed(runPhases(passes, Phase::import, std::min(last, Phase::replicate))))
      return failure();
    if (last < Phase::place)
      return success();
    predictBounds(*module, options.fuse, predictions);
    return options.placement == PlacementPolicy::automatic ? searchAndRun(passes, last)
                                                           : placeAndRun(passes, last);
  }

  LogicalResult placeAndRun(const CompileOptions &passes, Phase last) {
    isPlaced = succeeded(runPhases(passes, Phase::place, Phase::place));
    if (!isPlaced)
      return failure();
    if (!options.writePlacementLock.empty() && failed(writePlacementLock()))
      return failure();
    predictSeconds(*module, options.fuse, predictions);
    if (!options.fixOverLimit || last != Phase::memory)
      return runPhases(passes, Phase::copy, last);
    auto runRest = [&](const CompileOptions &rest) {
      return runPhases(rest, Phase::copy, last, &lowered);
    };
    LogicalResult ran =
        runUntilItFits(module, passes, runRest, [&](StringRef step) { tell(step); }, limitSteps);
    // What was predicted before is of another plan.
    if (!limitSteps.empty())
      for (auto &[function, steps] : predictions)
        steps.seconds = 0;
    return ran;
  }

  LogicalResult writePlacementLock() {
    std::string text = placement::formatLock(placementLockOf(*module));
    Status written = writeFileAtomically(
        options.writePlacementLock, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    return written.ok() ? success()
                        : emitError(UnknownLoc::get(&context))
                              << "--write-placement-lock: " << written.message();
  }

  /// A plan of a candidate, or how far it came.
  struct Tried {
    size_t candidate = 0;
    OwningOpRef<ModuleOp> module;
    LogicalResult ran = failure();
    bool isPlaced = false, isOverLimit = false;
    double seconds = 0; ///< of the plan
    std::vector<Diagnostic> heard;
    std::vector<std::string> limitSteps;
    Predictions predictions;

    bool isBetter(const Tried &other) const {
      return succeeded(ran) && (failed(other.ran) || seconds < other.seconds * (1 - 1e-6));
    }
  };

  /// What is said of plans that are thrown away nobody hears.
  Tried tryCandidate(const PlacementSearch &search, size_t candidate, const CompileOptions &passes,
                     Phase last) {
    Tried tried;
    tried.candidate = candidate;
    ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
      tried.isOverLimit |= diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                           statusCodeOf(diagnostic) == StatusCode::doesNotFit;
      tried.heard.push_back(std::move(diagnostic));
      return success();
    });
    module = search.suggest(candidate);
    isPlaced = false;
    limitSteps.clear();
    tried.ran = placeAndRun(passes, last);
    tried.isPlaced = isPlaced;
    if (succeeded(tried.ran) && last == Phase::memory)
      tried.seconds = secondsOfPlan(*module);
    tried.limitSteps = limitSteps;
    tried.predictions = predictions;
    tried.module = std::move(module);
    return tried;
  }

  /// The best plan of all candidates, where several were found; the first one's where none works.
  Tried tryCandidates(const PlacementSearch &search, const CompileOptions &passes, Phase last) {
    // A repair is for when nothing fits as it is.
    CompileOptions asItIs = passes;
    asItIs.fixOverLimit = passes.fixOverLimit && search.numCandidates() == 1;
    Tried best = tryCandidate(search, 0, asItIs, last);
    const size_t count = last == Phase::memory ? search.numCandidates() : 1;
    for (size_t candidate = 1; candidate < count; ++candidate) {
      tell("compare placements: " + std::to_string(candidate + 1) + " of " + std::to_string(count));
      if (Tried tried = tryCandidate(search, candidate, asItIs, last); tried.isBetter(best))
        best = std::move(tried);
    }
    if (failed(best.ran) && best.isOverLimit && passes.fixOverLimit && !asItIs.fixOverLimit)
      best = tryCandidate(search, 0, passes, last);
    return best;
  }

  /// Predicted memory is not planned memory: when no plan is within the limits after all, the
  /// search gets less, a few times; and it hears of copies in loops.
  LogicalResult searchAndRun(const CompileOptions &passes, Phase last) {
    constexpr int tries = 4;
    PlacementSearch search(passes);
    OwningOpRef<ModuleOp> simplified = module->clone();
    for (int round = 1;; ++round) {
      if (failed(search.run(*simplified)))
        return failure();
      Tried best = tryCandidates(search, passes, last);
      if (failed(best.ran) && round < tries &&
          (best.isOverLimit ? search.tightenLimits(*best.module)
                            : best.isPlaced && search.leaveLoops(*best.module)))
        continue;
      module = std::move(best.module);
      isPlaced = best.isPlaced;
      limitSteps = best.limitSteps;
      predictions = best.predictions;
      for (const std::string &finding : search.findings(best.candidate, best.seconds))
        emitRemark(UnknownLoc::get(&context)) << finding;
      for (Diagnostic &diagnostic : best.heard)
        context.getDiagEngine().emit(std::move(diagnostic));
      return best.ran;
    }
  }

  /// What there would be code of.
  LogicalResult outlineCode() {
    PlanCode code(*module, options.assembler);
    for (auto [kernels, name] : kernelModules(*module)) {
      const Target &target = *findTarget(name); // Kernel has lowered them
      noteTakenBuffers(kernels, *module, target.getDrivers());
      if (failed(target.outlineCode(kernels, name, code)))
        return failure();
    }
    return success();
  }

  /// Code of the kernels of every target in the plan, or its text when that was asked for.
  LogicalResult generateCode() {
    PlanCode code(*module, options.assembler);
    for (auto [kernels, name] : kernelModules(*module)) {
      const Target &target = *findTarget(name); // Kernel has lowered them
      noteTakenBuffers(kernels, *module, target.getDrivers());
      auto build = [&](OpPassManager &pm) { target.buildCodePipeline(pm); };
      if (failed(run(kernels, build)))
        return failure();
      if (!stopsAtCode()) {
        if (failed(target.emitCode(kernels, name, code)) || failed(checkCancelled()))
          return failure();
        continue;
      }
      FailureOr<std::string> text = target.printCode(
          kernels, name, stopsAt(Phase::llvm) ? Target::Text::llvm : Target::Text::ptx);
      if (failed(text))
        return failure();
      result.text += *text;
    }
    return success();
  }

  LogicalResult writePlan() {
    PlanInfo info;
    info.source = file.baseName().str();
    info.sourceHash = hashBytes(llvm::arrayRefFromStringRef(file.bytes->getBuffer()));
    info.remarks = remarks;
    for (const std::string &step : limitSteps)
      info.constraints.push_back("over the limit: " + step);
    info.math = nameOf(options.math).str();
    info.placement = placementName(options);
    info.predictions = predictions;
    info.cancel = watch.cancel;
    info.isOutline = output.isOutline;
    if (!output.file.empty())
      return writePlanFile(*module, info, output.file);
    return isForScratch() ? keepInScratchFile(info) : keepInMemory(info);
  }

  bool isForScratch() {
    if (output.isOutline)
      return false;
    uint64_t constants = 0;
    for (auto constant : module->getOps<commands::ConstantOp>())
      constants += constant.getSize();
    return output.scratchAbove != 0 && constants >= output.scratchAbove;
  }

  LogicalResult keepInMemory(const PlanInfo &info) {
    FailureOr<AlignedBuffer> bytes = writePlanBytes(*module, info);
    if (failed(bytes))
      return failure();
    result.plan = std::move(*bytes);
    return success();
  }

  /// Weights are not held in memory a second time. Without a folder to write to they are, though.
  LogicalResult keepInScratchFile(const PlanInfo &info) {
    Expected<NamelessFile> scratch = NamelessFile::create();
    if (!scratch)
      return keepInMemory(info);
    if (failed(writePlanTo(*module, info,
                           [&](std::span<const uint8_t> bytes) { return scratch->write(bytes); })))
      return failure();
    Expected<MappedFile> mapped = scratch->map();
    if (!mapped)
      return emitError(UnknownLoc::get(&context)) << mapped.status().message();
    result.plan = mapped.take();
    return success();
  }
};
} // namespace

FailureOr<Compiled> gantry::compileGraph(const GraphFile &file, const CompileOptions &options,
                                         const PlanOutput &output, MLIRContext &context,
                                         const Watch &watch) {
  if (!options.largestBatch.empty()) {
    FailureOr<CompileOptions> fitting = withLargestBatch(file, options, context);
    if (failed(fitting))
      return failure();
    return compileGraph(file, *fitting, output, context, watch);
  }
  Compilation compilation{file, options, output, context, watch, {}, {}, {}, {}, false, {}};
  // Heard by whoever listens to the context as well; the plan keeps them for later readers.
  ScopedDiagnosticHandler keepRemarks(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      compilation.remarks.push_back(lineOf(diagnostic));
    return failure();
  });
  compilation.skipWhenCancelled();
  // The context may outlive whoever waits.
  auto skipNothing = llvm::make_scope_exit([&] { context.registerActionHandler(nullptr); });
  compilation.tell("import");
  // What is computed while importing is skipped, too, and then lacks.
  const LogicalResult imported = compilation.importModule();
  if (failed(compilation.checkCancelled()) || failed(imported))
    return failure();
  const SmallGraphsAlone small(*compilation.module);
  if (!compilation.stopsAt(Phase::import)) {
    compilation.tell("compile");
    if (failed(compilation.runPhases(
            std::min(options.stopAfter.value_or(Phase::memory), Phase::memory))))
      return failure();
  }
  if (options.stopAfter && *options.stopAfter <= Phase::memory) {
    compilation.result.text = printGraph(*compilation.module, {options.withWeights, false});
    return std::move(compilation.result);
  }
  if (output.isOutline && !compilation.stopsAtCode()) {
    if (failed(compilation.outlineCode()))
      return failure();
  } else {
    compilation.tell("generate code");
    if (failed(compilation.generateCode()))
      return failure();
  }
  if (!compilation.stopsAtCode()) {
    compilation.tell("write");
    if (failed(compilation.writePlan()))
      return failure();
  }
  return std::move(compilation.result);
}

FailureOr<std::string> gantry::explainWhyNot(const GraphFile &file, const CompileOptions &options,
                                             const WhyNotQuestion &question, MLIRContext &context) {
  const PlanOutput nowhere;
  const Watch nobody;
  Compilation compilation{file, options, nowhere, context, nobody, {}, {}, {}, {}, false, {}};
  if (failed(compilation.importModule()) || failed(compilation.prepareForPlace()))
    return failure();
  FailureOr<WhyNotAnswer> answer =
      explainWhyNot(*compilation.module, placementRequests(options), question.ops, question.device);
  if (failed(answer))
    return failure();
  if (!answer->changes.empty())
    answer->text += compareWith(*compilation.module, compilation.passOptions(), answer->changes);
  return answer->text;
}
