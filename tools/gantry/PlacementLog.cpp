#include "PlacementLog.h"

#include "Console.h"
#include "Reports.h"
#include "Text.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"

#include <deque>
#include <map>
#include <unordered_set>

namespace gantry::tool {

namespace {

using namespace plan;

std::string fullName(const fb::Plan &plan, uint32_t device) {
  return std::string(fullDeviceName(plan, device));
}

void logOp(const fb::Plan &plan, const fb::PlacedOp &op, std::string &out) {
  out += "Executing op " + std::string(textOf(op.log_name())) + " in device " +
         fullName(plan, op.device()) + (op.once() ? " (once, at load)" : "") + "\n";
}

void logCopy(const fb::Plan &plan, const LedgerCopy &copy, std::string &out) {
  out += "Copying " + std::to_string(copy.bytes) + (copy.bytes == 1 ? " byte" : " bytes") +
         " from " + fullName(plan, copy.from) + " to " + fullName(plan, copy.to) +
         (copy.time == CopyTime::load ? " (once, at load)" : "") + "\n";
}

void logOpAsJson(const fb::Plan &plan, const fb::PlacedOp &op, std::string &out) {
  JSONWriter json;
  json.beginObject();
  addPlacement(json, plan, op);
  if (op.once())
    json.key("once").boolean(true);
  out += json.endObject().text() + "\n";
}

void logCopyAsJson(const fb::Plan &plan, const LedgerCopy &copy, std::string &out) {
  JSONWriter json;
  json.beginObject().key("copy").beginObject();
  addCopy(json, plan, copy);
  out += json.endObject().endObject().text() + "\n";
}

/// Ops that wait for the launch of their kernel, by what launches and log have in common. The ops
/// of one key are equal but for their names, so the first launch takes the first.
class WaitingOps {
public:
  WaitingOps(const fb::Plan &plan, const fb::Function &function) : plan(plan) {
    for (const auto *op : listOf(function.placed_ops()))
      if (!op->once())
        byKey[{op->device(), textOf(op->kernel_name()), textOf(op->log_name())}].push_back(op);
  }

  const fb::PlacedOp *take(const fb::Command &launch, std::string_view logName) {
    const std::string_view kernel = textOf(listOf(plan.kernels())[launch.kernel()]->symbol());
    auto found = byKey.find({launch.device(), kernel, logName});
    if (found == byKey.end() || found->second.empty())
      return nullptr;
    const fb::PlacedOp *op = found->second.front();
    found->second.pop_front();
    return op;
  }

private:
  using Key = std::tuple<uint32_t, std::string_view, std::string_view>;
  const fb::Plan &plan;
  std::map<Key, std::deque<const fb::PlacedOp *>> byKey;
};

/// Ops of each device; GPUs stand before CPUs, as they are preferred (spec P6).
std::string opsPerDevice(const fb::Plan &plan, const fb::Function &function) {
  std::vector<uint64_t> counts(plan.devices()->size());
  for (const auto *op : listOf(function.placed_ops()))
    ++counts[op->device()];
  std::string text;
  for (const fb::DeviceType type : {fb::DeviceType::gpu, fb::DeviceType::cpu})
    for (uint32_t d = 0; d < counts.size(); ++d)
      if (counts[d] && plan.devices()->Get(d)->type() == type)
        text += (text.empty() ? ": " : ", ") + shortDeviceName(plan, d) + " " +
                std::to_string(counts[d]);
  return text;
}

} // namespace

std::string copiesPerKind(const CopyTally &tally) {
  std::string text;
  for (const fb::CopyKind kind : fb::EnumValuesCopyKind())
    if (kind != fb::CopyKind::sameDevice && tally[kind].copies)
      text += (text.empty() ? " (" : ", ") + std::string(copyKindName(kind)) + " " +
              std::to_string(tally[kind].copies);
  return text.empty() ? text : text + ")";
}

std::vector<LogEntry> executionOrder(const fb::Plan &plan, const fb::Function &function,
                                     const Ledger &ledger) {
  std::vector<LogEntry> entries;
  auto copy = ledger.copies.begin();
  for (; copy != ledger.copies.end() && copy->time == CopyTime::load; ++copy)
    entries.push_back({nullptr, &*copy});
  for (const auto *op : listOf(function.placed_ops()))
    if (op->once())
      entries.push_back({op, nullptr});
  WaitingOps waiting(plan, function);
  std::unordered_set<const fb::PlacedOp *> launched;
  for (const PlacedCommand &placed : commandsOf(function)) {
    if (copy != ledger.copies.end() && copy->command == placed.command)
      entries.push_back({nullptr, &*copy++});
    if (placed.command->opcode() != fb::Opcode::launch)
      continue;
    for (const auto *name : listOf(placed.command->log_names()))
      if (const fb::PlacedOp *op = waiting.take(*placed.command, textOf(name))) {
        launched.insert(op);
        entries.push_back({op, nullptr});
      }
  }
  // A plan of another compiler may name an op that no launch does; it is not kept quiet.
  for (const auto *op : listOf(function.placed_ops()))
    if (!op->once() && !launched.contains(op))
      entries.push_back({op, nullptr});
  return entries;
}

std::string placementSummary(const fb::Plan &plan, const fb::Function &function,
                             const Ledger &ledger) {
  uint64_t fallBacks = 0;
  for (const auto *op : listOf(function.placed_ops()))
    fallBacks += op->fall_back();
  const CopyCount perRun = ledger.totalPerRun().betweenDevices();
  const uint64_t inside = ledger.totalInside().betweenDevices().copies;
  return "placed " + counted(listOf(function.placed_ops()).size(), "op") +
         opsPerDevice(plan, function) + "; " + counted(fallBacks, "fall-back") + "; " +
         (perRun.copies == 1 ? "1 copy" : std::to_string(perRun.copies) + " copies") +
         " per run, " + formatBytes(perRun.bytes) + copiesPerKind(ledger.totalPerRun()) +
         (inside ? "; " + std::to_string(inside) + " in branches and loops" +
                       copiesPerKind(ledger.totalInside())
                 : "") +
         "; " + std::to_string(ledger.totalAtLoad().betweenDevices().copies) + " at load";
}

std::string placementLog(const fb::Plan &plan, const fb::Function &function, PlacementLog style) {
  const Ledger ledger = Ledger::of(plan, function);
  std::string out;
  for (const LogEntry &entry : executionOrder(plan, function, ledger)) {
    if (entry.op)
      style == PlacementLog::json ? logOpAsJson(plan, *entry.op, out) : logOp(plan, *entry.op, out);
    else
      style == PlacementLog::json ? logCopyAsJson(plan, *entry.copy, out)
                                  : logCopy(plan, *entry.copy, out);
  }
  // With =json every line is an object, for programs; the summary is for people.
  return style == PlacementLog::json ? out : out + placementSummary(plan, function, ledger) + "\n";
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

} // namespace gantry::tool
