// An explanation with all rows, or of some ops: a row for each node of the model, copy and kernel.
// A kernel's time stands at the op with most work in it, so that a column sums to the time of all
// kernels.
#include "ExplainText.h"

#include "gantry/Show/Text.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"

#include <algorithm>
#include <map>

namespace gantry::show {

using namespace plan;

namespace {

constexpr size_t recordsShown = 4; ///< nodes of --op that are told in full sentences

/// Each text once, in order, a number behind those that come more often.
class Listed {
public:
  void add(std::string_view text) {
    const auto known =
        std::find_if(texts.begin(), texts.end(), [&](const auto &t) { return t.first == text; });
    if (known != texts.end())
      ++known->second;
    else if (!text.empty())
      texts.emplace_back(text, 1);
  }
  std::string text(const char *between = ", ") const { return text(between, false); }
  std::string withNumbers() const { return text(", ", true); }

private:
  std::string text(const char *between, bool withNumbers) const {
    std::string out;
    for (const auto &[text, count] : texts)
      out += (out.empty() ? "" : between) + text +
             (withNumbers && count > 1 ? " ×" + std::to_string(count) : "");
    return out;
  }

  std::vector<std::pair<std::string, uint64_t>> texts;
};

/// What a row says.
struct Told {
  Listed ranAs, devices, reasons, kernels, places;
  double seconds = 0;
  uint64_t flops = 0, bytes = 0;
};

Told tell(const Subject &subject, const NodeRow &row, const Launches &launches) {
  Told told;
  for (const fb::PlacedOp *op : row.ops) {
    told.ranAs.add(textOf(op->log_name()));
    told.devices.add(shortDeviceName(subject.plan, op->device()));
    told.reasons.add(why(subject, *op));
    told.kernels.add(subject.codeOf(textOf(op->kernel_name()), op->device()));
    told.places.add(subject.where(textOf(op->location())));
    told.seconds += launches.charged(*op);
    told.flops = cappedSum(told.flops, op->flops());
    told.bytes = cappedSum(told.bytes, op->bytes());
  }
  return told;
}

/// Reasons that many rows give are told once, above the rows, and stand in them as a letter.
class Legend {
public:
  void add(const std::string &reason) { ++counts.try_emplace(reason, 0).first->second; }
  void print(Page &page) {
    constexpr uint64_t often = 4;
    Table table({"why", ">ops", "~"});
    for (const auto &[reason, count] : counts)
      if (count >= often && letters.size() < 26) {
        letters[reason] = std::string(1, static_cast<char>('a' + letters.size()));
        table.add({letters[reason], std::to_string(count), reason});
      }
    if (table.empty())
      return;
    page.print("\n");
    page.table(table);
  }
  std::string inRow(const std::string &reason) const {
    const auto letter = letters.find(reason);
    return letter == letters.end() ? reason : letter->second;
  }

private:
  std::map<std::string, uint64_t> counts;
  std::map<std::string, std::string> letters;
};

std::string secondsText(const Told &told) {
  return told.seconds > 0 ? formatSeconds(told.seconds) : "";
}

void printRecord(Page &page, const Subject &subject, const NodeRow &row, const Launches &launches) {
  const Told told = tell(subject, row, launches);
  page.print("\n");
  page.paragraph(std::string(row.type) + " '" + std::string(row.name) + "'");
  Listed names;
  for (const fb::PlacedOp *op : row.ops)
    if (textOf(op->name()) != row.name || row.ops.size() > 1)
      names.add(textOf(op->name()));
  Table table({"", "~"});
  const auto add = [&](const char *what, const std::string &text) {
    if (!text.empty())
      table.add({what, text});
  };
  add("runs as", told.ranAs.withNumbers());
  add("named", names.text());
  add("device", told.devices.text());
  add("why", told.reasons.text("; "));
  add("code", told.kernels.text() + (told.seconds > 0 ? "" : ", whose time stands at another op"));
  add("predicted", secondsText(told));
  add("work", std::to_string(told.flops) + " operations, " + formatBytes(told.bytes));
  add("where", told.places.text());
  // The titles are empty: their line is left out.
  const std::string text = table.text(Long::wrap, page.width);
  page.add(text.substr(text.find('\n') + 1));
}

void printNodes(Page &page, const Subject &subject, const fb::Function &function,
                const Launches &launches) {
  std::vector<NodeRow> rows = subject.nodesOf(function);
  std::erase_if(rows, [&](const NodeRow &row) {
    return std::none_of(row.ops.begin(), row.ops.end(),
                        [&](const fb::PlacedOp *op) { return subject.wants(*op); });
  });
  if (!subject.question.op.empty() && rows.size() <= recordsShown) {
    for (const NodeRow &row : rows)
      printRecord(page, subject, row, launches);
    return;
  }
  if (rows.empty())
    return;
  const bool hasLines = std::any_of(rows.begin(), rows.end(), [](const NodeRow &row) {
    return !textOf(row.ops.front()->location()).starts_with("node '");
  });
  std::vector<Told> told;
  Legend legend;
  for (const NodeRow &row : rows)
    legend.add(told.emplace_back(tell(subject, row, launches)).reasons.text("; "));
  legend.print(page);
  Table table({"op", "~name", "~runs as", "device", "~why", ">predicted", "~code",
               hasLines ? "~where" : ""});
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string ranAs = told[i].ranAs.withNumbers();
    table.add({std::string(rows[i].type), std::string(rows[i].name),
               ranAs == rows[i].type ? "" : ranAs, told[i].devices.text(),
               legend.inRow(told[i].reasons.text("; ")), secondsText(told[i]),
               told[i].kernels.text(), hasLines ? told[i].places.text() : ""});
  }
  page.print("\nops\n");
  page.table(table);
  page.print("  (a kernel's time stands at the op with most work in it)\n");
}

void printRejected(Page &page, const Subject &subject, const fb::Function &function) {
  Table table({"not taken", ">ops", "~by"});
  for (const Rejected &rejected : rejectedOf(subject, function))
    table.add({rejected.reason, std::to_string(rejected.ops.size()), foldedList(rejected.ops)});
  if (table.empty())
    return;
  page.print("\n");
  page.table(table);
}

void printCopies(Page &page, const Subject &subject, const Ledger &ledger) {
  Table table({"copy", "kind", "from", "to", ">bytes", ">predicted", "~caused by", "~value"});
  for (const LedgerCopy &copy : ledger.copies)
    if (subject.wants(copy))
      table.add({copy.joined ? "  same transfer" : timeOf(copy.time),
                 std::string(copyKindName(copy.kind)),
                 copy.collective ? collectiveOf(subject.plan, copy)
                                 : shortDeviceName(subject.plan, copy.from),
                 shortDeviceName(subject.plan, copy.to), std::to_string(copy.bytes),
                 formatSeconds(subject.seconds(copy)), subject.where(causeOf(copy.cause)),
                 std::string(copy.name)});
  if (table.empty())
    return;
  page.print("\ncopies\n");
  page.table(table);
}

void printKernels(Page &page, const Subject &subject, const fb::Function &function,
                  const Launches &launches) {
  const std::vector<KernelUse> uses = subject.kernelsOf(launches);
  Table table({"~kernel", "device", ">launches", ">items", ">predicted", "~ops", "~code"});
  for (const KernelUse &use : uses)
    table.add({someOf(use.nodes), shortDeviceName(subject.plan, use.device),
               std::to_string(use.launches), std::to_string(use.items), formatSeconds(use.seconds),
               use.ops, subject.codeOf(use.symbol, use.device)});
  page.print("\n%s, %s for %s\n", counted(uses.size(), "kernel").c_str(),
             counted(launches.all.size(), "launch").c_str(),
             counted(listOf(function.placed_ops()).size(), "op").c_str());
  if (!table.empty())
    page.table(table);
}

} // namespace

void printDetails(Page &page, const Subject &subject, const fb::Function &function) {
  const Ledger ledger = Ledger::of(subject.plan, function);
  const Launches launches = subject.launchesOf(function, ledger);
  printNodes(page, subject, function, launches);
  printRejected(page, subject, function);
  printCopies(page, subject, ledger);
  if (!subject.question.op.empty())
    return;
  page.print("\n");
  page.paragraph(placementSummary(subject.plan, function, ledger));
  page.paragraph(predictionOf(subject, function));
  printKernels(page, subject, function, launches);
}

} // namespace gantry::show
