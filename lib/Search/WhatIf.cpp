#include "WhatIf.h"

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Plan/IR/Plan.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Target/Plan/WritePlan.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;

namespace {
/// What one way of placing comes to; sums over functions.
struct Outlook {
  std::string failure; ///< why there is no plan
  bool doesNotFit = false;
  double seconds = 0;
  plan::CopyTally copies; ///< per run
  uint64_t inside = 0;    ///< copies in branches and loops
  struct Memory {
    std::string device;
    uint64_t bytes, limit;
  };
  std::vector<Memory> memory; ///< by device
};
} // namespace

static void readPlan(ModuleOp module, const plan::fb::Plan &plan, Outlook &outlook) {
  for (auto device : module.getOps<plan::ir::DeviceOp>()) // as in the plan
    outlook.memory.push_back(
        {device.getDevice().getName().shortStr(), 0, uint64_t(device.getLimit())});
  for (const plan::fb::Arena *arena : plan::each(plan.arenas()))
    outlook.memory[arena->device()].bytes += arena->size();
  for (const plan::fb::Function *function : plan::each(plan.functions())) {
    plan::Ledger ledger = plan::Ledger::of(plan, *function);
    plan::CopyTally tally = ledger.totalPerRun();
    for (size_t kind = 0; kind < plan::numCopyKinds; ++kind)
      outlook.copies.kinds[kind] += tally.kinds[kind];
    outlook.inside += ledger.totalInside().betweenDevices().copies;
    outlook.seconds += plan::predictedSeconds(plan, *function);
  }
}

static Outlook look(ModuleOp module, const CompileOptions &options) {
  Outlook outlook;
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  buildPipeline(pm, options, Phase::memory, Phase::place);
  // Warnings and remarks were told when the question was read.
  ScopedDiagnosticHandler listener(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && outlook.failure.empty()) {
      outlook.failure = lineOf(diagnostic);
      outlook.doesNotFit = statusCodeOf(diagnostic) == StatusCode::doesNotFit;
    }
    return success();
  });
  if (failed(pm.run(*copy))) {
    if (outlook.failure.empty())
      outlook.failure = "compiling fails";
    return outlook;
  }
  if (FailureOr<AlignedBuffer> metadata = planMetadata(*copy, {}); succeeded(metadata))
    readPlan(*copy, *plan::fb::GetPlan(metadata->data()), outlook);
  return outlook;
}

static std::string percent(double before, double after) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (before > 0 && after > 0)
    os << gantry::format(" (%+.1f %%)", 100 * (after / before - 1));
  return text;
}

static std::string kindsOf(const plan::CopyTally &tally) {
  std::string text;
  for (plan::fb::CopyKind kind : plan::fb::EnumValuesCopyKind())
    if (kind != plan::fb::CopyKind::sameDevice && tally[kind].copies)
      text += (text.empty() ? " (" : ", ") + std::string(plan::copyKindName(kind)) + " " +
              std::to_string(tally[kind].copies);
  return text.empty() ? text : text + ")";
}

static std::string copiesLine(const Outlook &before, const Outlook &after) {
  auto a = before.copies.betweenDevices(), b = after.copies.betweenDevices();
  std::string text = "  copies     " + std::to_string(a.copies) + kindsOf(before.copies) + " -> " +
                     std::to_string(b.copies) + kindsOf(after.copies) + " per run, " +
                     formatBytes(a.bytes) + " -> " + formatBytes(b.bytes);
  if (before.inside != after.inside)
    text += "; in branches and loops " + std::to_string(before.inside) + " -> " +
            std::to_string(after.inside);
  return text + "\n";
}

static std::string memoryLines(const Outlook &before, const Outlook &after) {
  std::string text;
  for (const auto &[a, b] : llvm::zip(before.memory, after.memory))
    if (a.bytes != b.bytes)
      text += "  memory     " + b.device + " " + formatBytes(a.bytes) + " -> " +
              formatBytes(b.bytes) + (b.limit ? " of " + formatBytes(b.limit) : "") + "\n";
  bool anyLimit = llvm::any_of(after.memory, [](const Outlook::Memory &m) { return m.limit; });
  return text + (anyLimit ? "  it fits the limits\n" : "  no limits were given\n");
}

std::string gantry::compareWith(ModuleOp module, const CompileOptions &options,
                                const placement::Changes &changes) {
  CompileOptions changed = options;
  changed.place.changes = changes;
  Outlook before = look(module, options), after = look(module, changed);
  if (!after.failure.empty())
    return (after.doesNotFit ? "then it does not fit: " : "then it cannot be compiled: ") +
           after.failure + "\n";
  if (!before.failure.empty())
    return "then it compiles, predicted " + formatSeconds(after.seconds) + " per run, with " +
           std::to_string(after.copies.betweenDevices().copies) +
           " copies; now it does not: " + before.failure + "\n";
  return "then, compared with now:\n  predicted  " + formatSeconds(before.seconds) + " -> " +
         formatSeconds(after.seconds) + " per run" + percent(before.seconds, after.seconds) + "\n" +
         copiesLine(before, after) + memoryLines(before, after);
}
