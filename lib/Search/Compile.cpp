// Compiles a graph file: import, run the phases, make code, write the plan.

#include "gantry/Search/Compile.h"
#include "Donated.h"
#include "LargestBatch.h"
#include "MemoryBudget.h"
#include "PlanChoice.h"
#include "ReplicaDevices.h"
#include "Replicate.h"
#include "TopologyOptions.h"
#include "WhatIf.h"
#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Frontend/Frontend.h"
#include "gantry/Support/Hash.h"
#include "gantry/Support/Seconds.h"
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
  if (options.graph.candidates.empty())
    return import;
  FailureOr<std::vector<std::string>> wanted = importer.shapeInputs(import);
  if (failed(wanted))
    return failure();
  for (const InputValue &candidate : options.graph.candidates)
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
  switch (options.place.policy) {
  case PlacementPolicy::automatic:
    return "auto";
  case PlacementPolicy::follow:
    return "follow";
  case PlacementPolicy::first:
    return "default";
  case PlacementPolicy::unset:
    return options.copy.isExplicit ? "follow" : "default";
  }
  llvm_unreachable("a policy without a name");
}

static bool hasLimits(const Topology &topology) {
  return llvm::any_of(topology.logical,
                      [&](const LogicalDevice &device) { return topology.limitOf(device) != 0; });
}

/// Beside a graph that is to be trained, what evaluates (gantry-make-training-step).
static constexpr llvm::StringLiteral kEvaluateFunction = "evaluate";

