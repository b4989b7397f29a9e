#include "MemoryBudget.h"

#include "MemoryBudgetWords.h"
#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/Plan/WritePlan.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

#include <numeric>

using namespace mlir;
using namespace gantry;
using namespace gantry::memorybudget;

/// Each takes as long as a compilation without code.
static constexpr int kRounds = 12;
/// So many of them in turn may bring nothing.
static constexpr int kMostStalls = 6;
/// Between half of the weights that are on the host and all of them.
static constexpr int kHalvings = 3;
/// In all; then the best plan so far will do.
static constexpr int kMostAttempts = 120;
/// More pieces than this are not tried.
static constexpr int64_t kMostPieces = 64;
/// Of what is missing, how much is asked of values that are not held, and of ops that go elsewhere.
/// What is estimated before there are buffers is less than what it takes.
static constexpr double kShares[] = {1, 1.5, 3};
/// The same of values that are computed again where nothing else is done, in smaller steps.
static constexpr double kMoreShares[] = {1,   1.05, 1.1, 1.15, 1.2, 1.3, 1.4,
                                         1.6, 2,    2.5, 3,    4,   6,   8};
/// A plan that takes so little longer is as good as one that fits.
static constexpr double kCheap = 1.01;
/// A plan that takes so much longer than another that is there, with weights on the host, will
/// hardly be faster with anything else.
static constexpr double kHopeless = 1.25;
/// One part in so many of the room there is: less is not worth more pieces.
static constexpr int64_t kLeastSaved = 50;

//===----------------------------------------------------------------------===//
// What became of an attempt
//===----------------------------------------------------------------------===//

namespace {
/// How the phases went.
struct Outcome {
  bool ran = false, isOverLimit = false;
  std::vector<Diagnostic> heard;
};

/// A plan, or how far it came.
struct Attempt {
  CompileOptions options;
  OwningOpRef<ModuleOp> module;
  Outcome outcome;
  double seconds = 0;
  std::vector<int64_t> bytes = {};   ///< by logical device
  std::vector<int64_t> missing = {}; ///< under the device's limit

  /// What fails for another reason is an answer, too.
  bool isAnswer() const { return outcome.ran || !outcome.isOverLimit; }
  int64_t allMissing() const { return std::accumulate(missing.begin(), missing.end(), int64_t(0)); }
  /// On the devices that `other` has no room on.
  int64_t bytesWhereShort(const Attempt &other) const {
    int64_t sum = 0;
    for (auto [own, short_] : llvm::zip(bytes, other.missing))
      sum += short_ > 0 ? own : 0;
    return sum;
  }
};
} // namespace

static Outcome listen(MLIRContext *context, const CompileOptions &options, RunRest run) {
  Outcome outcome;
  ScopedDiagnosticHandler listener(context, [&](Diagnostic &diagnostic) {
    outcome.isOverLimit |= diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                           statusCodeOf(diagnostic) == StatusCode::doesNotFit;
    outcome.heard.push_back(std::move(diagnostic));
    return success();
  });
  outcome.ran = succeeded(run(options));
  return outcome;
}

static void tellOutcome(MLIRContext *context, Outcome &outcome) {
  for (Diagnostic &diagnostic : outcome.heard)
    context->getDiagEngine().emit(std::move(diagnostic));
}

double gantry::secondsOfPlan(ModuleOp module) {
  double seconds = 0;
  if (FailureOr<AlignedBuffer> metadata = planMetadata(module, {}); succeeded(metadata)) {
    const plan::fb::Plan &plan = *plan::fb::GetPlan(metadata->data());
    for (const plan::fb::Function *function : plan::each(plan.functions()))
      seconds += plan::predictedSeconds(plan, *function);
  }
  return seconds;
}

