#include "OverLimit.h"

#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Target/Plan/WritePlan.h"
#include "gantry/Transforms/OverLimit.h"

#include "llvm/Support/Format.h"

#include <numeric>

using namespace mlir;
using namespace gantry;

/// Each takes as long as a compilation without code.
static constexpr int kRounds = 12;
/// So many of them in turn may bring nothing.
static constexpr int kMostStalls = 6;
/// More pieces than this are not tried.
static constexpr int64_t kMostPieces = 64;
/// A plan that takes so little longer is as good as one that fits.
static constexpr double kCheap = 1.01;
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

static void tell(MLIRContext *context, Outcome &outcome) {
  for (Diagnostic &diagnostic : outcome.heard)
    context->getDiagEngine().emit(std::move(diagnostic));
}

static double secondsOf(ModuleOp module) {
  double seconds = 0;
  if (FailureOr<AlignedBuffer> metadata = planMetadata(module, {}); succeeded(metadata)) {
    const plan::fb::Plan &plan = *plan::fb::GetPlan(metadata->data());
    for (const plan::fb::Function *function : plan::each(plan.functions()))
      seconds += plan::predictedSeconds(plan, *function);
  }
  return seconds;
}

static void measure(Attempt &attempt) {
  ModuleOp module = *attempt.module;
  if (!attempt.outcome.ran && !attempt.outcome.isOverLimit)
    return; // there is no plan
  for (auto device : module.getOps<commands::DeviceOp>()) {
    int64_t bytes = memory::boundBytes(module, device.getSymNameAttr());
    for (auto arena : module.getOps<commands::ArenaOp>())
      if (arena.getDeviceAttr().getAttr() == device.getSymNameAttr())
        bytes += std::max(arena.getSize(), arena.getLoadSize());
    int64_t limit = device.getLimit();
    attempt.bytes.push_back(bytes);
    attempt.missing.push_back(limit ? std::max<int64_t>(0, bytes - limit) : 0);
  }
  attempt.seconds = secondsOf(module);
}

//===----------------------------------------------------------------------===//
// What may help
//===----------------------------------------------------------------------===//

