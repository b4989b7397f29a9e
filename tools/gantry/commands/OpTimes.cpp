#include "OpTimes.h"

#include "Console.h"
#include "Print.h"

#include "gantry/Plan/Ledger.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <map>

namespace gantry::tool {

namespace {

using plan::textOf;
namespace fb = plan::fb;

/// What a row tells, of a command or of all of a kind.
struct Row {
  uint64_t calls = 0;
  double seconds = 0, least = 0, predicted = 0;
  uint64_t flops = 0, bytes = 0;
  double atBest = 0; ///< seconds on the roofline

  void add(const CommandCost &cost, const OpTimes &times) {
    calls += cost.calls;
    seconds += cost.seconds;
    least += cost.least;
    predicted += cost.predicted;
    flops += cost.flops;
    bytes += cost.bytes;
    if (cost.command->opcode() != fb::Opcode::copy) // those go by links
      atBest += times.roofs[cost.command->device()].seconds(cost.flops, cost.bytes);
  }
  double gigaflops() const { return seconds > 0 ? 1e-9 * double(flops) / seconds : 0; }
  double gigabytes() const { return seconds > 0 ? 1e-9 * double(bytes) / seconds : 0; }
  double ofRoof() const { return seconds > 0 ? atBest / seconds : 0; }
};

/// Of one kind on one device.
struct Kind {
  std::string name;
  uint32_t device = 0;
  size_t commands = 0;
  Row row;
};

std::vector<Kind> kindsOf(const OpTimes &times) {
  std::map<std::pair<std::string, uint32_t>, Kind> found;
  for (const CommandCost &cost : times.commands) {
    const uint32_t device = cost.command->device();
    std::string name = kindOf(*cost.command);
    Kind &kind = found.try_emplace({name, device}, Kind{name, device, 0, {}}).first->second;
    ++kind.commands;
    kind.row.add(cost, times);
  }
  std::vector<Kind> kinds;
  for (auto &[key, kind] : found)
    kinds.push_back(std::move(kind));
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind &a, const Kind &b) { return a.row.seconds > b.row.seconds; });
  return kinds;
}

Row totalOf(const OpTimes &times) {
  Row total;
  for (const CommandCost &cost : times.commands)
    total.add(cost, times);
  return total;
}

