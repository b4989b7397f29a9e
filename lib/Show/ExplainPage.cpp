// The first page of an explanation. Who has a model and some devices wants to know before a run:
// does it fit, where does everything run and why, what takes the time. So there is a line for each
// device, reason, expensive kernel and way that values are copied, not for each op.
#include "ExplainText.h"
#include "TaskRows.h"

#include "gantry/Show/Text.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <map>

namespace gantry::show {

using namespace plan;

namespace {

/// Of bars, which narrow terminals have less room for.
size_t barWidth(const Page &page) { return page.width < 90 ? 4 : 8; }

constexpr size_t stepKernels = 10; ///< of a step of training, even beside other functions
constexpr size_t bindingsShown = 4, rejectedShown = 5, devicesShown = 3;

std::string percent(double part, double all) {
  const double share = all > 0 ? 100 * part / all : 0;
  return share > 0 && share < 0.5 ? "<1 %" : format("%.0f %%", share);
}

//--- devices
//---------------------------------------------------------------------------------------

void printDevices(Page &page, const Subject &subject, const fb::Function &function,
                  const std::vector<DeviceLoad> &loads) {
  double most = 1e-12;
  for (const DeviceLoad &load : loads)
    most = std::max(most, load.compute);
  Table table({"device", ">ops", ">compute", "", ">copies", ">copied", ">memory", ">limit", ""});
  std::vector<TaskRow> rows;
  for (uint32_t d = 0; d < loads.size(); ++d) {
    const DeviceLoad &load = loads[d];
    const fb::Device &device = *subject.plan.devices()->Get(d);
    const uint64_t limit = device.memory_limit();
    const uint64_t memory = subject.memoryOf(d).total() + boundBytes(function, d);
    rows.push_back(
        {{d},
         {},
         {" (" + std::string(textOf(device.driver())) + ")", std::to_string(load.ops),
          formatSeconds(load.compute), bar(load.compute / most, barWidth(page)),
          formatSeconds(load.copies), formatBytes(load.copied), formatBytes(memory),
          limit ? formatBytes(limit) : "none",
          limit ? percent(static_cast<double>(memory), static_cast<double>(limit)) : ""}});
  }
  for (TaskRow &row : foldRows(subject.plan, std::move(rows))) {
    row.cells.front() = devicesText(subject.plan, row.devices) + row.cells.front();
    table.add(std::move(row.cells));
  }
  page.print("\n");
  page.table(table, Long::cut);
}

//--- why
//--------------------------------------------------------------------------------------------

} // namespace

std::vector<std::string_view> nodeNamesOf(const fb::Function &function) {
  std::vector<std::string_view> names;
  for (const auto *op : listOf(function.placed_ops()))
    names.push_back(nodeOf(*op));
  return names;
}

static void sortByOps(std::vector<Reason> &reasons) {
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason &a, const Reason &b) { return a.ops.size() > b.ops.size(); });
}

std::vector<Reason> reasonsOf(const Subject &subject, const fb::Function &function, bool byRule) {
  std::vector<Reason> reasons;
  std::map<std::pair<uint32_t, std::string>, size_t> places;
  for (const auto *op : listOf(function.placed_ops())) {
    const std::string text =
        byRule ? std::string(textOf(op->rule())) + (op->fall_back() ? ", fell back" : "")
               : why(subject, *op);
    const auto [place, isNew] = places.try_emplace({op->device(), text}, reasons.size());
    if (isNew)
      reasons.push_back({{op->device()}, text, {}});
    reasons[place->second].ops.push_back(nodeOf(*op));
  }
  sortByOps(reasons);
  return reasons;
}

