// What changed from one plan to another, for people.
#include "DiffGroups.h"

#include "gantry/Show/Reports.h"
#include "gantry/Show/Text.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Seconds.h"

#include <algorithm>

namespace gantry::show {

namespace {

constexpr size_t rowsShown = 8; ///< of a table, without --all

std::string atDevice(const std::string &full) { return full.empty() ? "" : shortDeviceName(full); }

/// A row for each op.
void printAllOps(Page &page, const std::vector<OpChange> &changes) {
  Table table({"~name", "op", "from", "to", "rule"});
  for (const OpChange &change : changes)
    table.add(
        {change.node, change.type, atDevice(change.before), atDevice(change.after), change.rule});
  page.table(table);
}

/// A row for the ops that go the same way by the same rule, most first.
void printOpGroups(Page &page, const std::vector<OpChange> &changes, const FunctionDiff &diff) {
  const std::vector<OpGroup> groups = groupsOf(changes, diff);
  Table table({">ops", "from", "to", "rule", "~which"});
  const size_t shown = std::min(groups.size(), rowsShown);
  for (size_t i = 0; i < shown; ++i)
    table.add({std::to_string(groups[i].ops), atDevice(groups[i].from), atDevice(groups[i].to),
               groups[i].rule, groups[i].which});
  page.table(table, Long::cut);
  page.more("ways", shown, groups.size());
}

void printOps(Page &page, const char *title, const std::vector<OpChange> &changes,
              const FunctionDiff &diff, bool all) {
  if (changes.empty())
    return;
  page.print("%s %s\n", counted(changes.size(), "op").c_str(), title);
  all ? printAllOps(page, changes) : printOpGroups(page, changes, diff);
}

void printAllCopies(Page &page, const std::vector<CopyChange> &copies) {
  Table table({">", "copy", "kind", "from", "to", ">bytes", "~caused by"});
  for (const CopyChange &copy : copies)
    table.add({format("%+lld", static_cast<long long>(copy.count)), timeOf(copy.time),
               std::string(plan::copyKindName(copy.kind)), atDevice(copy.from), atDevice(copy.to),
               std::to_string(copy.bytes), causeOf(copy.cause)});
  page.table(table);
}

/// A row for the copies that came or went the same way, the most bytes first.
void printCopyGroups(Page &page, const std::vector<CopyChange> &copies) {
  const std::vector<CopyGroup> groups = groupsOf(copies);
  Table table({">", "copy", "kind", "from", "to", ">bytes", "~caused by"});
  const size_t shown = std::min(groups.size(), rowsShown);
  for (size_t i = 0; i < shown; ++i)
    table.add({format("%+lld", static_cast<long long>(groups[i].count)), timeOf(groups[i].time),
               std::string(plan::copyKindName(groups[i].kind)), atDevice(groups[i].from),
               atDevice(groups[i].to), formatBytes(groups[i].bytes), groups[i].causes});
  page.table(table, Long::cut);
  page.more("ways", shown, groups.size());
}

void printCopies(Page &page, const FunctionDiff &diff, bool all) {
  if (diff.copies.empty())
    return;
  page.print("copies added (+) and gone (-)\n");
  all ? printAllCopies(page, diff.copies) : printCopyGroups(page, diff.copies);
}

std::string changeOf(double before, double after) {
  return before > 0 && after > 0 ? format(" (%+.1f %%)", 100 * (after / before - 1)) : "";
}

std::string bytesChange(const Both<uint64_t> &bytes) {
  return formatBytes(bytes.before) + " -> " + formatBytes(bytes.after) +
         changeOf(static_cast<double>(bytes.before), static_cast<double>(bytes.after));
}

void printFunction(Page &page, const FunctionDiff &diff, bool all) {
  if (diff.same())
    return;
  page.print("function %s\n", diff.name.c_str());
  if (diff.exists.differ())
    page.print("only in the %s plan\n", diff.exists.before ? "first" : "second");
  printOps(page, "moved", diff.moved, diff, all);
  printOps(page, "added", diff.added, diff, all);
  printOps(page, "gone", diff.gone, diff, all);
  printCopies(page, diff, all);
  if (diff.bytesPerRun.differ())
    page.print("copied per run: %s\n", bytesChange(diff.bytesPerRun).c_str());
  if (diff.bytesAtLoad.differ())
    page.print("copied at load: %s\n", bytesChange(diff.bytesAtLoad).c_str());
  const auto time = [](double seconds) {
    return seconds > 0 ? formatSeconds(seconds) : std::string("not predicted");
  };
  if (diff.seconds.differ())
    page.print("predicted per run: %s -> %s%s\n", time(diff.seconds.before).c_str(),
               time(diff.seconds.after).c_str(),
               changeOf(diff.seconds.before, diff.seconds.after).c_str());
}

void printMemory(Page &page, const std::vector<MemoryDiff> &memory) {
  constexpr const char *kinds[] = {"constants", "variables", "transient"};
  for (const MemoryDiff &device : memory)
    for (size_t kind = 0; kind < 3; ++kind)
      if (device.sizes[kind].differ())
        page.print("%s on %s: %s\n", kinds[kind], shortDeviceName(device.device).c_str(),
                   bytesChange(device.sizes[kind]).c_str());
}

} // namespace

std::string diffForPeople(const PlanDiff &diff, bool all, size_t width) {
  Page page(width);
  if (diff.same())
    page.print("same placement, copies, memory and prediction\n");
  for (const FunctionDiff &function : diff.functions)
    printFunction(page, function, all);
  printMemory(page, diff.memory);
  return page.take();
}

} // namespace gantry::show
