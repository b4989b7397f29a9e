// The pipeline: how a graph becomes commands over buffers. Read it from top to bottom.
//
// It is a pure function of the module, its topology, what its targets are asked for
// (`gantry.targets`) and the options. A verify pass ends each phase
// up to Fuse and says what the next one may rely on; what Kernel, Schedule and Memory made is
// judged at the end. All are always on, since a wrong plan is worse than none.

#include "gantry/Pipeline/Pipeline.h"

#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Passes.h"
#include "gantry/Target/Passes.h"
#include "gantry/Transforms/CheckCopyBudget.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/Passes.h"
#include "gantry/Transforms/SpecializeShapes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Resolve: names become values, scopes attributes; first steps of the phase simplify
//===----------------------------------------------------------------------===//

static void addResolve(OpPassManager &pm, const CompileOptions &options) {
  if (options.replicate.firstOnly)
    pm.addPass(createKeepFirstReplicaPass());
  // Calls become bodies and scopes attributes, so that all that follows sees lists of pure ops.
  // Calls first: then scopes around a call and inside of it meet in one place.
  pm.addPass(createResolveCallsPass());
  pm.addPass(createResolveScopesPass());
  if (const CompileOptions::Graph::Training &train = options.graph.train; !train.loss.empty()) {
    // While constants have the graph's names, and before anything is folded into them.
    MakeTrainingStepPassOptions make;
    make.loss = train.loss;
    make.optimizer = train.optimizer;
    llvm::append_range(make.trainable, train.trainable);
    pm.addPass(createMakeTrainingStepPass(make));
  }
  // Reads, ops and assignments from here on, and variables of their own.
  pm.addPass(createExpandOptimizersPass());
  // Here a variable still is one name, not a value for each replica.
  pm.addPass(createCheckCollectivesPass());
  pm.addPass(createCheckMirrorsPass());
  // From here on variables are arguments and results like others, and every op is pure.
  pm.addPass(createResolveVariablesPass());
  pm.addPass(createVerifyResolvedPass());
}

//===----------------------------------------------------------------------===//
// Simplify: one form for each meaning, every shape known
//===----------------------------------------------------------------------===//

/// Canonical forms and folding. Constants are merged apart from it: there, what they ask for
/// counts.
static void addCanonicalizer(OpPassManager &pm) {
  CanonicalizePassOptions options;
  options.mergeConstants = false;
  options.mergeBlocks = true;
  pm.addPass(createCanonicalizePass(options));
  pm.addNestedPass<func::FuncOp>(createMergeConstantsPass());
}

/// Which products a library of GPUs is asked for, as far as is known there.
static void addAssignLibraries(OpPassManager &pm, const CompileOptions &options) {
  AssignLibrariesPassOptions assign;
  assign.own = options.fuse.ownProducts;
  pm.addPass(createAssignLibrariesPass(assign));
}

static void addSimplify(OpPassManager &pm, const CompileOptions &options) {
  addResolve(pm, options);

  // Sizes first: shape arithmetic folds only when they are known.
  pm.addPass(createSpecializeShapesPass(options.graph.dims));
  // Each shard of a replicated region has shapes of its own, so the replicas become ops here.
  pm.addNestedPass<func::FuncOp>(createExpandReplicasPass());
  // Folding clamps constant indices as kernels do: bad ones are there to be seen only before.
  pm.addNestedPass<func::FuncOp>(createCheckConstantIndicesPass());
  addCanonicalizer(pm);
  // Shards have sizes and shape arithmetic is gone, so that rules know every size; what follows
  // sees one graph.
  pm.addPass(createExpandGradientsPass());
  // While borders are still those of convolutions, which may have to hold a zero point.
  pm.addNestedPass<func::FuncOp>(createFuseQDQPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeOpsPass());

  // Equal ops with equal requests are one op, wherever the requests come from.
  addCanonicalizer(pm);
  pm.addNestedPass<func::FuncOp>(createTieConstantsPass());
  pm.addPass(createMergeOpsPass());
  // Ways back are there and zeros are seen; the bounds of loops still are, which say how many rows.
  pm.addNestedPass<func::FuncOp>(createHoistSumsPass());
  pm.addNestedPass<func::FuncOp>(createBoundLoopsPass());
  pm.addPass(createVerifySimplifiedPass());
  // Place is about to predict what shares a kernel.
  addAssignLibraries(pm, options);

  // How often loops go round is lost when their ops are kernels.
  pm.addNestedPass<func::FuncOp>(createAnnotateTripsPass());

  // Names last, when the ops are those that will be placed.
  pm.addNestedPass<func::FuncOp>(createNameOpsPass());
  // Behind them, since the errors say them; what is left of indices now depends on the caller.
  pm.addNestedPass<func::FuncOp>(createCheckConstantIndicesPass());
  if (options.simplify.checkIndices)
    pm.addNestedPass<func::FuncOp>(createInsertIndexChecksPass());
}