namespace {

/// In a job one for tasks of which as many ops are there for the same reason.
std::vector<Reason> foldReasons(const fb::Plan &plan, std::vector<Reason> reasons) {
  if (!isJob(plan))
    return reasons;
  std::vector<Reason> folded;
  std::map<std::tuple<size_t, std::string, fb::DeviceType>, size_t> places;
  for (Reason &reason : reasons) {
    const fb::DeviceType type = plan.devices()->Get(reason.devices.front())->type();
    const auto [place, isNew] =
        places.try_emplace({reason.ops.size(), reason.why, type}, folded.size());
    if (isNew) {
      folded.push_back(std::move(reason));
      continue;
    }
    Reason &into = folded[place->second];
    into.devices.push_back(reason.devices.front());
    into.ops.insert(into.ops.end(), reason.ops.begin(), reason.ops.end());
  }
  sortByOps(folded);
  return folded;
}

void printReasons(Page &page, const Subject &subject, const fb::Function &function, size_t rows) {
  std::vector<Reason> reasons = foldReasons(subject.plan, reasonsOf(subject, function, false));
  const bool byRule = reasons.size() > rows;
  if (byRule)
    reasons = foldReasons(subject.plan, reasonsOf(subject, function, true));
  if (reasons.empty())
    return;
  const std::vector<std::string_view> all = nodeNamesOf(function);
  Table table({">ops", "~device", "~why", "~which"});
  const size_t shown = std::min(reasons.size(), rows);
  for (size_t i = 0; i < shown; ++i)
    table.add({std::to_string(reasons[i].ops.size()), devicesText(subject.plan, reasons[i].devices),
               reasons[i].why + (byRule ? ", for several reasons" : ""),
               partsOf(reasons[i].ops, all)});
  page.print("\n");
  page.table(table, Long::cut);
  page.more("reasons", shown, reasons.size());
}

void printRejected(Page &page, const Subject &subject, const fb::Function &function) {
  const std::vector<Rejected> rejected = rejectedOf(subject, function);
  if (rejected.empty())
    return;
  Table table({"not taken", ">ops", "~by"});
  const size_t shown = std::min(rejected.size(), rejectedShown);
  for (size_t i = 0; i < shown; ++i)
    table.add(
        {rejected[i].reason, std::to_string(rejected[i].ops.size()), someOf(rejected[i].ops)});
  page.print("\n");
  page.table(table, Long::cut);
  page.more("reasons", shown, rejected.size());
}

//--- kernels
//----------------------------------------------------------------------------------------

/// Of a step of training: the way there, the way back, the update.
void printStepParts(Page &page, const std::vector<StepPartUse> &parts) {
  if (parts.empty())
    return;
  double all = 0;
  for (const StepPartUse &part : parts)
    all += part.seconds;
  Table table(
      {"part of the step", ">ops", ">launches", ">predicted", "", ">share", ">read and written"});
  for (const StepPartUse &part : parts)
    table.add({fb::EnumNameStepPart(part.part), std::to_string(part.ops),
               std::to_string(part.launches), formatSeconds(part.seconds),
               bar(all > 0 ? part.seconds / all : 0, barWidth(page)), percent(part.seconds, all),
               formatBytes(part.bytes)});
  page.print("\n");
  page.table(table, Long::cut);
}

/// What runs again in the place of being held.
void printAgain(Page &page, const Subject &subject, const Launches &launches) {
  const ComputedAgain again = subject.computedAgain(launches);
  std::string text;
  if (!again.alone.empty())
    text = counted(again.alone.size(), "kernel") + ", " + formatSeconds(again.seconds) + ": " +
           someOf(again.alone);
  if (again.inside)
    text +=
        (text.empty() ? "" : "; ") + counted(again.inside, "op") + " in the kernels that read them";
  if (text.empty())
    return;
  page.print("\n");
  page.paragraph("computed again, so that less is held: " + text);
}

/// What tasks of a job run alike.
struct FoldedUses {
  const KernelUse *first;
  std::vector<uint32_t> devices;
};

std::vector<FoldedUses> foldUses(const Subject &subject, const std::vector<KernelUse> &uses) {
  std::vector<FoldedUses> folded;
  std::map<std::tuple<std::string, uint64_t, std::string, size_t>, size_t> places;
  const bool folds = isJob(subject.plan);
  for (const KernelUse &use : uses) {
    const auto [place, isNew] =
        places.try_emplace({subject.codeOf(use.symbol, use.device), use.launches,
                            formatSeconds(use.seconds), folds ? 0 : folded.size()},
                           folded.size());
    if (isNew)
      folded.push_back({&use, {}});
    folded[place->second].devices.push_back(use.device);
  }
  return folded;
}

void printKernels(Page &page, const Subject &subject, const fb::Function &function,
                  const Launches &launches, size_t rows) {
  const std::vector<KernelUse> uses = subject.kernelsOf(launches);
  double all = 0;
  for (const KernelUse &use : uses)
    all += use.seconds;
  page.print("\n%s, %s for %s\n", counted(uses.size(), "kernel").c_str(),
             counted(launches.all.size(), "launch").c_str(),
             counted(listOf(function.placed_ops()).size(), "op").c_str());
  if (uses.empty())
    return;
  const std::vector<FoldedUses> folded = foldUses(subject, uses);
  Table table({folded.size() > rows ? "~most expensive" : "~kernel", "device", ">launches",
               ">predicted", ">share", "~code"});
  const size_t shown = std::min(folded.size(), rows);
  double rest = all;
  size_t left = uses.size();
  for (size_t i = 0; i < shown; ++i) {
    const KernelUse &use = *folded[i].first;
    const auto number = static_cast<double>(folded[i].devices.size());
    rest -= number * use.seconds;
    left -= folded[i].devices.size();
    table.add({someOf(use.nodes), devicesText(subject.plan, folded[i].devices),
               std::to_string(use.launches), formatSeconds(use.seconds),
               percent(number * use.seconds, all), subject.codeOf(use.symbol, use.device)});
  }
  page.table(table, Long::cut);
  if (left > 0)
    page.print("  … and %zu more kernels, %s, %s (--all)\n", left, formatSeconds(rest).c_str(),
               percent(rest, all).c_str());
}

//--- copies
//-----------------------------------------------------------------------------------------

struct CopyRoute {
  const LedgerCopy *first;
  uint64_t copies = 0, bytes = 0;
  double seconds = 0;
  std::vector<std::string> causes;
};

/// Copies that go the same way at the same time, what takes longest first; `apart`: each by itself.
std::vector<CopyRoute> waysOf(const Subject &subject, const Ledger &ledger, bool apart) {
  std::vector<CopyRoute> ways;
  std::map<std::tuple<CopyTime, uint32_t, uint32_t, size_t>, size_t> places;
  for (const LedgerCopy &copy : ledger.copies) {
    // Of collectives those of a kind go one way.
    const uint32_t from =
        copy.collective ? nothingSaid - static_cast<uint32_t>(copy.collective->kind()) : copy.from;
    const auto [place, isNew] =
        places.try_emplace({copy.time, from, copy.to, apart ? ways.size() : 0}, ways.size());
    if (isNew)
      ways.push_back({&copy, 0, 0, 0, {}});
    CopyRoute &way = ways[place->second];
    ++way.copies;
    way.bytes += copy.bytes;
    way.seconds += subject.seconds(copy);
    way.causes.push_back(causeOf(copy.cause));
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const CopyRoute &a, const CopyRoute &b) { return a.seconds > b.seconds; });
  return ways;
}

