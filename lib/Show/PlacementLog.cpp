#include "gantry/Show/PlacementLog.h"

#include "TaskRows.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Show/Reports.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"
#include "gantry/Support/Names.h"

#include <deque>
#include <map>
#include <unordered_map>

namespace gantry::show {

namespace {

using namespace plan;

std::string fullName(const fb::Plan &plan, uint32_t device) {
  return std::string(fullDeviceName(plan, device));
}

void logOp(const fb::Plan &plan, const fb::PlacedOp &op, std::string &out) {
  out += "Executing op " + printable(textOf(op.log_name())) + " in device " +
         fullName(plan, op.device()) + (op.once() ? " (once, at load)" : "") + "\n";
}

void logCopy(const fb::Plan &plan, const LedgerCopy &copy, std::string &out) {
  out +=
      "Copying " + std::to_string(copy.bytes) + (copy.bytes == 1 ? " byte" : " bytes") +
      (copy.collective ? " by " + collectiveOf(plan, copy) : " from " + fullName(plan, copy.from)) +
      " to " + fullName(plan, copy.to) + (copy.time == CopyTime::load ? " (once, at load)" : "") +
      "\n";
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

/// Ops that wait for the launch of their kernel. The plan lists the ops of a launch one after the
/// other, and names the launch after one of them; where it does not, the first that wait for that
/// kernel on that device are taken.
class WaitingOps {
public:
  WaitingOps(const fb::Plan &plan, const fb::Function &function)
      : plan(plan), ops(listOf(function.placed_ops())), taken(ops.size()) {
    for (size_t i = 0; i < ops.size(); ++i) {
      taken[i] = ops[i]->once();
      if (!taken[i])
        byKernel[{ops[i]->device(), textOf(ops[i]->kernel_name())}].push_back(i);
      byName.try_emplace(textOf(ops[i]->name()), i);
    }
  }

  /// Adds the ops of a launch.
  void take(const fb::Command &launch, std::vector<LogEntry> &entries) {
    const auto names = listOf(launch.log_names());
    if (auto named = byName.find(textOf(launch.name())); named != byName.end())
      for (size_t back = 0; back < names.size() && back <= named->second; ++back)
        if (areThere(launch, named->second - back)) {
          for (size_t i = 0; i < names.size(); ++i)
            take(named->second - back + i, &launch, entries);
          return;
        }
    for (const auto *name : names)
      takeFirst(launch, textOf(name), entries);
  }

  /// A plan of another compiler may list an op that no launch names; it is not kept quiet.
  void takeRest(std::vector<LogEntry> &entries) {
    for (size_t i = 0; i < ops.size(); ++i)
      if (!taken[i])
        take(i, nullptr, entries);
  }

private:
  using Kernel = std::pair<uint32_t, std::string_view>; ///< device, symbol

  Kernel kernelOf(const fb::Command &launch) const {
    return {launch.device(), textOf(listOf(plan.kernels())[launch.kernel()]->symbol())};
  }

  /// Whether the ops from `begin` on are those of the launch, all still waiting.
  bool areThere(const fb::Command &launch, size_t begin) const {
    const auto names = listOf(launch.log_names());
    if (begin + names.size() > ops.size())
      return false;
    for (size_t i = 0; i < names.size(); ++i) {
      const fb::PlacedOp &op = *ops[begin + i];
      if (taken[begin + i] || textOf(op.log_name()) != textOf(names[i]) ||
          Kernel(op.device(), textOf(op.kernel_name())) != kernelOf(launch))
        return false;
    }
    return true;
  }

  void takeFirst(const fb::Command &launch, std::string_view logName,
                 std::vector<LogEntry> &entries) {
    auto found = byKernel.find(kernelOf(launch));
    if (found == byKernel.end())
      return;
    std::deque<size_t> &waiting = found->second;
    while (!waiting.empty() && taken[waiting.front()])
      waiting.pop_front();
    for (size_t i : waiting)
      if (!taken[i] && textOf(ops[i]->log_name()) == logName)
        return take(i, &launch, entries);
  }

  void take(size_t index, const fb::Command *launch, std::vector<LogEntry> &entries) {
    taken[index] = true;
    entries.push_back({ops[index], nullptr, launch});
  }

  const fb::Plan &plan;
  ListOf<flatbuffers::Offset<fb::PlacedOp>> ops;
  std::vector<bool> taken;
  std::map<Kernel, std::deque<size_t>> byKernel;
  std::unordered_map<std::string_view, size_t> byName;
};

/// Ops of each device; GPUs stand before CPUs, as they are preferred (spec P6).
std::string opsPerDevice(const fb::Plan &plan, const fb::Function &function) {
  std::vector<uint64_t> counts(plan.devices()->size());
  for (const auto *op : listOf(function.placed_ops()))
    ++counts[op->device()];
  std::string text;
  for (const fb::DeviceType type : {fb::DeviceType::gpu, fb::DeviceType::cpu}) {
    std::vector<TaskRow> rows;
    for (uint32_t d = 0; d < counts.size(); ++d)
      if (counts[d] && plan.devices()->Get(d)->type() == type)
        rows.push_back({{d}, {}, {std::to_string(counts[d])}});
    for (const TaskRow &row : foldRows(plan, std::move(rows)))
      text += (text.empty() ? ": " : ", ") + devicesText(plan, row.devices) + " " +
              row.cells.front() + (row.devices.size() > 1 ? " each" : "");
  }
  return text;
}

} // namespace

std::string inTransfers(const CopyCount &count) {
  return count.transfers == count.copies ? "" : " in " + counted(count.transfers, "transfer");
}

std::string collectiveOf(const fb::Plan &plan, const LedgerCopy &copy) {
  return std::string(exchangeKindName(copy.collective->kind())) + " of " +
         std::to_string(membersOf(plan, *copy.collective).size());
}

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
  const auto addCopiesAtLoad = [&](bool computed) {
    for (; copy != ledger.copies.end() && copy->time == CopyTime::load &&
           (copy->command != nullptr) == computed;
         ++copy)
      entries.push_back({nullptr, &*copy, nullptr});
  };
  addCopiesAtLoad(false);
  for (const auto *op : listOf(function.placed_ops()))
    if (op->once())
      entries.push_back({op, nullptr, nullptr});
  addCopiesAtLoad(true);
  WaitingOps waiting(plan, function);
  for (const PlacedCommand &placed : commandsOf(function)) {
    while (copy != ledger.copies.end() && copy->command == placed.command)
      entries.push_back({nullptr, &*copy++, nullptr});
    if (placed.command->opcode() == fb::Opcode::launch)
      waiting.take(*placed.command, entries);
  }
  waiting.takeRest(entries);
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
         (perRun.copies == 1 ? "1 copy" : std::to_string(perRun.copies) + " copies") + " per run" +
         inTransfers(perRun) + ", " + formatBytes(perRun.bytes) +
         copiesPerKind(ledger.totalPerRun()) +
         (inside ? "; " + std::to_string(inside) + " in branches and loops" +
                       copiesPerKind(ledger.totalInside())
                 : "") +
         "; " + std::to_string(ledger.totalAtLoad().betweenDevices().copies) + " at load";
}

static void logCopy(const fb::Plan &plan, const LedgerCopy &copy, Form form, std::string &out) {
  form == Form::programs ? logCopyAsJson(plan, copy, out) : logCopy(plan, copy, out);
}

std::string placementLog(const fb::Plan &plan, const fb::Function &function, Form form) {
  const Ledger ledger = Ledger::of(plan, function);
  std::string out;
  for (const LogEntry &entry : executionOrder(plan, function, ledger)) {
    if (entry.copy)
      logCopy(plan, *entry.copy, form, out);
    else
      form == Form::programs ? logOpAsJson(plan, *entry.op, out) : logOp(plan, *entry.op, out);
  }
  // For programs every line is an object; the summary is for people.
  return form == Form::programs ? out : out + placementSummary(plan, function, ledger) + "\n";
}

std::string copyLog(const fb::Plan &plan, const fb::Function &function, Form form) {
  const Ledger ledger = Ledger::of(plan, function);
  std::string out;
  for (const LedgerCopy &copy : ledger.copies)
    logCopy(plan, copy, form, out);
  return out;
}

} // namespace gantry::show
