// gantry explain: what a plan does, where and why, read from its metadata alone.
#include "Commands.h"
#include "Console.h"
#include "Model.h"
#include "PlacementLog.h"
#include "Reports.h"
#include "Text.h"
#include "Timeline.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"

#include <map>

namespace gantry::tool {

namespace {

using namespace plan;

constexpr size_t chartWidth = 64, chartHeight = 8;
constexpr size_t valuesShown = 8; ///< largest values at the peak, without --memory

/// What the tables and the JSON are made from.
struct Subject {
  const Options &options;
  const Model &model;
  const fb::Plan &plan;

  std::vector<const fb::Function *> functions() const {
    std::vector<const fb::Function *> chosen;
    for (const auto *function : listOf(plan.functions()))
      if (options.function.empty() || textOf(function->name()) == options.function)
        chosen.push_back(function);
    return chosen;
  }
  bool wants(const fb::PlacedOp &op) const {
    return options.op.empty() || textOf(op.name()).find(options.op) != std::string_view::npos ||
           textOf(op.log_name()).find(options.op) != std::string_view::npos;
  }
  /// A location for tables: "node 'x' of path/to/model.onnx" without the file where it is the one
  /// that the first line names.
  std::string where(const flatbuffers::String *location) const {
    const std::string_view text = textOf(location), source = textOf(plan.source());
    const size_t of = text.rfind(" of ");
    if (of == std::string_view::npos || source.empty())
      return std::string(text);
    const std::string_view file = text.substr(of + 4);
    const bool same = file.ends_with(source) && (file.size() == source.size() ||
                                                 file[file.size() - source.size() - 1] == '/');
    return std::string(same ? text.substr(0, of) : text);
  }
};

std::string text(const flatbuffers::String *string) { return std::string(textOf(string)); }

/// A kernel of a function: the ops in it and how often it is launched.
struct KernelUse {
  std::string symbol;
  uint64_t launches = 0;
  uint64_t items = 0;
  std::string ops;
};

std::vector<KernelUse> kernelsOf(const fb::Plan &plan, const fb::Function &function) {
  std::vector<KernelUse> uses;
  std::map<uint32_t, size_t> places;
  for (const fb::Command *command : commandsOf(function)) {
    if (command->opcode() != fb::Opcode::launch)
      continue;
    auto [place, isNew] = places.try_emplace(command->kernel(), uses.size());
    if (isNew) {
      uses.push_back({text(listOf(plan.kernels())[command->kernel()]->symbol()), 0, 0, ""});
      for (const auto *name : listOf(command->log_names()))
        uses.back().ops += (uses.back().ops.empty() ? "" : " ") + text(name);
    }
    KernelUse &use = uses[place->second];
    ++use.launches;
    use.items += command->items();
  }
  return uses;
}

/// Bytes of a device's arenas, and the transient one for the chart.
struct DeviceMemory {
  uint64_t sizes[3] = {}; ///< by ArenaKind
  uint64_t lowerBound = 0;
  std::optional<uint32_t> transient;
};

DeviceMemory memoryOf(const fb::Plan &plan, uint32_t device) {
  DeviceMemory memory;
  for (uint32_t a = 0; a < listOf(plan.arenas()).size(); ++a) {
    const auto *arena = plan.arenas()->Get(a);
    if (arena->device() != device)
      continue;
    memory.sizes[static_cast<size_t>(arena->kind())] += arena->size();
    if (arena->kind() == fb::ArenaKind::transient) {
      memory.lowerBound += arena->lower_bound();
      memory.transient = a;
    }
  }
  return memory;
}

uint64_t bindingBytes(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                      uint32_t device) {
  uint64_t bytes = 0;
  for (const auto *binding : listOf(bindings))
    if (binding->device() == device)
      bytes += typeBytes(*binding->type());
  return bytes;
}

// --- for people ---------------------------------------------------------------------------------

void printHeader(const Subject &subject) {
  const std::string source = text(subject.plan.source());
  std::printf("plan of %s%s, made by %s\n", formatBytes(subject.model.file.bytes().size()).c_str(),
              source.empty() ? "" : (" from '" + source + "'").c_str(),
              subject.plan.producer() ? subject.plan.producer()->c_str() : "an unknown compiler");
  std::string devices;
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d)
    devices += (d ? ", " : "") + shortDeviceName(subject.plan, d) + " (" +
               text(subject.plan.devices()->Get(d)->driver()) + ")";
  std::printf("devices: %s\n", devices.c_str());
  for (const auto *constraint : listOf(subject.plan.constraints()))
    std::printf("constraint: %s\n", constraint->c_str());
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

void printOps(const Subject &subject, const fb::Function &function) {
  Table table({"op", "name", "device", "rule", "kernel", ">flops", ">bytes", "where"});
  for (const auto *op : listOf(function.placed_ops()))
    if (subject.wants(*op))
      table.add({text(op->log_name()), text(op->name()),
                 shortDeviceName(subject.plan, op->device()),
                 text(op->rule()) + (op->once() ? ", once at load" : ""), text(op->kernel_name()),
                 std::to_string(op->flops()), std::to_string(op->bytes()),
                 subject.where(op->location())});
  if (!table.empty())
    std::printf("\nops\n%s", table.text().c_str());
  else if (!subject.options.op.empty())
    std::printf("\nno op's name or kind contains '%s'\n", subject.options.op.c_str());
}

/// --op: everything that is known of an op, a line each.
void printOpDetails(const Subject &subject, const fb::Function &function) {
  for (const auto *op : listOf(function.placed_ops())) {
    if (!subject.wants(*op) || op->rejected() == nullptr)
      continue;
    for (const auto *rejected : *op->rejected())
      std::printf("  %s '%s': rejected %s\n", op->log_name()->c_str(), text(op->name()).c_str(),
                  rejected->c_str());
  }
}

void printKernels(const Subject &subject, const fb::Function &function) {
  const std::vector<KernelUse> uses = kernelsOf(subject.plan, function);
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

void printTimeline(const Subject &subject, const fb::Function &function, uint32_t arena) {
  const auto commands = commandsOf(function);
  const Timeline timeline = timelineOf(function, arena, commands.size());
  if (timeline.peak == 0)
    return;
  const fb::Command *peak = commands[timeline.peakCommand];
  std::printf("  peak %s live at command %zu of %zu, '%s'%s\n", formatBytes(timeline.peak).c_str(),
              timeline.peakCommand + 1, commands.size(), text(peak->name()).c_str(),
              peak->location() ? (" (" + subject.where(peak->location()) + ")").c_str() : "");
  Table table({"value at the peak", "type", ">bytes", ">offset", "live", "made by"});
  const auto values = liveAt(function, arena, timeline.peakCommand);
  const size_t shown =
      subject.options.memory ? values.size() : std::min(values.size(), valuesShown);
  for (size_t i = 0; i < shown; ++i) {
    const fb::Value &value = *values[i];
    const fb::Command *maker = value.first() < commands.size() ? commands[value.first()] : nullptr;
    table.add({text(value.name()), value.type() ? typeText(*value.type()) : "",
               std::to_string(value.buffer()->size()), std::to_string(value.buffer()->offset()),
               std::to_string(value.first() + 1) + "–" + std::to_string(value.last() + 1),
               !maker              ? ""
               : maker->location() ? subject.where(maker->location())
                                   : text(maker->name())});
  }
  std::fputs(table.text().c_str(), stdout);
  if (shown < values.size())
    std::printf("  … and %zu smaller ones (--memory shows them)\n", values.size() - shown);
  std::fputs(drawTimeline(timeline, chartWidth, chartHeight).c_str(), stdout);
}

void printMemory(const Subject &subject, const fb::Function &function) {
  Table table({"memory", ">constants", ">variables", ">transient", ">lower bound", ">ratio",
               ">inputs", ">outputs"});
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const DeviceMemory memory = memoryOf(subject.plan, d);
    table.add({shortDeviceName(subject.plan, d), formatBytes(memory.sizes[0]),
               formatBytes(memory.sizes[1]), formatBytes(memory.sizes[2]),
               memory.lowerBound ? formatBytes(memory.lowerBound) : "",
               memory.lowerBound ? format("%.3f", static_cast<double>(memory.sizes[2]) /
                                                      static_cast<double>(memory.lowerBound))
                                 : "",
               formatBytes(bindingBytes(function.inputs(), d)),
               formatBytes(bindingBytes(function.outputs(), d))});
  }
  std::printf("\n%s", table.text().c_str());
  // Spec M6: what n sessions take.
  std::puts("  n sessions of the plan take constants + variables + n × transient");
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d)
    if (auto arena = memoryOf(subject.plan, d).transient)
      printTimeline(subject, function, *arena);
}

void printForPeople(const Subject &subject) {
  printHeader(subject);
  for (const fb::Function *function : subject.functions()) {
    std::printf("\nfunction %s\n", function->name()->c_str());
    if (!subject.options.op.empty()) {
      printOps(subject, *function);
      printOpDetails(subject, *function);
      continue;
    }
    printBindings(subject, *function);
    if (!subject.options.memory) {
      printOps(subject, *function);
      printKernels(subject, *function);
    }
    printMemory(subject, *function);
  }
}

// --- for programs -------------------------------------------------------------------------------

template <typename Bindings>
void addBindings(JSONWriter &json, const Subject &subject, const char *key,
                 const Bindings *bindings) {
  json.key(key).beginArray();
  for (const auto *binding : listOf(bindings))
    json.beginObject()
        .member("name", textOf(binding->name()))
        .member("type", typeText(*binding->type()))
        .member("bytes", typeBytes(*binding->type()))
        .member("device", textOf(subject.plan.devices()->Get(binding->device())->name()))
        .endObject();
  json.endArray();
}

void addOps(JSONWriter &json, const Subject &subject, const fb::Function &function) {
  json.key("ops").beginArray();
  for (const auto *op : listOf(function.placed_ops())) {
    if (!subject.wants(*op))
      continue;
    json.beginObject()
        .member("op", textOf(op->log_name()))
        .member("name", textOf(op->name()))
        .member("loc", textOf(op->location()))
        .member("device", textOf(subject.plan.devices()->Get(op->device())->name()))
        .member("rule", textOf(op->rule()))
        .member("kernel", textOf(op->kernel_name()))
        .member("flops", uint64_t(op->flops()))
        .member("bytes", uint64_t(op->bytes()))
        .key("once")
        .boolean(op->once())
        .key("rejected")
        .beginArray();
    for (const auto *rejected : listOf(op->rejected()))
      json.value(textOf(rejected));
    json.endArray().endObject();
  }
  json.endArray();
}

void addKernels(JSONWriter &json, const Subject &subject, const fb::Function &function) {
  json.key("kernels").beginArray();
  for (const KernelUse &use : kernelsOf(subject.plan, function))
    json.beginObject()
        .member("symbol", use.symbol)
        .member("launches", use.launches)
        .member("items", use.items)
        .member("ops", use.ops)
        .endObject();
  json.endArray();
}

void addValues(JSONWriter &json, const fb::Function &function) {
  json.key("values").beginArray();
  for (const auto *value : listOf(function.values())) {
    if (!value->buffer() || value->buffer()->space() != fb::Space::arena)
      continue;
    json.beginObject()
        .member("name", textOf(value->name()))
        .member("type", value->type() ? typeText(*value->type()) : std::string())
        .member("arena", uint32_t(value->buffer()->index()))
        .member("offset", uint64_t(value->buffer()->offset()))
        .member("bytes", uint64_t(value->buffer()->size()))
        .member("first", uint32_t(value->first()))
        .member("last", uint32_t(value->last()))
        .endObject();
  }
  json.endArray();
}

void addMemory(JSONWriter &json, const Subject &subject) {
  json.key("memory").beginArray();
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const DeviceMemory memory = memoryOf(subject.plan, d);
    json.beginObject()
        .member("device", textOf(subject.plan.devices()->Get(d)->name()))
        .member("constants", memory.sizes[0])
        .member("variables", memory.sizes[1])
        .member("transient", memory.sizes[2])
        .member("lower_bound", memory.lowerBound)
        .endObject();
  }
  json.endArray();
}