void printCopies(Page &page, const Subject &subject, const Ledger &ledger, size_t rows) {
  if (ledger.copies.empty())
    return;
  const bool apart = ledger.copies.size() <= rows;
  const std::vector<CopyRoute> ways = waysOf(subject, ledger, apart);
  Table table({"copies", "kind", "from", "to", ">number", ">bytes", ">predicted", "~caused by"});
  std::vector<TaskRow> folded;
  for (const CopyRoute &way : ways) {
    const LedgerCopy &first = *way.first;
    TaskRow row{{first.from},
                {first.to},
                {timeOf(first.time), std::string(copyKindName(first.kind)),
                 std::to_string(way.copies), formatBytes(way.bytes), formatSeconds(way.seconds),
                 someOf(way.causes)}};
    if (first.collective) { // from whom is a cell, then
      row.devices = std::exchange(row.others, {});
      row.cells.insert(row.cells.begin() + 2, collectiveOf(subject.plan, first));
    }
    folded.push_back(std::move(row));
  }
  folded = foldRows(subject.plan, std::move(folded));
  const size_t shown = std::min(folded.size(), rows);
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> &cells = folded[i].cells;
    if (folded[i].others.empty())
      cells.insert(cells.begin() + 3, devicesText(subject.plan, folded[i].devices));
    else
      cells.insert(cells.begin() + 2, {devicesText(subject.plan, folded[i].devices),
                                       devicesText(subject.plan, folded[i].others)});
    table.add(std::move(cells));
  }
  page.print("\n");
  page.table(table, Long::cut);
  page.more("ways", shown, folded.size());
}