//===----------------------------------------------------------------------===//
// Replicate: every op runs once, on one device
//===----------------------------------------------------------------------===//

static void addReplicate(OpPassManager &pm) {
  ExpandCollectivesPassOptions expand;
  expand.exchanges = true;
  pm.addNestedPass<func::FuncOp>(createExpandCollectivesPass(expand));
  // Chunks that two exchanges have in common are cut once.
  pm.addPass(createMergeOpsPass());
  pm.addPass(createVerifyReplicatedPass());
  pm.addNestedPass<func::FuncOp>(createNameOpsPass());
}

//===----------------------------------------------------------------------===//
// Place: a device for every op
//===----------------------------------------------------------------------===//

static void addPlace(OpPassManager &pm, PlacementRequests requests) {
  pm.addPass(createAssignDevicesPass(std::move(requests)));
  pm.addPass(createVerifyPlacedPass());
}

//===----------------------------------------------------------------------===//
// Copy: every edge between devices is an op
//===----------------------------------------------------------------------===//

/// One number of each row; none where all rows ask for nothing.
static SmallVector<int64_t> column(const MemoryRepair &repair, int64_t DeviceRepair::*number) {
  SmallVector<int64_t> numbers;
  for (const DeviceRepair &row : repair)
    numbers.push_back(row.*number);
  if (llvm::all_of(numbers, [](int64_t n) { return n == 0; }))
    numbers.clear();
  return numbers;
}

/// The parts of a repair that choose ops, which come before copies: what is elsewhere then, and
/// what pieces need of other devices, is copied once.
static void addRepairOfOps(OpPassManager &pm, const MemoryRepair &repair) {
  MoveOpsPassOptions move;
  llvm::append_range(move.bytes, column(repair, &DeviceRepair::moved));
  for (const DeviceRepair &row : repair)
    move.to.push_back(row.movedTo);
  if (!move.bytes.empty())
    pm.addPass(createMoveOpsPass(move));
  SplitBatchPassOptions split;
  llvm::append_range(split.pieces, column(repair, &DeviceRepair::pieces));
  if (split.pieces.empty())
    return;
  // What a row gives is a row's, so that pieces go as far as there.
  pm.addPass(createSplitReductionsPass());
  pm.addPass(createSplitBatchPass(split));
}

/// The parts that choose values. What is made again needs no way to the host and back.
static void addRepairOfValues(OpPassManager &pm, const MemoryRepair &repair) {
  RematerializeValuesPassOptions rematerialize;
  llvm::append_range(rematerialize.bytes, column(repair, &DeviceRepair::rematerialized));
  if (!rematerialize.bytes.empty())
    pm.addPass(createRematerializeValuesPass(rematerialize));
  OffloadValuesPassOptions offload;
  llvm::append_range(offload.bytes, column(repair, &DeviceRepair::offloaded));
  if (!offload.bytes.empty())
    pm.addPass(createOffloadValuesPass(offload));
}

/// Weights come in between all of that.
static void addRepairOfConstants(OpPassManager &pm, const MemoryRepair &repair) {
  StreamConstantsPassOptions stream;
  llvm::append_range(stream.bytes, column(repair, &DeviceRepair::streamed));
  if (!stream.bytes.empty())
    pm.addPass(createStreamConstantsPass(stream));
}