/// Digits enough to tell rows apart; nothing for what is not there.
std::string number(double value) {
  return value <= 0 ? "" : format(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

std::string milliseconds(double seconds) { return format("%.4f", seconds * 1e3); }

std::string percent(double share) { return format("%.1f %%", 100 * share); }

/// Cells from "calls" to "predicted".
std::vector<std::string> figures(const Row &row, double total) {
  return {std::to_string(row.calls),
          milliseconds(row.seconds),
          total > 0 ? percent(row.seconds / total) : "",
          number(row.gigaflops()),
          number(row.gigabytes()),
          row.ofRoof() > 0 ? percent(row.ofRoof()) : "",
          milliseconds(row.predicted)};
}

std::vector<std::string> joined(std::vector<std::string> first, std::vector<std::string> more) {
  for (std::string &cell : more)
    first.push_back(std::move(cell));
  return first;
}

std::string titleOf(const OpTimes &times, const fb::Command &command) {
  const std::string name = printable(times.names.of(command));
  if (name.empty())
    return kindOf(command);
  return (command.opcode() == fb::Opcode::copy ? "copy " : "") + name;
}

std::string roofsText(const OpTimes &times) {
  std::vector<bool> used(times.roofs.size());
  for (const CommandCost &cost : times.commands)
    used[cost.command->device()] = true;
  Table table({"device", ">peak GFLOP/s", ">memory GB/s", "from"});
  for (uint32_t device = 0; device < times.roofs.size(); ++device)
    if (used[device])
      table.add({shortDeviceName(*times.plan, device), number(1e-9 * times.roofs[device].flops),
                 number(1e-9 * times.roofs[device].bandwidth), times.roofs[device].origin});
  return linesOf(table) +
         "  (the roof: arithmetic or traffic at these rates, whichever takes longer; "
         "what caches hold may be over 100 %)\n";
}

/// Members that a kind and a command have in common.
void addRow(JSONWriter &json, const Row &row, double total) {
  json.member("calls", row.calls)
      .member("median_ms", row.seconds * 1e3)
      .member("min_ms", row.least * 1e3)
      .member("share", total > 0 ? row.seconds / total : 0.0)
      .member("flops", row.flops)
      .member("bytes", row.bytes)
      .member("gflops_per_s", row.gigaflops())
      .member("gbytes_per_s", row.gigabytes())
      .member("of_roofline", row.ofRoof())
      .member("predicted_ms", row.predicted * 1e3);
}

const std::vector<std::string> figureTitles = {">calls", ">ms",      ">share",       ">GFLOP/s",
                                               ">GB/s",  ">of roof", ">predicted ms"};

} // namespace

double Roof::seconds(uint64_t operations, uint64_t bytes) const {
  const double arithmetic = flops > 0 ? double(operations) / flops : 0;
  const double traffic = bandwidth > 0 ? double(bytes) / bandwidth : 0;
  return std::max(arithmetic, traffic);
}

std::string kindOf(const fb::Command &command) {
  if (command.opcode() != fb::Opcode::launch)
    return fb::EnumNameOpcode(command.opcode());
  std::vector<std::pair<std::string_view, size_t>> names;
  for (const auto *name : listOf(command.log_names())) {
    const auto seen = std::find_if(names.begin(), names.end(),
                                   [&](const auto &known) { return known.first == textOf(name); });
    if (seen == names.end())
      names.emplace_back(textOf(name), 1);
    else
      ++seen->second;
  }
  std::string text;
  for (const auto &[name, times] : names)
    text += (text.empty() ? "" : "+") + printable(name) +
            (times > 1 ? "*" + std::to_string(times) : "");
  return text.empty() ? "launch" : text;
}

std::string kernelOf(const fb::Plan &plan, const fb::Command &command) {
  return command.opcode() == fb::Opcode::launch
             ? printable(textOf(plan.kernels()->Get(command.kernel())->symbol()))
             : fb::EnumNameOpcode(command.opcode());
}

std::string opTimesText(const OpTimes &times, bool all) {
  const Row total = totalOf(times);
  std::string text = roofsText(times);
  text += format("\nby op, in a run (median of %zu, each command timed%s)\n", times.runs,
                 times.isVirtual ? ", on the virtual clock" : "");
  // The device is told where there are several.
  const bool isAlone = times.roofs.size() == 1;
  const auto first = [&](std::string name, const std::string &device) {
    return isAlone ? std::vector{std::move(name)} : std::vector{std::move(name), device};
  };
  Table kinds(joined(first("~op", "on"), figureTitles));
  for (const Kind &kind : kindsOf(times))
    kinds.add(joined(first(kind.name, shortDeviceName(*times.plan, kind.device)),
                     figures(kind.row, total.seconds)));
  kinds.add(joined(first("all", ""), figures(total, total.seconds)));
  text += kinds.text(Long::cut, outputWidth()) + "\nby command\n";

  // What is not listed takes less than this of the whole, together.
  constexpr double hardly = 0.02;
  double left = total.seconds;
  size_t shown = 0;
  Table commands(joined(first("~name", "on"), figureTitles));
  for (const CommandCost &cost : times.commands) {
    if (!all && shown >= 10 && left < hardly * total.seconds)
      break;
    Row row;
    row.add(cost, times);
    commands.add(joined(
        first(titleOf(times, *cost.command), shortDeviceName(*times.plan, cost.command->device())),
        figures(row, total.seconds)));
    left -= cost.seconds;
    ++shown;
  }
  text += commands.text(Long::cut, outputWidth());
  if (shown < times.commands.size())
    text += format("  … and %s, %s ms, %s (--all)\n",
                   counted(times.commands.size() - shown, "more command").c_str(),
                   milliseconds(left).c_str(), percent(left / total.seconds).c_str());
  return text;
}

void addOpTimes(JSONWriter &json, const OpTimes &times) {
  const double total = totalOf(times).seconds;
  json.member("timed_runs", uint64_t(times.runs)).member("commands_ms", total * 1e3);
  json.key("rooflines").beginArray();
  for (uint32_t device = 0; device < times.roofs.size(); ++device)
    json.beginObject()
        .member("device", shortDeviceName(*times.plan, device))
        .member("flops_per_s", times.roofs[device].flops)
        .member("bytes_per_s", times.roofs[device].bandwidth)
        .member("from", times.roofs[device].origin)
        .endObject();
  json.endArray().key("ops").beginArray();
  for (const Kind &kind : kindsOf(times)) {
    json.beginObject()
        .member("op", kind.name)
        .member("device", shortDeviceName(*times.plan, kind.device))
        .member("commands", uint64_t(kind.commands));
    addRow(json, kind.row, total);
    json.endObject();
  }
  json.endArray().key("commands").beginArray();
  const auto numbers = plan::numbersOfCommands(*times.function);
  for (const CommandCost &cost : times.commands) {
    Row row;
    row.add(cost, times);
    json.beginObject()
        .member("command", uint64_t(numbers.at(cost.command)))
        .member("name", times.names.of(*cost.command))
        .member("kernel", kernelOf(*times.plan, *cost.command))
        .member("op", kindOf(*cost.command))
        .member("location", textOf(cost.command->location()))
        .member("device", shortDeviceName(*times.plan, cost.command->device()));
    addRow(json, row, total);
    json.endObject();
  }
  json.endArray();
}

} // namespace gantry::tool
