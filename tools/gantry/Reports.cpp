#include "Reports.h"

#include "Console.h"

#include "gantry/Arrays/Files.h"
#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"

#include <map>

namespace gantry::tool {

namespace {

using namespace plan;

uint32_t deviceOf(const fb::Plan &plan, const fb::Function &function, const fb::BufferRef &ref) {
  switch (ref.space()) {
  case fb::Space::arena:
    return listOf(plan.arenas())[ref.index()]->device();
  case fb::Space::input:
    return listOf(function.inputs())[ref.index()]->device();
  case fb::Space::output:
    return listOf(function.outputs())[ref.index()]->device();
  }
  return 0;
}

std::string_view fullDeviceName(const fb::Plan &plan, uint32_t device) {
  return textOf(plan.devices()->Get(device)->name());
}

void logOp(const fb::Plan &plan, const fb::PlacedOp &op, std::string &out) {
  out += "Executing op " + std::string(textOf(op.log_name())) + " in device " +
         std::string(fullDeviceName(plan, op.device())) + (op.once() ? " (once, at load)" : "") +
         "\n";
}

void logOpAsJson(const fb::Plan &plan, const fb::PlacedOp &op, std::string &out) {
  JSONWriter json;
  json.beginObject()
      .member("op", textOf(op.log_name()))
      .member("name", textOf(op.name()))
      .member("loc", textOf(op.location()))
      .member("device", fullDeviceName(plan, op.device()))
      .member("rule", textOf(op.rule()))
      .key("rejected")
      .beginArray();
  for (const auto *device : listOf(op.rejected()))
    json.value(textOf(device));
  json.endArray();
  if (op.once())
    json.key("once").boolean(true);
  out += json.endObject().text() + "\n";
}

/// Copies between devices, counted by direction.
struct Copies {
  uint64_t count = 0;
  uint64_t bytes = 0;
  std::map<fb::CopyKind, uint64_t> kinds;
};

Copies logCopies(const fb::Plan &plan, const fb::Function &function, PlacementLog style,
                 std::string &out) {
  Copies copies;
  for (const auto *block : listOf(function.blocks()))
    for (const auto *command : listOf(block->commands())) {
      if (command->opcode() != fb::Opcode::copy || command->copy_kind() == fb::CopyKind::sameDevice)
        continue;
      const auto *source = command->buffers()->Get(0), *target = command->buffers()->Get(1);
      ++copies.count;
      copies.bytes += target->size();
      ++copies.kinds[command->copy_kind()];
      if (style == PlacementLog::text)
        out += format("Copying %llu bytes from %s to %s\n",
                      static_cast<unsigned long long>(target->size()),
                      std::string(fullDeviceName(plan, deviceOf(plan, function, *source))).c_str(),
                      std::string(fullDeviceName(plan, deviceOf(plan, function, *target))).c_str());
    }
  return copies;
}

std::string copySummary(const Copies &copies) {
  std::string text = std::to_string(copies.count) +
                     (copies.count == 1 ? " copy per run, " : " copies per run, ") +
                     formatBytes(copies.bytes);
  std::string kinds;
  for (const auto &[kind, count] : copies.kinds) {
    const char *name = kind == fb::CopyKind::hostToDevice   ? "h2d "
                       : kind == fb::CopyKind::deviceToHost ? "d2h "
                                                            : "d2d ";
    kinds += (kinds.empty() ? "" : ", ") + std::string(name) + std::to_string(count);
  }
  return kinds.empty() ? text : text + " (" + kinds + ")";
}

/// `placed 412 ops: GPU:0 201, CPU:0 3; 0 fall-backs; 2 copies per run, 1.5 MiB; 1 at load`
std::string summary(const fb::Plan &plan, const fb::Function &function, const Copies &copies) {
  std::map<uint32_t, uint64_t> perDevice;
  uint64_t fallBacks = 0;
  for (const auto *op : listOf(function.placed_ops())) {
    ++perDevice[op->device()];
    fallBacks += textOf(op->rule()) == "soft";
  }
  const size_t count = listOf(function.placed_ops()).size();
  std::string text = "placed " + std::to_string(count) + (count == 1 ? " op" : " ops");
  const char *separator = ": ";
  for (const auto &[device, ops] : perDevice) {
    text += separator + shortDeviceName(plan, device) + " " + std::to_string(ops);
    separator = ", ";
  }
  text += "; " + std::to_string(fallBacks) + (fallBacks == 1 ? " fall-back" : " fall-backs");
  return text + "; " + copySummary(copies) + "; 0 at load\n";
}

} // namespace

std::string shortDeviceName(std::string_view full) {
  auto name = DeviceName::parse(full);
  return name ? name->shortStr() : std::string(full);
}

std::string shortDeviceName(const fb::Plan &plan, uint32_t device) {
  return shortDeviceName(fullDeviceName(plan, device));
}

std::string typeText(const fb::TensorType &type) {
  const auto shape = listOf(type.shape());
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  return arrays::typeName(static_cast<ElementType>(type.element()), dims);
}

uint64_t typeBytes(const fb::TensorType &type) {
  const auto shape = listOf(type.shape());
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  return tensorByteSize(static_cast<ElementType>(type.element()), dims).value_or(0);
}

std::string placementLog(const fb::Plan &plan, const fb::Function &function, PlacementLog style) {
  std::string out;
  for (const auto *op : listOf(function.placed_ops()))
    style == PlacementLog::json ? logOpAsJson(plan, *op, out) : logOp(plan, *op, out);
  const Copies copies = logCopies(plan, function, style, out);
  // With =json every line is an object, for programs; the summary is for people.
  return style == PlacementLog::json ? out : out + summary(plan, function, copies);
}

void printPlacementLog(const fb::Plan &plan, const std::string &name, PlacementLog style) {
  if (style == PlacementLog::off)
    return;
  const auto functions = listOf(plan.functions());
  for (const auto *function : functions) {
    if (!name.empty() && textOf(function->name()) != name)
      continue;
    if (name.empty() && functions.size() > 1 && style == PlacementLog::text)
      std::fprintf(stderr, "function %s:\n", function->name()->c_str());
    std::fputs(placementLog(plan, *function, style).c_str(), stderr);
  }
}

std::string memorySummary(const fb::Plan &plan) {
  std::string out;
  for (uint32_t d = 0; d < plan.devices()->size(); ++d) {
    uint64_t sizes[3] = {}, lowerBound = 0;
    for (const auto *arena : listOf(plan.arenas())) {
      if (arena->device() != d)
        continue;
      sizes[static_cast<size_t>(arena->kind())] += arena->size();
      if (arena->kind() == fb::ArenaKind::transient)
        lowerBound += arena->lower_bound();
    }
    out += shortDeviceName(plan, d) + ": constants " + formatBytes(sizes[0]) + ", variables " +
           formatBytes(sizes[1]) + ", transient " + formatBytes(sizes[2]);
    if (lowerBound)
      out += format(" (%.3f of the lower bound)",
                    static_cast<double>(sizes[2]) / static_cast<double>(lowerBound));
    out += "\n";
  }
  return out;
}

} // namespace gantry::tool
