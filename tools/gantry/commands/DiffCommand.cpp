// gantry diff: two graphs or plans, and what changed between them in placement, copies, memory and
// prediction. Like diff(1), the exit status says whether anything did.
#include "Commands.h"
#include "Console.h"
#include "Model.h"
#include "show/Print.h"
#include "show/Text.h"

#include "gantry/Show/PlanDiff.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

namespace gantry::tool {

namespace {

/// Flags are for graphs; a plan beside one does not mind them.
Expected<Model> loadOne(const Options &options, const std::string &file, const std::string &other) {
  Options one = options;
  one.file = file;
  const bool isPlan = file != "-" && isPlanFile(file);
  if (isPlan && !(other != "-" && isPlanFile(other)))
    one.compileFlags.clear();
  return Model::load(one);
}

// --- for people ---------------------------------------------------------------------------------

constexpr size_t rowsShown = 8; ///< of a table, without --all

std::string atDevice(const std::string &full) { return full.empty() ? "" : shortDeviceName(full); }

void sayMore(const char *what, size_t shown, size_t all) {
  if (shown < all)
    std::printf("  … and %zu more %s (--all)\n", all - shown, what);
}

/// A row for each op.
void printAllOps(const std::vector<OpChange> &changes) {
  Table table({"~name", "op", "from", "to", "rule"});
  for (const OpChange &change : changes)
    table.add(
        {change.node, change.type, atDevice(change.before), atDevice(change.after), change.rule});
  std::fputs(table.text().c_str(), stdout);
}

/// A row for the ops that go the same way by the same rule, most first.
void printOpGroups(const std::vector<OpChange> &changes, const FunctionDiff &diff) {
  std::map<std::array<std::string, 3>, std::vector<std::string_view>> groups;
  for (const OpChange &change : changes)
    groups[{atDevice(change.before), atDevice(change.after), change.rule}].push_back(change.node);
  std::vector<decltype(groups)::const_iterator> order;
  for (auto group = groups.cbegin(); group != groups.cend(); ++group)
    order.push_back(group);
  std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return a->second.size() > b->second.size();
  });
  Table table({">ops", "from", "to", "rule", "~which"});
  const size_t shown = std::min(order.size(), rowsShown);
  const std::vector<std::string_view> all(diff.nodes.begin(), diff.nodes.end());
  for (size_t i = 0; i < shown; ++i) {
    const auto &[way, names] = *order[i];
    table.add({std::to_string(names.size()), way[0], way[1], way[2], partsOf(names, all)});
  }
  std::fputs(table.text(Long::cut).c_str(), stdout);
  sayMore("ways", shown, order.size());
}

void printOps(const char *title, const std::vector<OpChange> &changes, const FunctionDiff &diff,
              bool all) {
  if (changes.empty())
    return;
  std::printf("%s %s\n", counted(changes.size(), "op").c_str(), title);
  all ? printAllOps(changes) : printOpGroups(changes, diff);
}

const char *timeOf(plan::CopyTime time) {
  constexpr const char *times[] = {"at load", "every run", "in a branch or loop"};
  return times[static_cast<size_t>(time)];
}

void printAllCopies(const std::vector<CopyChange> &copies) {
  Table table({">", "copy", "kind", "from", "to", ">bytes", "~caused by"});
  for (const CopyChange &copy : copies)
    table.add({format("%+lld", static_cast<long long>(copy.count)), timeOf(copy.time),
               std::string(plan::copyKindName(copy.kind)), atDevice(copy.from), atDevice(copy.to),
               std::to_string(copy.bytes), causeOf(copy.cause)});
  std::fputs(table.text().c_str(), stdout);
}

