// Memory explained: what the arenas take and what fills them at the peak; with all rows each
// value that has a place.
#include "ExplainText.h"

#include "LiveMemory.h"
#include "gantry/Show/Text.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"

#include <algorithm>

namespace gantry::show {

using namespace plan;

namespace {

constexpr size_t chartWidth = 64, chartHeight = 8;
constexpr size_t besideChart = 30; ///< columns of the scale and of the number of commands
constexpr size_t valuesShown = 8;  ///< largest values at the peak, without --all

/// How a place names the node `name`, which is then no news beside it.
std::string nodeInWords(std::string_view name) { return "node '" + std::string(name) + "'"; }

/// " on GPU:0" where there are several devices.
std::string onDevice(const Subject &subject, uint32_t device) {
  return subject.plan.devices()->size() > 1 ? " on " + shortDeviceName(subject.plan, device) : "";
}

void addValue(Table &table, const Subject &subject, const fb::Value &value,
              const std::vector<PlacedCommand> &commands) {
  const fb::Command *maker =
      value.first() < commands.size() ? commands[value.first()].command : nullptr;
  const std::string where =
      maker && maker->location() ? subject.where(textOf(maker->location())) : "";
  table.add({std::string(textOf(value.name())), value.type() ? typeText(*value.type()) : "",
             std::to_string(value.buffer()->size()), std::to_string(value.buffer()->offset()),
             std::to_string(value.first() + 1) + "–" + std::to_string(value.last() + 1),
             where == nodeInWords(textOf(value.name())) ? ""
             : !maker || !where.empty()                 ? where
                                                        : std::string(textOf(maker->name()))});
}

void printArena(Page &page, const Subject &subject, const fb::Function &function, uint32_t device,
                uint32_t arena) {
  const auto commands = commandsOf(function);
  const LiveMemory memory = liveMemoryOf(function, arena, commands.size());
  if (memory.peak == 0)
    return;
  page.print("\n");
  page.paragraph(peakOf(subject, function, device, arena));
  const bool all = subject.question.all;
  Table table(
      {all ? "~value" : "~value at the peak", "~type", ">bytes", ">offset", "live", "~made by"});
  const auto values = all ? valuesOf(function, arena) : liveAt(function, arena, memory.peakCommand);
  const size_t shown = all ? values.size() : std::min(values.size(), valuesShown);
  for (size_t i = 0; i < shown; ++i)
    addValue(table, subject, *values[i], commands);
  page.table(table, all ? Long::wrap : Long::cut);
  const size_t rest = valuesOf(function, arena).size() - shown;
  if (rest)
    page.print("  … and %zu more values%s (--memory --all)\n", rest,
               onDevice(subject, device).c_str());
  page.add(drawLiveMemory(memory, std::min(chartWidth, page.width - besideChart), chartHeight));
}

} // namespace

std::string peakOf(const Subject &subject, const fb::Function &function, uint32_t device,
                   uint32_t arena) {
  const auto commands = commandsOf(function);
  const LiveMemory memory = liveMemoryOf(function, arena, commands.size());
  if (memory.peak == 0)
    return "";
  const fb::Command &peak = *commands[memory.peakCommand].command;
  std::string text = "peak " + formatBytes(memory.peak) + " live" + onDevice(subject, device) +
                     format(" at command %zu of %zu, '", memory.peakCommand + 1, commands.size()) +
                     std::string(textOf(peak.name())) + "'";
  const std::string where = subject.where(textOf(peak.location()));
  if (!where.empty() && where != nodeInWords(textOf(peak.name())))
    text += " (" + where + ")";
  return text;
}

void printMemory(Page &page, const Subject &subject, const fb::Function &function) {
  Table table({"memory", ">constants", ">variables", ">transient", ">bound", ">ratio", ">in, out",
               ">limit"});
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const DeviceMemory memory = subject.memoryOf(d);
    const uint64_t limit = subject.plan.devices()->Get(d)->memory_limit();
    table.add({shortDeviceName(subject.plan, d), formatBytes(memory.sizes[0]),
               formatBytes(memory.sizes[1]), formatBytes(memory.sizes[2]),
               memory.lowerBound ? formatBytes(memory.lowerBound) : "",
               memory.lowerBound ? format("%.3f", static_cast<double>(memory.sizes[2]) /
                                                      static_cast<double>(memory.lowerBound))
                                 : "",
               formatBytes(boundBytes(function, d)), limit ? formatBytes(limit) : ""});
  }
  page.print("\n");
  page.table(table);
  // Spec M6: what n sessions take.
  page.paragraph("  n sessions of the plan take constants + variables + n × transient; "
                 "bound: the least that the transient values can take");
  uint64_t given = 0;
  for (const auto *output : listOf(function.outputs()))
    if (output->over() != plan::nothingSaid)
      given += typeBytes(*output->type());
  if (given)
    page.paragraph("  in, out: " + formatBytes(given) +
                   " less where inputs are given away, since outputs are written into them");
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d)
    if (auto arena = subject.memoryOf(d).transient)
      printArena(page, subject, function, d, *arena);
}

} // namespace gantry::show