/// Whether the phase Memory has copies wait for room.
static bool waitsForRoom(ModuleOp module) {
  return llvm::any_of(module.getOps<plan::ir::ArenaOp>(),
                      [](plan::ir::ArenaOp arena) { return arena->hasAttr(memory::kLostAttr); });
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
  std::vector<std::string> limitSteps = {}; ///< what made the plan fit, for the plan
  std::string lock = {};                    ///< where Place put each op, if that is to be written
  LoweredKernels lowered = {};              ///< of plans that are thrown away
  CompileOptions planned = {};              ///< of the phases behind Place

  bool stopsAt(Phase phase) const { return options.debug.stopAfter == phase; }
  bool stopsAtCode() const { return stopsAt(Phase::llvm) || stopsAt(Phase::ptx); }

  LogicalResult importModule() {
    GraphImporter importer(file, &context, options.graph.outputs);
    FailureOr<ImportOptions> import = addShapeValues(importer, options, result.shapeValues);
    if (failed(import))
      return failure();
    const bool isStep = !options.graph.train.loss.empty();
    import->use = isStep ? ModelUse::step : ModelUse::asWritten;
    module = importer.import(*import);
    if (!module || (isStep && failed(addEvaluation(importer, *import))))
      return failure();
    isSized = !importer.inputsToSize().empty();
    if (failed(setTopologyFromOptions(*module, options)) ||
        failed(findReplicaDevices(*module, options)) ||
        failed(setTargetsFromOptions(*module, options)) ||
        failed(selectEntry(*module, options.graph.entry)) ||
        failed(markDonated(*module, options.graph.donated)))
      return failure();
    if (options.replicate.list && failed(replicateFunction(*module, importer, *import, options)))
      return failure();
    result.files = options.files;
    llvm::append_range(result.files, importer.filesRead());
    return success();
  }

  /// A model that trains otherwise than it evaluates is imported for both: `@evaluate` stands
  /// beside what a step is made of.
  LogicalResult addEvaluation(GraphImporter &importer, ImportOptions import) {
    auto draws = module->walk([](Operation *op) {
      return isa<RandomUniformOp, RandomNormalOp, AssignOp>(op) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
    });
    auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
    if (!draws.wasInterrupted() || functions.size() != 1 || importer.inputsToSize().empty())
      return success();
    import.use = ModelUse::evaluation;
    OwningOpRef<ModuleOp> other = importer.import(import);
    if (!other)
      return failure();
    auto evaluate = other->lookupSymbol<func::FuncOp>(functions.front().getSymName());
    evaluate->remove();
    evaluate.setName(kEvaluateFunction);
    if (functions.front().getSymName() == kEvaluateFunction)
      functions.front().setName("trained");
    module->push_back(evaluate);
    return success();
  }

  /// Sizes that the importer has used up name no open dimension any more.
  CompileOptions passOptions() {
    CompileOptions passes = options;
    passes.code.targets = findTargets(*module, options);
    if (isSized)
      passes.graph.dims.clear();
    return passes;
  }

  LogicalResult run(ModuleOp on, function_ref<void(OpPassManager &)> build) {
    PassManager pm(&context);
    pm.enableVerifier(options.debug.verifyEach);
    if (options.debug.printIR) {
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
    if (last == Phase::memory && first < last && hasLimits(getTopology(*module)))
      return success(succeeded(runPhases(passes, first, Phase::schedule, known)) &&
                     succeeded(planMemory(passes)));
    return run(*module, [&](OpPassManager &pm) { buildPipeline(pm, passes, last, first, known); });
  }

  /// Where copies wait for room, they may come later than if others waited for memory: the faster
  /// plan wins, told as it told of itself.
  LogicalResult planMemory(CompileOptions passes) {
    OwningOpRef<ModuleOp> scheduled = module->clone();
    Heard first = runMemory(passes);
    if (!waitsForRoom(*module))
      return emit(first);
    passes.memory.gateCopies = false;
    std::swap(module, scheduled);
    Heard second = runMemory(passes);
    if (!first.isBetter(second)) {
      noteWhatWasLost(*scheduled);
      return emit(second);
    }
    std::swap(module, scheduled);
    return emit(first);
  }

  /// What the layout lost where copies wait for room is to be learnt from, whichever plan wins.
  void noteWhatWasLost(ModuleOp planned) {
    for (auto arena : planned.getOps<plan::ir::ArenaOp>())
      if (Attribute lost = arena->getAttr(memory::kLostAttr))
        if (auto same = module->lookupSymbol<plan::ir::ArenaOp>(arena.getSymName()))
          same->setAttr(memory::kLostAttr, lost);
  }

  /// How the phase ended, and what it said.
  struct Heard {
    LogicalResult ran;
    double seconds = 0;
    std::vector<Diagnostic> diagnostics = {};

    bool isBetter(const Heard &other) const {
      return succeeded(ran) != succeeded(other.ran) ? succeeded(ran) : seconds <= other.seconds;
    }
  };

  Heard runMemory(const CompileOptions &passes) {
    Heard heard{failure()};
    ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
      heard.diagnostics.push_back(std::move(diagnostic));
      return success();
    });
    heard.ran = runPhases(passes, Phase::memory, Phase::memory);
    heard.seconds = succeeded(heard.ran) ? secondsOfPlan(*module) : 0;
    return heard;
  }

  LogicalResult emit(Heard &heard) {
    for (Diagnostic &diagnostic : heard.diagnostics)
      context.getDiagEngine().emit(std::move(diagnostic));
    return heard.ran;
  }

  /// The phases up to Place, and what a search has to suggest.
  LogicalResult prepareForPlace() {
    CompileOptions passes = passOptions();
    if (failed(runPhases(passes, Phase::import, Phase::replicate)))
      return failure();
    planned = passes;
    if (options.place.policy != PlacementPolicy::automatic)
      return success();
    FailureOr<TriedPlan> best = choose(passes, Phase::memory);
    if (failed(best))
      return failure();
    module = std::move(best->suggested);
    planned = best->options;
    return success();
  }

  /// The best plan for the module, which goes.
  FailureOr<TriedPlan> choose(const CompileOptions &passes, Phase last) {
    OwningOpRef<ModuleOp> simplified = std::move(module);
    return choosePlan(
        *simplified, passes, last == Phase::memory, lowered,
        [&](OwningOpRef<ModuleOp> suggested, const CompileOptions &own) {
          CompileOptions trial = own;
          trial.memory.isTrial = true;
          return tryPlan(std::move(suggested), trial, last);
        },
        [&](StringRef step) { tell(step); });
  }

  /// All phases up to `last`.
  LogicalResult runPhases(Phase last) {
    CompileOptions passes = passOptions();
    if (failed(runPhases(passes, Phase::import, std::min(last, Phase::replicate))))
      return failure();
    if (last < Phase::place)
      return success();
    predictBounds(*module, options.fuse.groups, predictions);
    return options.place.policy == PlacementPolicy::automatic ? searchAndRun(passes, last)
                                                              : placeAndRun(passes, last);
  }

  LogicalResult placeAndRun(const CompileOptions &passes, Phase last) {
    isPlaced = succeeded(runPhases(passes, Phase::place, Phase::place));
    if (!isPlaced)
      return failure();
    if (!options.place.writeLock.empty()) {
      lock = placement::formatLock(placementLockOf(*module));
      // Of many plans the best one's is written.
      if (options.place.policy != PlacementPolicy::automatic && failed(writePlacementLock()))
        return failure();
    }
    predictSeconds(*module, options.fuse.groups, predictions);
    planned = passes;
    if (!passes.memory.fixOverLimit || last != Phase::memory)
      return runPhases(passes, Phase::copy, last,
                       options.place.policy == PlacementPolicy::automatic ? &lowered : nullptr);
    auto runRest = [&](const CompileOptions &rest) {
      return runPhases(rest, Phase::copy, last, &lowered);
    };
    LogicalResult ran =
        runUntilItFits(module, planned, runRest, [&](StringRef step) { tell(step); }, limitSteps);
    // What was predicted before is of another plan.
    if (!limitSteps.empty())
      for (auto &[function, steps] : predictions)
        steps.seconds = 0;
    return ran;
  }

  LogicalResult writePlacementLock() {
    Status written = writeFileAtomically(
        options.place.writeLock, {reinterpret_cast<const uint8_t *>(lock.data()), lock.size()});
    return written.ok() ? success()
                        : emitError(UnknownLoc::get(&context))
                              << "--write-placement-lock: " << written.message();
  }

  /// What is said of plans that are thrown away nobody hears.
  TriedPlan tryPlan(OwningOpRef<ModuleOp> suggested, const CompileOptions &passes, Phase last) {
    TriedPlan tried;
    ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
      tried.isOverLimit |= diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                           statusCodeOf(diagnostic) == StatusCode::doesNotFit;
      tried.heard.push_back(std::move(diagnostic));
      return success();
    });
    module = std::move(suggested);
    isPlaced = false;
    limitSteps.clear();
    tried.ran = placeAndRun(passes, last);
    tried.isPlaced = isPlaced;
    if (succeeded(tried.ran) && last == Phase::memory)
      tried.seconds = secondsOfPlan(*module);
    const bool isPlanned = last == Phase::memory && (succeeded(tried.ran) || tried.isOverLimit);
    if (isPlanned && module) { // a repair that failed leaves none
      PlannedBytes bytes = bytesOfPlan(*module);
      tried.missing = std::move(bytes.missing);
      tried.waitedFor = std::move(bytes.waitedFor);
    }
    tried.limitSteps = limitSteps;
    tried.lock = lock;
    tried.options = planned;
    tried.predictions = predictions;
    tried.module = std::move(module);
    return tried;
  }

  LogicalResult searchAndRun(const CompileOptions &passes, Phase last) {
    FailureOr<TriedPlan> best = choose(passes, last);
    if (failed(best))
      return failure();
    if (last == Phase::memory && succeeded(best->ran))
      searchLayouts(*best);
    module = std::move(best->module);
    isPlaced = best->isPlaced;
    limitSteps = best->limitSteps;
    predictions = best->predictions;
    lock = best->lock;
    if (isPlaced && !options.place.writeLock.empty() && failed(writePlacementLock()))
      return failure();
    for (const std::string &finding : best->findings)
      emitRemark(UnknownLoc::get(&context)) << finding;
    for (Diagnostic &diagnostic : best->heard)
      context.getDiagEngine().emit(std::move(diagnostic));
    return best->ran;
  }

  /// The plan once more with its layouts searched to the end, unless it is slower then: where bytes
  /// lie decides what waits for what.
  void searchLayouts(TriedPlan &best) {
    CompileOptions thorough = best.options;
    thorough.memory.isTrial = false;
    thorough.memory.fixOverLimit = false; // what was done is in the options
    TriedPlan again = tryPlan(best.suggested->clone(), thorough, Phase::memory);
    if (failed(again.ran) || again.seconds > best.seconds)
      return;
    if (formatSeconds(again.seconds) != formatSeconds(best.seconds))
      best.findings.push_back("with its layouts searched to the end, a step takes " +
                              formatSeconds(again.seconds));
    best.module = std::move(again.module);
  }

  /// What there would be code of.
  LogicalResult outlineCode() {
    PlanCode code(*module, options.code.assembler);
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
    PlanCode code(*module, options.code.assembler);
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
    info.math = stringifyMath(options.code.math).str();
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
    for (auto constant : module->getOps<plan::ir::ConstantOp>())
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
  if (!options.memory.largestBatch.empty()) {
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
            std::min(options.debug.stopAfter.value_or(Phase::memory), Phase::memory))))
      return failure();
  }
  if (options.debug.stopAfter && *options.debug.stopAfter <= Phase::memory) {
    compilation.result.text = printGraph(*compilation.module, {options.debug.withWeights, false});
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
    answer->text += compareWith(*compilation.module, compilation.planned, answer->changes);
  return answer->text;
}