void printJson(const Subject &subject) {
  JSONWriter json;
  json.beginObject()
      .member("source", textOf(subject.plan.source()))
      .member("producer", textOf(subject.plan.producer()))
      .member("plan_bytes", uint64_t(subject.model.file.bytes().size()));
  addMemory(json, subject);
  json.key("functions").beginArray();
  for (const fb::Function *function : subject.functions()) {
    json.beginObject().member("name", textOf(function->name()));
    addBindings(json, subject, "inputs", function->inputs());
    addBindings(json, subject, "outputs", function->outputs());
    addOps(json, subject, *function);
    addKernels(json, subject, *function);
    if (subject.options.memory)
      addValues(json, *function);
    json.endObject();
  }
  std::puts(json.endArray().endObject().text().c_str());
}

/// --function must name one that is there.
Status checkFunction(const Subject &subject) {
  if (!subject.functions().empty())
    return {};
  std::string names;
  for (const auto *function : listOf(subject.plan.functions()))
    names += (names.empty() ? "" : ", ") + text(function->name());
  return Status::notFound("no function is called '" + subject.options.function +
                          "'; the functions are " + names);
}

} // namespace

int explainCommand(const Options &options) {
  auto model = Model::load(options);
  if (!model)
    return report(model.status());
  const Subject subject{options, *model, model->plan()};
  if (Status status = checkFunction(subject); !status.ok())
    return report(status);
  printPlacementLog(subject.plan, options.function, options.placementLog);
  if (options.json)
    printJson(subject);
  else
    printForPeople(subject);
  if (options.verbose && model->compileSeconds)
    printNote(format("compiled in %.3f s", *model->compileSeconds));
  return exitSuccess;
}

} // namespace gantry::tool