/// A row for the copies that came or went the same way, the most bytes first.
void printCopyGroups(const std::vector<CopyChange> &copies) {
  struct Way {
    const CopyChange *first;
    uint64_t count = 0, bytes = 0;
    std::vector<std::string> causes;
  };
  std::map<std::tuple<bool, plan::CopyTime, std::string, std::string>, Way> ways;
  for (const CopyChange &copy : copies) {
    Way &way =
        ways.try_emplace({copy.count > 0, copy.time, copy.from, copy.to}, Way{&copy, 0, 0, {}})
            .first->second;
    const auto count = static_cast<uint64_t>(std::abs(copy.count));
    way.count += count;
    way.bytes += count * copy.bytes;
    way.causes.push_back(causeOf(copy.cause));
  }
  std::vector<const Way *> order;
  for (const auto &[key, way] : ways)
    order.push_back(&way);
  std::stable_sort(order.begin(), order.end(),
                   [](const Way *a, const Way *b) { return a->bytes > b->bytes; });
  Table table({">", "copy", "kind", "from", "to", ">bytes", "~caused by"});
  const size_t shown = std::min(order.size(), rowsShown);
  for (size_t i = 0; i < shown; ++i) {
    const Way &way = *order[i];
    table.add({format("%c%llu", way.first->count > 0 ? '+' : '-',
                      static_cast<unsigned long long>(way.count)),
               timeOf(way.first->time), std::string(plan::copyKindName(way.first->kind)),
               atDevice(way.first->from), atDevice(way.first->to), formatBytes(way.bytes),
               someOf(way.causes)});
  }
  std::fputs(table.text(Long::cut).c_str(), stdout);
  sayMore("ways", shown, order.size());
}

void printCopies(const FunctionDiff &diff, bool all) {
  if (diff.copies.empty())
    return;
  std::puts("copies added (+) and gone (-)");
  all ? printAllCopies(diff.copies) : printCopyGroups(diff.copies);
}

std::string changeOf(double before, double after) {
  return before > 0 && after > 0 ? format(" (%+.1f %%)", 100 * (after / before - 1)) : "";
}

std::string bytesChange(const Both<uint64_t> &bytes) {
  return formatBytes(bytes.before) + " -> " + formatBytes(bytes.after) +
         changeOf(static_cast<double>(bytes.before), static_cast<double>(bytes.after));
}

void printFunction(const FunctionDiff &diff, bool all) {
  if (diff.same())
    return;
  std::printf("function %s\n", diff.name.c_str());
  if (diff.exists.differ())
    std::printf("only in the %s plan\n", diff.exists.before ? "first" : "second");
  printOps("moved", diff.moved, diff, all);
  printOps("added", diff.added, diff, all);
  printOps("gone", diff.gone, diff, all);
  printCopies(diff, all);
  if (diff.bytesPerRun.differ())
    std::printf("copied per run: %s\n", bytesChange(diff.bytesPerRun).c_str());
  if (diff.bytesAtLoad.differ())
    std::printf("copied at load: %s\n", bytesChange(diff.bytesAtLoad).c_str());
  const auto time = [](double seconds) {
    return seconds > 0 ? formatSeconds(seconds) : std::string("not predicted");
  };
  if (diff.seconds.differ())
    std::printf("predicted per run: %s -> %s%s\n", time(diff.seconds.before).c_str(),
                time(diff.seconds.after).c_str(),
                changeOf(diff.seconds.before, diff.seconds.after).c_str());
}

void printMemory(const std::vector<MemoryDiff> &memory) {
  constexpr const char *kinds[] = {"constants", "variables", "transient"};
  for (const MemoryDiff &device : memory)
    for (size_t kind = 0; kind < 3; ++kind)
      if (device.sizes[kind].differ())
        std::printf("%s on %s: %s\n", kinds[kind], shortDeviceName(device.device).c_str(),
                    bytesChange(device.sizes[kind]).c_str());
}

void printForPeople(const PlanDiff &diff, bool all) {
  if (diff.same())
    std::puts("same placement, copies, memory and prediction");
  for (const FunctionDiff &function : diff.functions)
    printFunction(function, all);
  printMemory(diff.memory);
}

} // namespace

int diffCommand(const Options &options) {
  if (options.file == "-" && options.other == "-")
    return report(Status::invalidArgument("only one of the two can be standard input"));
  auto before = loadOne(options, options.file, options.other);
  if (!before)
    return report(before.status());
  auto after = loadOne(options, options.other, options.file);
  if (!after)
    return report(after.status());
  const PlanDiff diff = diffPlans(before->plan(), after->plan());
  if (options.json)
    std::puts(diffAsJSON(diff).c_str());
  else
    printForPeople(diff, options.all);
  return diff.same() ? exitSuccess : exitUserError;
}

} // namespace gantry::tool