static void addCopy(OpPassManager &pm, const CompileOptions &options) {
  addRepairOfOps(pm, options.memory.repair);
  // Ops are where they stay, and what they multiply travels in the type that it is multiplied in.
  // Tensor cores round to tf32 by themselves, and nothing stores it.
  pm.addPass(createReducePrecisionPass());
  // What the graph's own copies do not move need not be brought back.
  pm.addPass(createElideCopiesPass());
  InsertCopiesPassOptions insert;
  insert.explicitOnly = options.copy.isExplicit;
  pm.addPass(createInsertCopiesPass(insert));
  addRepairOfValues(pm, options.memory.repair);
  pm.addPass(createStreamPlacedConstantsPass());
  addRepairOfConstants(pm, options.memory.repair);
  pm.addPass(createVerifyCopiesPass());
  // Before what is made of constants moves to where a plan is loaded: these weights are not made.
  pm.addPass(createKeepBlockQuantizedPass());
  // Before copies are counted: what happens at load is not of the run.
  if (options.copy.once)
    pm.addPass(createEvaluateLoadTimeConstantsPass());

  pm.addPass(createCheckCopyBudgetPass(options.copy.budget));
}

//===----------------------------------------------------------------------===//
// Fuse: groups of ops that become one kernel
//===----------------------------------------------------------------------===//

static void addFuse(OpPassManager &pm, const CompileOptions &options) {
  FormKernelsPassOptions form;
  form.fuse = options.fuse.groups;
  form.keepOnce = options.fuse.keepOnce;
  // Again where ops are on devices and have their last sizes and types.
  addAssignLibraries(pm, options);
  // Before groups, which are made of ops in their last form.
  pm.addPass(createDecomposeAttentionPass());
  pm.addPass(createPropagateNHWCPass());
  // Before groups, which are told here what joins them.
  if (options.fuse.chains != Chains::none) {
    ChainConvolutionsPassOptions chain;
    chain.all = options.fuse.chains == Chains::memory;
    pm.addPass(createChainConvolutionsPass(chain));
  }
  // The layouts of weights that are made at load are made there, too.
  if (options.copy.once)
    pm.addPass(createEvaluateLoadTimeConstantsPass());
  // Before groups, of which updates are the last ops.
  pm.addPass(createReadUpdatedVariablesPass());
  // Before groups, which are made of what is one kernel at most.
  pm.addPass(createSplitReductionsPass());
  // Right before groups, which it foresees: what merges equal ops would take its clones away.
  if (options.fuse.groups)
    pm.addPass(createCloneCheapOpsPass());
  pm.addPass(createFormKernelsPass(form));
  // Behind groups, which say what a kernel reads; without a second form where memory is short, as
  // of the batch that pieces of it read.
  if (!form.keepOnce && options.memory.repair.empty())
    pm.addPass(createPackOperandsPass());
  // Constants that went into kernels have no users left.
  pm.addPass(createMergeOpsPass());
  pm.addPass(createVerifyKernelsPass());
}

//===----------------------------------------------------------------------===//
// Kernel: loops over buffers; here a kernel learns its work items and its scratch memory, which
// Schedule and Memory have to know
//===----------------------------------------------------------------------===//

static void addKernel(OpPassManager &pm, const CompileOptions &options, LoweredKernels *known) {
  pm.addPass(createLowerKernelsPass(options.code.targets, known));
}

//===----------------------------------------------------------------------===//
// Schedule and Memory: commands in order, buffers with places
//===----------------------------------------------------------------------===//

static void addSchedule(OpPassManager &pm, const CompileOptions &options) {
  // Before values become buffers, which end where the last one reads them.
  pm.addPass(createOrderLaunchesPass());
  LowerToPlanPassOptions lower;
  lower.inPlace = options.memory.reuse;
  lower.messages = true;
  pm.addPass(createLowerToPlanPass(lower));
  // Kernels were made before it was known what calls them with which buffers.
  for (const Target *target : allTargets())
    target->buildCallPipeline(pm);
  pm.addPass(createOrderCommandsPass());
  // Before memory, which has to know what is in use at the same time.
  pm.addPass(createCoalesceCopiesPass());
}

static void addMemory(OpPassManager &pm, const CompileOptions &options) {
  PlanMemoryPassOptions plan;
  plan.reuse = options.memory.reuse;
  plan.gate = options.memory.gateCopies;
  plan.trial = options.memory.isTrial;
  pm.addPass(createPlanMemoryPass(plan));
  // Where bytes lie decides which commands have to wait for which.
  pm.addPass(createOrderQueuesPass());
  CheckLimitsPassOptions limits;
  limits.isRepaired = options.memory.fixOverLimit;
  pm.addPass(createCheckLimitsPass(limits));
  pm.addPass(createVerifyPlanPass());
  // Nothing below looks again at what may run at the same time.
  pm.addPass(createVerifyCommandsPass());
}

