// gantry explain for people: tables, bars and charts.
#include "Console.h"
#include "Explain.h"
#include "PlacementLog.h"
#include "QueueChart.h"
#include "Text.h"
#include "Timeline.h"

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <map>

namespace gantry::tool {

using namespace plan;

namespace {

constexpr size_t chartWidth = 64, chartHeight = 8, barWidth = 20;
constexpr size_t valuesShown = 8; ///< largest values at the peak, without --memory
constexpr size_t namesShown = 4;  ///< of ops that have something in common

std::string text(const flatbuffers::String *string) { return printable(textOf(string)); }

void printHeader(const Subject &subject) {
  const std::string source = text(subject.plan.source());
  std::printf("plan of %s%s, made by %s\n", formatBytes(subject.model.file.bytes().size()).c_str(),
              source.empty() ? "" : (" from '" + source + "'").c_str(),
              subject.plan.producer() ? subject.plan.producer()->c_str() : "an unknown compiler");
  std::string devices;
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const fb::Device &device = *subject.plan.devices()->Get(d);
    devices += (d ? ", " : "") + shortDeviceName(subject.plan, d) + " (" + text(device.driver()) +
               (device.memory_limit() ? ", limit " + formatBytes(device.memory_limit()) : "") + ")";
  }
  std::printf("devices: %s\n", devices.c_str());
  if (!textOf(subject.plan.placement()).empty())
    std::printf("placement: %s\n", subject.plan.placement()->c_str());
  for (const auto *constraint : listOf(subject.plan.constraints()))
    std::printf("constraint: %s\n", text(constraint).c_str());
  // Who has just compiled the graph has read them.
  if (!subject.model.compileSeconds)
    for (const auto *remark : listOf(subject.plan.remarks()))
      std::printf("remark: %s\n", text(remark).c_str());
}

uint64_t bindingBytes(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                      uint32_t device) {
  uint64_t bytes = 0;
  for (const auto *binding : listOf(bindings))
    if (binding->device() == device)
      bytes += typeBytes(*binding->type());
  return bytes;
}

void printBindings(const Subject &subject, const fb::Function &function) {
  Table table({"", "name", "type", ">bytes", "device"});
  const auto add = [&](const char *kind, const auto *bindings) {
    for (const auto *binding : listOf(bindings))
      table.add({kind, text(binding->name()), typeText(*binding->type()),
                 std::to_string(typeBytes(*binding->type())),
                 shortDeviceName(subject.plan, binding->device())});
  };
  add("input", function.inputs());
  add("output", function.outputs());
  std::printf("\n%s", table.text().c_str());
}

/// "requested: asked at model.mlir:4:8, fell back".
std::string why(const Subject &subject, const fb::PlacedOp &op) {
  std::string text(textOf(op.rule()));
  if (!textOf(op.reason()).empty())
    text += ": " + subject.where(textOf(op.reason()));
  return text + (op.fall_back() ? ", fell back" : "") + (op.once() ? ", once at load" : "");
}

void printOps(const Subject &subject, const fb::Function &function) {
  Table table({"op", "name", "device", "why", ">predicted", "kernel", ">flops", ">bytes", "where"});
  for (const auto *op : listOf(function.placed_ops()))
    if (subject.wants(*op))
      table.add({text(op->log_name()), text(op->name()),
                 shortDeviceName(subject.plan, op->device()), why(subject, *op),
                 formatSeconds(subject.seconds(*op)), text(op->kernel_name()),
                 std::to_string(op->flops()), std::to_string(op->bytes()),
                 subject.where(textOf(op->location()))});
  if (!table.empty())
    std::printf("\nops\n%s", table.text().c_str());
  else if (!subject.options.op.empty())
    std::printf("\nno op's name or kind contains '%s'\n", subject.options.op.c_str());
}

/// Devices that were not taken, each reason once with the ops that it holds for.
void printRejected(const Subject &subject, const fb::Function &function) {
  std::vector<std::string> reasons; // as they come
  std::map<std::string, std::vector<std::string>> ops;
  for (const auto *op : listOf(function.placed_ops()))
    for (const auto *rejected : listOf(op->rejected())) {
      if (!subject.wants(*op))
        continue;
      std::vector<std::string> &names = ops[text(rejected)];
      if (names.empty())
        reasons.push_back(text(rejected));
      names.push_back(text(textOf(op->name()).empty() ? op->log_name() : op->name()));
    }
  if (reasons.empty())
    return;
  Table table({"not taken", "by"});
  for (const std::string &reason : reasons) {
    const std::vector<std::string> &names = ops[reason];
    const bool all = names.size() <= namesShown || !subject.options.op.empty();
    std::string by;
    for (size_t i = 0; i < (all ? names.size() : namesShown); ++i)
      by += (i ? ", " : "") + names[i];
    table.add({reason, by + (all ? "" : format(" and %zu more", names.size() - namesShown))});
  }
  std::printf("\n%s", table.text().c_str());
}

void printCopies(const Subject &subject, const Ledger &ledger) {
  constexpr const char *times[] = {"at load", "every run", "in a branch or loop"};
  Table table({"copy", "kind", "from", "to", ">bytes", ">predicted", "caused by", "value"});
  for (const LedgerCopy &copy : ledger.copies)
    if (subject.wants(copy))
      table.add({copy.joined ? "  same transfer" : times[static_cast<size_t>(copy.time)],
                 std::string(copyKindName(copy.kind)), shortDeviceName(subject.plan, copy.from),
                 shortDeviceName(subject.plan, copy.to), std::to_string(copy.bytes),
                 formatSeconds(subject.seconds(copy)), subject.where(copy.cause),
                 std::string(copy.name)});
  if (!table.empty())
    std::printf("\ncopies\n%s", table.text().c_str());
}

/// A bar per device of ops and of predicted time, and the whole against what cannot be beaten.
void printPrediction(const Subject &subject, const fb::Function &function, const Ledger &ledger) {
  const std::vector<DeviceLoad> loads = subject.loadsOf(function, ledger);
  if (loads.size() > 1) {
    uint64_t mostOps = 1;
    double mostSeconds = 1e-12;
    for (const DeviceLoad &load : loads) {
      mostOps = std::max(mostOps, load.ops);
      mostSeconds = std::max({mostSeconds, load.compute, load.copies});
    }
    Table table({"device", ">ops", "", ">predicted compute", "", ">copies", ">bytes", ""});
    for (uint32_t d = 0; d < loads.size(); ++d) {
      const DeviceLoad &load = loads[d];
      table.add({shortDeviceName(subject.plan, d), std::to_string(load.ops),
                 bar(static_cast<double>(load.ops) / static_cast<double>(mostOps), barWidth),
                 formatSeconds(load.compute), bar(load.compute / mostSeconds, barWidth),
                 formatSeconds(load.copies), formatBytes(load.copied),
                 bar(load.copies / mostSeconds, barWidth)});
    }
    std::printf("\n%s", table.text().c_str());
  }
  if (function.predicted_seconds() > 0) {
    std::printf("\npredicted %s per run", formatSeconds(function.predicted_seconds()).c_str());
    if (function.lower_bound_seconds() > 0)
      std::printf(", %.2f times the %s that no placement on these devices can beat",
                  function.predicted_seconds() / function.lower_bound_seconds(),
                  formatSeconds(function.lower_bound_seconds()).c_str());
    std::printf("\n");
  }
}

void printKernels(const Subject &subject, const fb::Function &function) {
  const std::vector<KernelUse> uses = subject.kernelsOf(function);
  Table table({"kernel", ">launches", ">items", "ops"});
  uint64_t launches = 0;
  for (const KernelUse &use : uses) {
    launches += use.launches;
    table.add({use.symbol, std::to_string(use.launches), std::to_string(use.items), use.ops});
  }
  std::printf("\n%s, %s for %s\n", counted(uses.size(), "kernel").c_str(),
              counted(launches, "launch").c_str(),
              counted(listOf(function.placed_ops()).size(), "op").c_str());
  if (!uses.empty())
    std::fputs(table.text().c_str(), stdout);
}

/// "code of avx512f on host, else code on host" for each driver on which there is a choice.
std::vector<std::string> variantChoices(const fb::Plan &plan, const fb::Kernel &kernel) {
  std::map<std::string_view, std::vector<std::string>> byDriver;
  for (const KernelVariant &variant : variantsOf(plan, kernel))
    byDriver[variant.driver].push_back(variant.describe(plan));
  std::vector<std::string> choices;
  for (const auto &[driver, variants] : byDriver) {
    if (variants.size() < 2)
      continue;
    choices.emplace_back();
    for (const std::string &variant : variants)
      choices.back() += (choices.back().empty() ? "" : ", else ") + variant;
  }
  return choices;
}

/// What load chooses among, a line for all kernels with the same choice.
void printVariants(const fb::Plan &plan) {
  std::map<std::string, size_t> kernels;
  for (const fb::Kernel *kernel : listOf(plan.kernels()))
    for (const std::string &choice : variantChoices(plan, *kernel))
      ++kernels[choice];
  for (const auto &[choice, count] : kernels)
    std::printf("%s: %s\n", counted(count, "kernel").c_str(), choice.c_str());
}

void printMemoryOverTime(const Subject &subject, const fb::Function &function, uint32_t device,
                         uint32_t arena) {
  const auto commands = commandsOf(function);
  const Timeline timeline = timelineOf(function, arena, commands.size());
  if (timeline.peak == 0)
    return;
  const fb::Command *peak = commands[timeline.peakCommand].command;
  const std::string on =
      subject.plan.devices()->size() > 1 ? " on " + shortDeviceName(subject.plan, device) : "";
  std::printf(
      "  peak %s live%s at command %zu of %zu, '%s'%s\n", formatBytes(timeline.peak).c_str(),
      on.c_str(), timeline.peakCommand + 1, commands.size(), text(peak->name()).c_str(),
      peak->location() ? (" (" + subject.where(textOf(peak->location())) + ")").c_str() : "");
  Table table({"value at the peak", "type", ">bytes", ">offset", "live", "made by"});
  const auto values = liveAt(function, arena, timeline.peakCommand);
  const size_t shown =
      subject.options.memory ? values.size() : std::min(values.size(), valuesShown);
  for (size_t i = 0; i < shown; ++i) {
    const fb::Value &value = *values[i];
    const fb::Command *maker =
        value.first() < commands.size() ? commands[value.first()].command : nullptr;
    table.add({text(value.name()), value.type() ? typeText(*value.type()) : "",
               std::to_string(value.buffer()->size()), std::to_string(value.buffer()->offset()),
               std::to_string(value.first() + 1) + "–" + std::to_string(value.last() + 1),
               !maker              ? ""
               : maker->location() ? subject.where(textOf(maker->location()))
                                   : text(maker->name())});
  }
  std::fputs(table.text().c_str(), stdout);
  if (shown < values.size())
    std::printf("  … and %zu smaller ones (--memory shows them)\n", values.size() - shown);
  std::fputs(drawTimeline(timeline, chartWidth, chartHeight).c_str(), stdout);
}

void printMemory(const Subject &subject, const fb::Function &function) {
  Table table({"memory", ">constants", ">variables", ">transient", ">lower bound", ">ratio",
               ">inputs", ">outputs", ">limit"});
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const DeviceMemory memory = subject.memoryOf(d);
    const uint64_t limit = subject.plan.devices()->Get(d)->memory_limit();
    table.add({shortDeviceName(subject.plan, d), formatBytes(memory.sizes[0]),
               formatBytes(memory.sizes[1]), formatBytes(memory.sizes[2]),
               memory.lowerBound ? formatBytes(memory.lowerBound) : "",
               memory.lowerBound ? format("%.3f", static_cast<double>(memory.sizes[2]) /
                                                      static_cast<double>(memory.lowerBound))
                                 : "",
               formatBytes(bindingBytes(function.inputs(), d)),
               formatBytes(bindingBytes(function.outputs(), d)), limit ? formatBytes(limit) : ""});
  }
  std::printf("\n%s", table.text().c_str());
  // Spec M6: what n sessions take.
  std::puts("  n sessions of the plan take constants + variables + n × transient");
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d)
    if (auto arena = subject.memoryOf(d).transient)
      printMemoryOverTime(subject, function, d, *arena);
}

} // namespace

void explainForPeople(const Subject &subject, const std::vector<plan::Moment> &moments) {
  const Options &options = subject.options;
  printHeader(subject);
  printVariants(subject.plan);
  for (const fb::Function *function : subject.functions()) {
    const Ledger ledger = Ledger::of(subject.plan, *function);
    std::printf("\nfunction %s\n", text(function->name()).c_str());
    const bool onlyOp = !options.op.empty();
    if (!onlyOp)
      printBindings(subject, *function);
    if (onlyOp || !options.memory) {
      printOps(subject, *function);
      printRejected(subject, *function);
      printCopies(subject, ledger);
    }
    if (onlyOp)
      continue;
    if (!options.memory) {
      std::printf("\n%s\n", placementSummary(subject.plan, *function, ledger).c_str());
      printPrediction(subject, *function, ledger);
      printKernels(subject, *function);
    }
    if (options.timeline)
      std::printf("\n%s", drawQueues(subject.plan, moments, chartWidth).c_str());
    printMemory(subject, *function);
  }
}

} // namespace gantry::tool