PlannedBytes gantry::bytesOfPlan(ModuleOp module) {
  PlannedBytes planned;
  for (auto device : module.getOps<plan::ir::DeviceOp>()) {
    int64_t bytes = memory::boundBytes(module, device.getSymNameAttr()), waitedFor = 0;
    for (auto arena : module.getOps<plan::ir::ArenaOp>())
      if (arena.getDeviceAttr().getAttr() == device.getSymNameAttr()) {
        bytes += std::max(arena.getSize(), arena.getLoadSize());
        if (auto missing = arena->getAttrOfType<IntegerAttr>(memory::kShortAttr))
          waitedFor = missing.getInt();
      }
    int64_t limit = device.getLimit();
    planned.taken.push_back(bytes);
    planned.waitedFor.push_back(waitedFor);
    planned.missing.push_back(limit ? std::max<int64_t>(0, bytes - limit) : 0);
  }
  return planned;
}

static void measure(Attempt &attempt) {
  ModuleOp module = *attempt.module;
  if (!attempt.outcome.ran && !attempt.outcome.isOverLimit)
    return; // there is no plan
  PlannedBytes planned = bytesOfPlan(module);
  attempt.bytes = std::move(planned.taken);
  attempt.missing = std::move(planned.missing);
  attempt.seconds = secondsOfPlan(module);
}

//===----------------------------------------------------------------------===//
// What may help
//===----------------------------------------------------------------------===//

/// Whether a device has a constant in two layouts.
static bool keepsTwice(ModuleOp module) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, Attribute> layouts;
  for (auto constant : module.getOps<plan::ir::ConstantOp>()) {
    if (!constant.getValueAttr())
      continue;
    Attribute layout = constant->getAttr(kLayoutAttr);
    auto [known, isNew] =
        layouts.try_emplace({constant.getValueAttr(), constant.getDeviceAttr()}, layout);
    if (!isNew && known->second != layout)
      return true;
  }
  return false;
}

