#include "OverLimit.h"

#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Target/Plan/WritePlan.h"
#include "gantry/Transforms/OverLimit.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace gantry;

/// Each takes as long as a compilation without code.
static constexpr int kRounds = 12;

namespace {
/// How the phases went.
struct Outcome {
  bool ran = false, isOverLimit = false;
  std::vector<Diagnostic> heard;
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

/// By logical device, how many bytes are missing.
static std::vector<int64_t> missingBytes(ModuleOp module) {
  std::vector<int64_t> missing;
  for (auto device : module.getOps<commands::DeviceOp>()) {
    int64_t bytes = memory::boundBytes(module, device.getSymNameAttr());
    for (auto arena : module.getOps<commands::ArenaOp>())
      if (arena.getDeviceAttr().getAttr() == device.getSymNameAttr())
        bytes += std::max(arena.getSize(), arena.getLoadSize());
    int64_t limit = device.getLimit();
    missing.push_back(limit ? std::max<int64_t>(0, bytes - limit) : 0);
  }
  return missing;
}

/// More of them on the host: what is missing, and a little for what copies need in transient
/// memory. False when no device that lacks room has a host to keep its weights, or any more of
/// them.
static bool askForMore(ModuleOp module, std::vector<int64_t> &streamed) {
  std::vector<int64_t> missing = missingBytes(module);
  streamed.resize(missing.size());
  bool isAny = false;
  for (auto [i, device] : llvm::enumerate(module.getOps<commands::DeviceOp>())) {
    int64_t constants = 0;
    for (auto constant : module.getOps<commands::ConstantOp>())
      if (constant.getDeviceAttr().getAttr() == device.getSymNameAttr())
        constants += constant.getSize();
    if (missing[i] == 0 || constants == 0 || device.getDevice().getName().type == DeviceType::CPU)
      continue;
    streamed[i] += missing[i] + missing[i] / 8;
    isAny = true;
  }
  return isAny;
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

/// "GPU:0: 12 weights of 3.4 MiB in all stay on the host, and each run copies them"
static void describe(ModuleOp module, std::vector<std::string> &steps) {
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
      steps.push_back(device.getDevice().getName().shortStr() + ": " + std::to_string(number) +
                      (number == 1 ? " weight of " : " weights of ") + formatBytes(bytes) +
                      (number == 1 ? " stays" : " in all stay") + " on the host and come" +
                      (number == 1 ? "s" : "") + " in each run");
  }
}

static std::string compare(double before, double after) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "predicted " << formatSeconds(before) << " -> " << formatSeconds(after) << " per run";
  if (before > 0)
    out << llvm::format(" (%.2fx)", after / before);
  return text;
}

namespace {
/// A plan that fits.
struct Found {
  OwningOpRef<ModuleOp> module;
  Outcome outcome;
  double seconds = 0;
};

struct Repair {
  OwningOpRef<ModuleOp> &module;
  RunRest run;
  MLIRContext *context = module->getContext();
  OwningOpRef<ModuleOp> placed = module->clone();

  Outcome tryOut(const CompileOptions &options) {
    module = placed->clone();
    return listen(context, options, run);
  }

  /// What is computed at load takes room in each run, too; without that it is computed there.
  std::optional<Found> computeInRuns(CompileOptions &options) {
    auto isAtLoad = [](commands::FuncOp func) { return func.getAtLoad(); };
    if (llvm::none_of(module->getOps<commands::FuncOp>(), isAtLoad))
      return std::nullopt;
    options.once = false;
    if (Outcome outcome = tryOut(options); outcome.ran || !outcome.isOverLimit) {
      double seconds = outcome.ran ? secondsOf(*module) : 0;
      return Found{std::move(module), std::move(outcome), seconds};
    }
    return std::nullopt;
  }

  /// With ever more weights on the host. What fails for another reason is found, too.
  std::optional<Found> findFirst(CompileOptions &options) {
    for (int round = 0; round < kRounds && askForMore(*module, options.streamed); ++round)
      if (Outcome outcome = tryOut(options); outcome.ran || !outcome.isOverLimit)
        return Found{std::move(module), std::move(outcome), 0};
    return std::nullopt;
  }

  /// More weights on the host leave more room to bring them in ahead of their use.
  void improve(Found &found, const CompileOptions &fitting) {
    found.seconds = secondsOf(*found.module);
    for (double factor : {1.15, 1.3, 1.6, 2., 3.}) {
      CompileOptions options = fitting;
      for (int64_t &bytes : options.streamed)
        bytes *= factor;
      Outcome outcome = tryOut(options);
      if (double seconds = outcome.ran ? secondsOf(*module) : 0;
          outcome.ran && seconds < found.seconds)
        found = {std::move(module), std::move(outcome), seconds};
    }
  }
};
} // namespace

LogicalResult gantry::runUntilItFits(OwningOpRef<ModuleOp> &module, const CompileOptions &options,
                                     RunRest run, std::vector<std::string> &steps) {
  Repair repair{module, run};
  MLIRContext *context = repair.context;
  Outcome first = listen(context, options, run);
  if (first.ran || !first.isOverLimit) {
    tell(context, first);
    return success(first.ran);
  }
  double before = secondsOf(*module);
  CompileOptions fitting = options;
  std::optional<Found> found = repair.computeInRuns(fitting);
  if (!found) {
    found = repair.findFirst(fitting);
    if (found && found->outcome.ran)
      repair.improve(*found, fitting);
  }
  if (!found) {
    tell(context, first);
    return failure();
  }
  module = std::move(found->module);
  tell(context, found->outcome);
  if (!found->outcome.ran)
    return failure();
  if (fitting.once != options.once)
    steps.push_back("what depends on constants alone is computed in each run");
  describe(*module, steps);
  if (!steps.empty())
    steps.back() += "; " + compare(before, found->seconds);
  for (const std::string &step : steps)
    emitRemark(UnknownLoc::get(context)) << "over the limit: " << step;
  return success();
}