/// Whether a device has a constant in two layouts.
static bool keepsTwice(ModuleOp module) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, Attribute> layouts;
  for (auto constant : module.getOps<commands::ConstantOp>()) {
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

static bool computesAtLoad(ModuleOp module) {
  return llvm::any_of(module.getOps<commands::FuncOp>(),
                      [](commands::FuncOp func) { return func.getAtLoad(); });
}

/// More weights on the host: what is missing, times `factor`, and a little for what copies need in
/// transient memory. False when no device that lacks room has a host to keep its weights, or any
/// more of them.
static bool askForMore(const Attempt &attempt, int64_t factor, std::vector<int64_t> &streamed) {
  ModuleOp module = *attempt.module;
  streamed.resize(attempt.missing.size());
  bool isAny = false;
  for (auto [i, device] : llvm::enumerate(module.getOps<commands::DeviceOp>())) {
    int64_t constants = 0;
    for (auto constant : module.getOps<commands::ConstantOp>())
      if (constant.getDeviceAttr().getAttr() == device.getSymNameAttr())
        constants += constant.getSize();
    if (attempt.missing[i] == 0 || constants == 0 ||
        device.getDevice().getName().type == DeviceType::CPU)
      continue;
    streamed[i] += factor * (attempt.missing[i] + attempt.missing[i] / 8);
    isAny = true;
  }
  return isAny;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

/// "GPU:0: 12 weights of 3.4 MiB in all stay on the host and come in each run", by device.
static std::string describeStreamed(ModuleOp module) {
  std::string text;
  for (auto device : module.getOps<commands::DeviceOp>()) {
    uint64_t bytes = 0, number = 0;
    module.walk([&](commands::CopyOp copy) {
      for (unsigned i = 0; i < copy.getSources().size(); ++i) {
        commands::CopyOp::Copied value = copy.getCopied(i);
        auto target = value.target.getDefiningOp<commands::BufferDeclOp>();
        if (value.cause != kOverLimitCause || !target ||
            target.getDeviceAttr().getAttr() != device.getSymNameAttr())
          continue;
        bytes += target.getSize();
        ++number;
      }
    });
    if (number != 0)
      text += (text.empty() ? "" : "; ") + device.getDevice().getName().shortStr() + ": " +
              std::to_string(number) + (number == 1 ? " weight of " : " weights of ") +
              formatBytes(bytes) + (number == 1 ? " stays" : " in all stay") +
              " on the host and come" + (number == 1 ? "s" : "") + " in each run";
  }
  return text;
}

/// "GPU:0: the batch goes through where most is held in 4 pieces", by device.
static std::string describePieces(ModuleOp module, ArrayRef<int64_t> pieces) {
  std::string text;
  for (auto [device, count] : llvm::zip(module.getOps<commands::DeviceOp>(), pieces))
    if (count > 1)
      text += (text.empty() ? "" : "; ") + device.getDevice().getName().shortStr() +
              ": the batch goes in " + std::to_string(count) + " pieces where most is held";
  return text;
}

/// What a step brought: "12 MiB less, 34 us more per run".
static std::string compare(int64_t saved, double seconds) {
  std::string text = formatBytes(std::abs(saved)) + (saved < 0 ? " more, " : " less, ");
  return text + formatSeconds(std::abs(seconds)) + (seconds < 0 ? " less" : " more") + " per run";
}

static std::string compareAll(double before, double after) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "predicted " << formatSeconds(before) << " -> " << formatSeconds(after) << " per run";
  if (before > 0)
    out << llvm::format(" (%.2fx)", after / before);
  return text;
}

/// What a command reads and writes on a device, and its scratch memory.
static uint64_t bytesHeldBy(Operation *command, StringAttr device) {
  llvm::SmallDenseSet<Value> seen;
  uint64_t bytes = 0;
  schedule::forEachBuffer(command, [&](Value buffer, bool) {
    auto declared = buffer.getDefiningOp<commands::BufferDeclOp>();
    if (declared && declared.getDeviceAttr().getAttr() == device && seen.insert(buffer).second)
      bytes += declared.getSize();
  });
  return bytes;
}

namespace {
/// What stands in the way of the plan that misses least.
struct Refusal {
  int64_t missing;
  Location loc;
  std::string text;
};
} // namespace

static Refusal refusalOf(const Attempt &attempt) {
  ModuleOp module = *attempt.module;
  auto shortest = llvm::max_element(attempt.missing) - attempt.missing.begin();
  commands::DeviceOp device = *std::next(module.getOps<commands::DeviceOp>().begin(), shortest);
  commands::LaunchOp fullest;
  uint64_t most = 0;
  module.walk([&](commands::LaunchOp launch) {
    if (uint64_t bytes = bytesHeldBy(launch, device.getSymNameAttr()); bytes > most) {
      most = bytes;
      fullest = launch;
    }
  });
  std::string text = "of what --over-limit=fix can do, the plan that needs least needs " +
                     formatBytes(attempt.bytes[shortest]);
  if (fullest)
    text += ", and '" +
            (fullest.getName().empty() ? fullest.getKernel() : fullest.getName()).str() +
            "' alone reads and writes " + formatBytes(most) + " of transient memory";
  return {attempt.allMissing(), fullest ? fullest.getLoc() : device.getLoc(), text};
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
struct Repair {
  OwningOpRef<ModuleOp> &module;
  RunRest run;
  MLIRContext *context = module->getContext();
  OwningOpRef<ModuleOp> placed = module->clone();
  std::optional<Refusal> refusal = {}; ///< of the attempt that misses least

  Attempt attempt(const CompileOptions &options) {
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
    auto tryOut = [&](bool CompileOptions::*option, bool value) {
      CompileOptions options = last().options;
      options.*option = value;
      if (Attempt made = attempt(options);
          made.isAnswer() || made.allMissing() < last().allMissing())
        best = std::move(made);
    };
    if (keepsTwice(*first.module))
      tryOut(&CompileOptions::keepOnce, true);
    // What is computed at load takes room in each run, too.
    if (!last().isAnswer() && computesAtLoad(*first.module))
      tryOut(&CompileOptions::once, false);
    return best;
  }

  /// With ever more weights on the host, from a plan that does not fit.
  std::optional<Attempt> stream(const Attempt &from) {
    Attempt last;
    const Attempt *before = &from;
    // What is asked for may be a part of a weight that comes in already, or there is nothing left.
    int stalls = 0;
    for (int round = 0; round < kRounds && stalls < kMostStalls; ++round) {
      CompileOptions options = before->options;
      if (!askForMore(*before, int64_t(1) << stalls, options.streamed))
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

  /// More weights on the host leave more room to bring them in ahead of their use.
  void improve(Attempt &found) {
    const CompileOptions fitting = found.options;
    for (double factor : {1.15, 1.3, 1.6, 2., 3.}) {
      if (llvm::all_of(fitting.streamed, [](int64_t bytes) { return bytes == 0; }))
        return;
      CompileOptions options = fitting;
      for (int64_t &bytes : options.streamed)
        bytes = int64_t(double(bytes) * factor);
      if (Attempt made = attempt(options); made.outcome.ran && made.seconds < found.seconds)
        found = std::move(made);
    }
  }

  /// With weights on the host, and the batch in ever more pieces as long as that takes bytes off.
  std::optional<Attempt> search(const Attempt &whole, const Attempt &first) {
    std::optional<Attempt> best = stream(whole);
    if (best && !best->outcome.ran)
      return best;
    if (best)
      improve(*best);
    int64_t bytes = whole.bytesWhereShort(first);
    for (int64_t count = 2; count <= kMostPieces; count *= 2) {
      if (best && best->seconds < kCheap * first.seconds)
        break;
      CompileOptions options = whole.options;
      for (int64_t missing : first.missing)
        options.pieces.push_back(missing > 0 ? count : 1);
      Attempt split = attempt(options);
      const bool isEnough = split.isAnswer();
      if (!isEnough && !isWorthIt(bytes - split.bytesWhereShort(first), first))
        break;
      bytes = isEnough ? 0 : split.bytesWhereShort(first);
      std::optional<Attempt> found = isEnough ? std::move(split) : stream(split);
      if (found && !found->outcome.ran)
        return found;
      if (found)
        improve(*found);
      // Once more pieces take longer, even more do, too.
      const bool isLast = isEnough || (found && best && found->seconds >= best->seconds);
      if (found && (!best || found->seconds < best->seconds))
        best = std::move(found);
      if (isLast)
        break;
    }
    return best;
  }

  /// Whether so many bytes less are much beside what there is room for.
  static bool isWorthIt(int64_t saved, const Attempt &first) {
    return saved > first.bytesWhereShort(first) / kLeastSaved - first.allMissing() / kLeastSaved;
  }

  /// What was done, cheapest first: what it takes off, and how much longer a run then is.
  std::vector<std::string> describe(const Attempt &first, const Attempt &best) {
    std::vector<std::string> steps;
    CompileOptions options = first.options;
    int64_t bytes = first.bytesWhereShort(first);
    double seconds = first.seconds;
    auto add = [&](const std::string &what, bool isLast) {
      Attempt between = isLast ? Attempt() : attemptWithoutLimits(options);
      const Attempt &now = isLast ? best : between;
      steps.push_back(what + ": " +
                      compare(bytes - now.bytesWhereShort(first), now.seconds - seconds));
      bytes = now.bytesWhereShort(first);
      seconds = now.seconds;
    };
    const CompileOptions &done = best.options;
    const std::string streamed = describeStreamed(*best.module),
                      pieces = describePieces(*best.module, done.pieces);
    const bool isAll = pieces.empty() && streamed.empty();
    if (std::exchange(options.keepOnce, done.keepOnce) != done.keepOnce)
      add("weights that are read in two layouts are kept in one",
          isAll && done.once == options.once);
    if (std::exchange(options.once, done.once) != done.once)
      add("what depends on constants alone is computed in each run", isAll);
    options.pieces = done.pieces;
    if (!pieces.empty())
      add(pieces, streamed.empty());
    if (!streamed.empty())
      add(streamed, true);
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
  tell(context, first.outcome);
}

LogicalResult gantry::runUntilItFits(OwningOpRef<ModuleOp> &module, const CompileOptions &options,
                                     RunRest run, std::vector<std::string> &steps) {
  Repair repair{module, run};
  MLIRContext *context = repair.context;
  Attempt first = repair.attempt(options);
  auto finish = [&](Attempt &attempt) {
    module = std::move(attempt.module);
    tell(context, attempt.outcome);
    return success(attempt.outcome.ran);
  };
  if (first.isAnswer())
    return finish(first);
  // What all else is compared with.
  first.seconds = repair.attemptWithoutLimits(options).seconds;
  std::optional<Attempt> found = repair.takeWhatIsFree(first);
  if (!found || !found->isAnswer())
    found = repair.search(found ? *found : first, first);
  if (!found) {
    refuse(context, first, repair.refusal);
    return failure();
  }
  if (found->outcome.ran)
    steps = repair.describe(first, *found);
  if (failed(finish(*found)))
    return failure();
  for (const std::string &step : steps)
    emitRemark(UnknownLoc::get(context)) << "over the limit: " << step;
  return success();
}