/// Whether there is something that CPUs can compute row by row with its neighbours.
static bool hasDepthwise(ModuleOp module) {
  return module
      .walk([](ConvOp conv) {
        return conv.getGroups() > 1 ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a library has products, and its workspace for them, that nobody has asked it for.
static bool leavesToLibrary(ModuleOp module) {
  return TargetsAttr::of(module).asksForLibrary(kAutomaticLibraries) &&
         module
             .walk([](MatmulOp op) {
               return op.getByLibraryAttr() ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
}

static bool computesAtLoad(ModuleOp module) {
  return llvm::any_of(module.getOps<plan::ir::FuncOp>(),
                      [](plan::ir::FuncOp func) { return func.getAtLoad(); });
}

static std::vector<int64_t> constantsByDevice(ModuleOp module) {
  std::vector<int64_t> bytes;
  for (auto device : module.getOps<plan::ir::DeviceOp>()) {
    bytes.push_back(0);
    for (auto constant : module.getOps<plan::ir::ConstantOp>())
      if (constant.getDeviceAttr().getAttr() == device.getSymNameAttr())
        bytes.back() += constant.getSize();
  }
  return bytes;
}

/// More weights on the host: what is missing, times `factor`, and a little for what copies need in
/// transient memory. False when no device that lacks room has a host to keep its weights, or any
/// more of them than were asked for: `all` are there when none is on the host.
static bool askForMore(const Attempt &attempt, ArrayRef<int64_t> all, int64_t factor,
                       MemoryRepair &repair) {
  ModuleOp module = *attempt.module;
  const std::vector<int64_t> constants = constantsByDevice(module);
  repair.resize(attempt.missing.size());
  bool isAny = false;
  for (auto [i, device] : llvm::enumerate(module.getOps<plan::ir::DeviceOp>())) {
    if (attempt.missing[i] == 0 || constants[i] == 0 || repair[i].streamed >= all[i] ||
        device.getDevice().getName().type == DeviceType::CPU)
      continue;
    repair[i].streamed += factor * (attempt.missing[i] + attempt.missing[i] / 8);
    isAny = true;
  }
  return isAny;
}

static Refusal refusalOf(const Attempt &attempt) {
  size_t shortest = llvm::max_element(attempt.missing) - attempt.missing.begin();
  return memorybudget::refusalOf(*attempt.module, shortest, attempt.bytes[shortest],
                                 attempt.allMissing());
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
struct Repair {
  OwningOpRef<ModuleOp> &module;
  RunRest run;
  TellProgress tell;
  int numAttempts = 0;
  MLIRContext *context = module->getContext();
  OwningOpRef<ModuleOp> placed = module->clone();
  std::optional<Refusal> refusal = {}; ///< of the attempt that misses least

  Attempt attempt(const CompileOptions &options) {
    tell("find a plan that fits: attempt " + std::to_string(++numAttempts));
    module = placed->clone();
    Attempt made{options, nullptr, listen(context, options, run)};
    made.module = std::move(module);
    measure(made);
    if (!made.isAnswer() && (!refusal || made.allMissing() < refusal->missing))
      refusal = refusalOf(made);
    return made;
  }

  /// Of the plan that there would be if all devices had room. What does not fit has a prediction,
  /// too, but one of copies that wait for memory.
  Attempt attemptWithoutLimits(const CompileOptions &options) {
    OwningOpRef<ModuleOp> limited = std::exchange(placed, placed->clone());
    Topology topology = getTopology(*placed);
    for (PhysicalDevice &device : topology.physical)
      device.memory = 0;
    for (LogicalDevice &device : topology.logical)
      device.limit = 0;
    setTopology(*placed, topology);
    Attempt made = attempt(options);
    placed = std::move(limited);
    return made;
  }

  /// What the cost model does not count: what takes bytes off stays. None where nothing does.
  std::optional<Attempt> takeWhatIsFree(const Attempt &first) {
    std::optional<Attempt> best;
    auto last = [&]() -> const Attempt & { return best ? *best : first; };
    auto tryOut = [&](auto CompileOptions::*phase, auto option, auto value) {
      CompileOptions options = last().options;
      (options.*phase).*option = value;
      if (Attempt made = attempt(options);
          made.isAnswer() || made.allMissing() < last().allMissing())
        best = std::move(made);
    };
    if (first.options.fuse.chains == Chains::time && hasDepthwise(*placed))
      tryOut(&CompileOptions::fuse, &CompileOptions::Fuse::chains, Chains::memory);
    if (!last().isAnswer() && leavesToLibrary(*placed))
      tryOut(&CompileOptions::fuse, &CompileOptions::Fuse::ownProducts, true);
    if (!last().isAnswer() && (keepsTwice(*first.module) || packsOperands(*first.module)))
      tryOut(&CompileOptions::fuse, &CompileOptions::Fuse::keepOnce, true);
    // What is computed at load takes room in each run, too.
    if (!last().isAnswer() && computesAtLoad(*first.module))
      tryOut(&CompileOptions::copy, &CompileOptions::Copy::once, false);
    return best;
  }

  /// With ever more weights on the host, from a plan that does not fit.
  std::optional<Attempt> stream(const Attempt &from) {
    Attempt last;
    const Attempt *before = &from;
    const std::vector<int64_t> all = constantsByDevice(*from.module);
    // What is asked for may be a part of a weight that comes in already, or there is nothing left.
    int stalls = 0;
    for (int round = 0; round < kRounds && stalls < kMostStalls; ++round) {
      CompileOptions options = before->options;
      if (!askForMore(*before, all, int64_t(1) << stalls, options.memory.repair))
        break;
      Attempt made = attempt(options);
      if (made.isAnswer())
        return made;
      stalls = made.allMissing() >= before->allMissing() ? stalls + 1 : 0;
      last = std::move(made);
      before = &last;
    }
    return std::nullopt;
  }

  /// Fewer weights on the host may do: what was asked for was missing where nothing waited for
  /// memory. More of them leave more room to bring them in ahead of their use.
  void improve(Attempt &found) {
    const CompileOptions fitting = found.options;
    if (llvm::all_of(fitting.memory.repair,
                     [](const DeviceRepair &row) { return row.streamed == 0; }))
      return;
    auto fits = [&](double factor) {
      CompileOptions options = fitting;
      for (DeviceRepair &row : options.memory.repair)
        row.streamed = int64_t(double(row.streamed) * factor);
      Attempt made = attempt(options);
      const bool ran = made.outcome.ran;
      if (ran && made.seconds < found.seconds)
        found = std::move(made);
      return ran;
    };
    double most = 1, least = 0.5;
    for (int step = 0; step < kHalvings; ++step) {
      const double middle = (least + most) / 2;
      (fits(middle) ? most : least) = middle;
    }
    for (double factor : {1.15, 1.3, 1.6, 2., 3.})
      fits(factor);
  }

  bool isEnough(const std::optional<Attempt> &best, const Attempt &first) const {
    return numAttempts >= kMostAttempts ||
           (best && (!best->outcome.ran || best->seconds < kCheap * first.seconds ||
                     best->seconds > kHopeless * best->options.memory.secondsToBeat));
  }

  /// The best plan so far, and what it is made with, weights on the host apart.
  struct State {
    std::optional<Attempt> best;
    CompileOptions options;
    int64_t bytes; ///< that a plan with these options needs where memory is short
  };

  /// One way more to take bytes off, and weights on the host for what is still missing. Whether it
  /// is worth more of the same: not when nothing else is missing, or what it takes off is little.
  bool tryOut(State &state, const CompileOptions &options, const Attempt &first) {
    Attempt made = attempt(options);
    if (made.isAnswer() && !made.outcome.ran)
      return false; // it breaks another rule
    const bool fits = made.isAnswer();
    const int64_t bytes = fits ? 0 : made.bytesWhereShort(first);
    const bool isStep = fits || isWorthIt(state.bytes - bytes, first);
    // Where nothing fits yet, what is held may be less once weights are out of the way.
    if (!isStep && state.best)
      return false;
    std::optional<Attempt> found = fits ? std::move(made) : stream(made);
    if (found && !found->outcome.ran)
      return false;
    if (found && !fits)
      improve(*found);
    const bool isBetter = found && (!state.best || found->seconds < state.best->seconds);
    // Before anything fits, what takes bytes off is a step on the way.
    if (isBetter || (isStep && !found && !state.best))
      state = {isBetter ? std::move(found) : std::nullopt, options, bytes};
    return !fits && (isBetter || (isStep && !state.best));
  }

  /// Values computed again alone: more of them until the plan fits, as its buffers have it and not
  /// the estimate, then fewer as long as it does.
  void rematerialize(State &state, const Attempt &whole) {
    const CompileOptions without = state.options;
    auto fits = [&](double share) -> std::optional<bool> {
      CompileOptions options = without;
      options.memory.repair.resize(whole.missing.size());
      for (auto [row, bytes] : llvm::zip(options.memory.repair, whole.missing))
        row.rematerialized = int64_t(double(bytes) * share);
      Attempt made = attempt(options);
      if (made.isAnswer() && !made.outcome.ran)
        return std::nullopt; // it breaks another rule
      const bool ran = made.outcome.ran;
      if (ran && (!state.best || made.seconds < state.best->seconds))
        state = {std::move(made), options, 0};
      return ran;
    };
    double least = 0.5;
    for (double share : kMoreShares) {
      std::optional<bool> isEnough = fits(share);
      if (!isEnough)
        return;
      if (*isEnough) {
        double most = share;
        for (int step = 0; step < kHalvings; ++step) {
          const double middle = (least + most) / 2;
          (fits(middle).value_or(false) ? most : least) = middle;
        }
        for (double factor : {1.1, 1.25, 1.5})
          fits(most * factor); // other ops run again then, of fewer seconds, perhaps
        return;
      }
      least = share;
    }
  }

  /// With weights on the host first, then with all else, cheapest first as far as can be told
  /// before: each on top of what was best, as long as a run gets shorter by it.
  std::optional<Attempt> search(const Attempt &whole, const Attempt &first) {
    State state{stream(whole), whole.options, whole.bytesWhereShort(first)};
    if (state.best && !state.best->outcome.ran)
      return std::move(state.best);
    if (state.best)
      improve(*state.best);
    auto done = [&] { return isEnough(state.best, first); };
    auto tryShares = [&](function_ref<void(DeviceRepair &, int64_t)> set) {
      for (double share : kShares) {
        CompileOptions options = state.options;
        options.memory.repair.resize(whole.missing.size());
        for (auto [row, bytes] : llvm::zip(options.memory.repair, whole.missing))
          set(row, int64_t(double(bytes) * share));
        if (done() || !tryOut(state, options, first))
          break;
      }
    };
    if (!done())
      rematerialize(state, whole);
    tryShares([](DeviceRepair &row, int64_t bytes) { row.rematerialized = bytes; });
    // Of what goes to the host two pieces are there at a time, which is no less than the whole of
    // two.
    int failures = 0;
    for (int64_t count = 2; count <= kMostPieces && failures < 2 && !done(); count *= 2) {
      CompileOptions options = state.options;
      options.memory.repair.resize(first.missing.size());
      for (auto [row, own] : llvm::zip(options.memory.repair, first.missing))
        row.pieces = own > 0 ? count : 1;
      failures = tryOut(state, options, first) ? 0 : failures + 1;
    }
    tryShares([](DeviceRepair &row, int64_t bytes) { row.offloaded = bytes; });
    for (size_t target = 0; target < first.missing.size(); ++target)
      if (first.missing[target] == 0)
        tryShares([&](DeviceRepair &row, int64_t bytes) {
          row.moved = bytes;
          row.movedTo = int64_t(target);
        });
    return std::move(state.best);
  }

  /// Whether so many bytes less are much beside what there is room for.
  static bool isWorthIt(int64_t saved, const Attempt &first) {
    return saved > first.bytesWhereShort(first) / kLeastSaved - first.allMissing() / kLeastSaved;
  }

  /// One thing that was done, and how options say it.
  struct Step {
    std::string text;
    std::function<void(CompileOptions &)> take;
  };

  /// What was done between two sets of options, cheapest first.
  static std::vector<Step> stepsBetween(const CompileOptions &before, const CompileOptions &done,
                                        ModuleOp module) {
    std::vector<Step> taken;
    auto add = [&](bool isDone, const std::string &text, auto CompileOptions::*phase, auto option) {
      if (isDone)
        taken.push_back({text, [&done, phase, option](CompileOptions &options) {
                           (options.*phase).*option = (done.*phase).*option;
                         }});
    };
    auto addRows = [&](const std::string &text, auto... numbers) {
      if (!text.empty())
        taken.push_back({text, [&done, numbers...](CompileOptions &options) {
                           options.memory.repair.resize(done.memory.repair.size());
                           for (auto [row, from] :
                                llvm::zip(options.memory.repair, done.memory.repair))
                             ((row.*numbers = from.*numbers), ...);
                         }});
    };
    add(before.fuse.chains != done.fuse.chains,
        "convolutions are computed row by row with those around them", &CompileOptions::fuse,
        &CompileOptions::Fuse::chains);
    add(before.fuse.ownProducts != done.fuse.ownProducts,
        "products of a library, whose speed no prediction knows, are computed by kernels of the "
        "plan",
        &CompileOptions::fuse, &CompileOptions::Fuse::ownProducts);
    add(before.fuse.keepOnce != done.fuse.keepOnce,
        "weights that are read in two layouts are kept in one", &CompileOptions::fuse,
        &CompileOptions::Fuse::keepOnce);
    add(before.copy.once != done.copy.once,
        "what depends on constants alone is computed in each run", &CompileOptions::copy,
        &CompileOptions::Copy::once);
    addRows(describeRematerialized(module), &DeviceRepair::rematerialized);
    addRows(describePieces(module, done.memory.repair), &DeviceRepair::pieces);
    addRows(describeMoved(module), &DeviceRepair::moved, &DeviceRepair::movedTo);
    addRows(describeOffloaded(module), &DeviceRepair::offloaded);
    addRows(describeStreamed(module), &DeviceRepair::streamed);
    return taken;
  }

  /// The plan once more with its layouts searched to the end, unless it is slower then: where bytes
  /// lie decides what waits for what.
  void searchLayouts(Attempt &found) {
    CompileOptions thorough = found.options;
    thorough.memory.isTrial = false;
    Attempt again = attempt(thorough);
    if (again.outcome.ran && again.seconds <= found.seconds)
      found = std::move(again);
  }

  /// What each step takes off, and how much longer a run then is.
  std::vector<std::string> describe(const Attempt &first, const Attempt &best) {
    CompileOptions options = first.options;
    const std::vector<Step> taken = stepsBetween(first.options, best.options, *best.module);
    std::vector<std::string> steps;
    int64_t bytes = first.bytesWhereShort(first);
    double seconds = first.seconds;
    for (auto [i, step] : llvm::enumerate(taken)) {
      step.take(options);
      const bool isLast = i + 1 == taken.size();
      Attempt between = isLast ? Attempt() : attemptWithoutLimits(options);
      const Attempt &now = isLast ? best : between;
      // Where there is no limit, what has gone comes back at once.
      const bool isSwapping = llvm::any_of(
          options.memory.repair, [](const DeviceRepair &row) { return row.offloaded > 0; });
      int64_t left = isLast || !isSwapping ? now.bytesWhereShort(first)
                                           : attempt(options).bytesWhereShort(first);
      steps.push_back(step.text + ": " + compare(bytes - left, now.seconds - seconds));
      bytes = left;
      seconds = now.seconds;
    }
    if (!steps.empty())
      steps.back() += "; " + compareAll(first.seconds, best.seconds);
    return steps;
  }
};
} // namespace

/// The first errors, with what is in the way of a repair.
static void refuse(MLIRContext *context, Attempt &first, const std::optional<Refusal> &refusal) {
  for (Diagnostic &diagnostic : first.outcome.heard)
    if (refusal && statusCodeOf(diagnostic) == StatusCode::doesNotFit) {
      diagnostic.attachNote(refusal->loc) << refusal->text;
      break;
    }
  tellOutcome(context, first.outcome);
}

LogicalResult gantry::runUntilItFits(OwningOpRef<ModuleOp> &module, CompileOptions &options,
                                     RunRest run, TellProgress tell,
                                     std::vector<std::string> &steps) {
  Repair repair{module, run, tell};
  MLIRContext *context = repair.context;
  const bool isTrial = options.memory.isTrial;
  Attempt first = repair.attempt(options);
  auto finish = [&](Attempt &attempt) {
    module = std::move(attempt.module);
    options = attempt.options;
    options.memory.isTrial = isTrial;
    tellOutcome(context, attempt.outcome);
    return success(attempt.outcome.ran);
  };
  if (first.isAnswer())
    return finish(first);
  // One of many from here on.
  first.options.memory.isTrial = options.memory.isTrial = true;
  // What all else is compared with.
  first.seconds = repair.attemptWithoutLimits(options).seconds;
  std::optional<Attempt> found;
  if (first.seconds < options.memory.secondsToBeat) {
    found = repair.takeWhatIsFree(first);
    if (!found || !found->isAnswer())
      found = repair.search(found ? *found : first, first);
  }
  if (!found) {
    refuse(context, first, repair.refusal);
    return failure();
  }
  if (found->outcome.ran && !isTrial)
    repair.searchLayouts(*found);
  if (found->outcome.ran)
    steps = repair.describe(first, *found);
  if (failed(finish(*found)))
    return failure();
  for (const std::string &step : steps)
    emitRemark(UnknownLoc::get(context)) << "over the limit: " << step;
  return success();
}