void gantry::buildPipeline(OpPassManager &pm, const CompileOptions &options, Phase last,
                           Phase first, LoweredKernels *known) {
  auto includes = [&](Phase phase) { return first <= phase && phase <= last; };
  if (includes(Phase::simplify))
    addSimplify(pm, options);
  if (includes(Phase::replicate))
    addReplicate(pm);
  if (includes(Phase::place))
    addPlace(pm, placementRequests(options));
  if (includes(Phase::copy))
    addCopy(pm, options);
  if (includes(Phase::fuse))
    addFuse(pm, options);
  if (includes(Phase::kernel))
    addKernel(pm, options, known);
  if (includes(Phase::schedule))
    addSchedule(pm, options);
  if (includes(Phase::memory))
    addMemory(pm, options);
}

PlacementRequests gantry::placementRequests(const CompileOptions &options) {
  // Explicit copies mean that ops stay with their operands, unless a policy is given (P14).
  bool follow = options.place.policy == PlacementPolicy::follow ||
                (options.place.policy == PlacementPolicy::unset && options.copy.isExplicit);
  return {follow, options.place.soft, options.place.rules, options.place.lock,
          options.place.changes};
}

namespace {
/// Place's requests as gantry-opt takes them: --gantry-place="rules=op:MatMul=GPU:1 lock=FILE".
struct PlaceOptions : PassPipelineOptions<PlaceOptions> {
  Option<bool> follow{*this, "follow", llvm::cl::desc("as --placement=follow")};
  Option<bool> soft{*this, "soft", llvm::cl::desc("as --soft-placement")};
  ListOption<std::string> rules{*this, "rules", llvm::cl::desc("each as --place")};
  Option<std::string> lock{*this, "lock", llvm::cl::desc("as --placement-lock")};

  std::vector<std::string> flags() const {
    std::vector<std::string> flags;
    if (follow)
      flags.push_back("placement=follow");
    if (soft)
      flags.push_back("soft-placement");
    for (const std::string &rule : rules)
      flags.push_back("place=" + rule);
    if (!lock.empty())
      flags.push_back("placement-lock=" + lock);
    return flags;
  }
};
} // namespace

/// A registration by hand: the reading of rules and locks may fail.
static void registerPlacePipeline() {
  registerPassPipeline(
      "gantry-place", "The phase Place, with requests from outside the graph",
      [](OpPassManager &pm, StringRef text, function_ref<LogicalResult(const Twine &)> fail) {
        PlaceOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        std::vector<std::string> flags = options.flags();
        Expected<CompileOptions> read =
            readCompileFlags(SmallVector<StringRef>(flags.begin(), flags.end()));
        if (!read)
          return fail(read.status().message());
        addPlace(pm, placementRequests(*read));
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> visit) { visit(PlaceOptions()); });
}

void gantry::registerPipelines() {
  registerPlacePipeline();
  PassPipelineRegistration<>(
      "gantry-pipeline", "All phases from a graph to a plan with offsets",
      [](OpPassManager &pm) { buildPipeline(pm, CompileOptions(), Phase::memory); });
  PassPipelineRegistration<>("gantry-kernel-pipeline",
                             "Kernels of gantry ops to loops over buffers",
                             [](OpPassManager &pm) { buildCPUKernelPipeline(pm); });
  PassPipelineRegistration<>("gantry-llvm-pipeline", "Loops over buffers to the LLVM dialect",
                             [](OpPassManager &pm) { buildLLVMPipeline(pm); });
  PassPipelineRegistration<>("gantry-cuda-kernel-pipeline",
                             "Kernels of gantry ops to the code of GPU threads",
                             [](OpPassManager &pm) { buildCUDAKernelPipeline(pm); });
  PassPipelineRegistration<>("gantry-nvvm-pipeline", "Code of GPU threads to the LLVM dialect",
                             [](OpPassManager &pm) { buildNVVMPipeline(pm); });
}