//--- memory
//-----------------------------------------------------------------------------------------

/// The devices that need most; the others have their line in the table of devices.
void printMemoryLines(Page &page, const Subject &subject, const fb::Function &function) {
  std::vector<uint32_t> used;
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d)
    if (subject.memoryOf(d).total())
      used.push_back(d);
  std::stable_sort(used.begin(), used.end(), [&](uint32_t a, uint32_t b) {
    return subject.memoryOf(a).total() > subject.memoryOf(b).total();
  });
  const size_t shown = std::min(used.size(), devicesShown);
  for (size_t i = 0; i < shown; ++i) {
    const DeviceMemory memory = subject.memoryOf(used[i]);
    std::string line = "memory of " + shortDeviceName(subject.plan, used[i]) + ": constants " +
                       formatBytes(memory.sizes[0]) + ", variables " +
                       formatBytes(memory.sizes[1]) + ", transient " + formatBytes(memory.sizes[2]);
    if (memory.lowerBound)
      line += format(" (%.3f times the lower bound)",
                     static_cast<double>(memory.sizes[2]) / static_cast<double>(memory.lowerBound));
    if (memory.transient)
      if (const std::string peak = peakOf(subject, function, used[i], *memory.transient);
          !peak.empty())
        line += ", " + peak;
    page.print(i == 0 ? "\n" : "");
    page.paragraph(line);
  }
  if (shown < used.size())
    page.print("  … and %zu more devices (--memory)\n", used.size() - shown);
}

} // namespace

void printPage(Page &page, const Subject &subject, const fb::Function &function, size_t rows) {
  const Ledger ledger = Ledger::of(subject.plan, function);
  printBindings(page, subject, function, std::min(rows, bindingsShown));
  if (const std::string prediction = predictionOf(subject, function); !prediction.empty()) {
    page.print("\n");
    page.paragraph(prediction);
  }
  printTasks(page, subject, function, ledger);
  printDevices(page, subject, function, subject.loadsOf(function, ledger));
  page.print("\n");
  page.paragraph(placementSummary(subject.plan, function, ledger));
  printReasons(page, subject, function, rows);
  printRejected(page, subject, function);
  const Launches launches = subject.launchesOf(function, ledger);
  const std::vector<StepPartUse> parts = subject.stepPartsOf(function, launches);
  printStepParts(page, parts);
  // Of a step the most expensive ones are what is asked for, whatever stands beside it.
  printKernels(page, subject, function, launches,
               parts.empty() ? rows : std::max(rows, stepKernels));
  printAgain(page, subject, launches);
  printCopies(page, subject, ledger, rows);
  printMemoryLines(page, subject, function);
}

} // namespace gantry::show
