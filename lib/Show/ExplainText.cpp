// An explanation for people: the header, and what was asked for.
#include "ExplainText.h"

#include "QueueChart.h"
#include "gantry/Placement/FoldNames.h"
#include "gantry/Plan/KernelVariants.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <map>

namespace gantry::show {

using namespace plan;

namespace {

constexpr size_t remarksShown = 4;
constexpr size_t rowsShown = 10, rowsOfSeveral = 4; ///< of a table; of several functions each

/// Remarks that differ in numbers only are one line.
void printRemarks(Page &page, const Subject &subject) {
  std::vector<std::string_view> remarks;
  for (const auto *remark : listOf(subject.plan.remarks()))
    remarks.push_back(textOf(remark));
  const std::vector<placement::FoldedName> folded = placement::foldNames(remarks);
  const size_t shown = subject.question.all ? folded.size() : std::min(folded.size(), remarksShown);
  for (size_t i = 0; i < shown; ++i)
    page.paragraph("remark: " + folded[i].text());
  if (shown < folded.size())
    page.print("  … and %zu more remarks (--all)\n", folded.size() - shown);
}

/// What --math rounded; nothing without it. Ops that multiply narrow factors say so behind their
/// name, "Conv2D(bf16)". To tf32 devices round while they multiply, which no op says.
std::string mathOf(const fb::Plan &plan) {
  const std::string type(textOf(plan.math())), suffix = "(" + type + ")";
  if (type.empty() || type == "f32")
    return "";
  size_t narrow = 0, all = 0;
  for (const auto *function : listOf(plan.functions()))
    for (const auto *op : listOf(function->placed_ops())) {
      all += textOf(op->kind()) == "contraction";
      narrow += textOf(op->log_name()).ends_with(suffix);
    }
  std::string text = "math: products of f32 round their factors to " + type;
  return type == "tf32" ? text
                        : text + "; " + format("%zu of %zu", narrow, all) + " contractions do";
}

void printHeader(Page &page, const Subject &subject) {
  const std::string source(textOf(subject.plan.source()));
  std::string line = "plan of " + formatBytes(subject.planBytes) +
                     (subject.isOutline ? " without its code" : "") +
                     (source.empty() ? "" : " from '" + source + "'") + ", made by " +
                     (subject.plan.producer() ? subject.plan.producer()->str()
                                              : std::string("an unknown compiler"));
  page.paragraph(line);
  if (!textOf(subject.plan.placement()).empty())
    page.print("placement: %s\n", subject.plan.placement()->c_str());
  if (const std::string math = mathOf(subject.plan); !math.empty())
    page.paragraph(math);
  for (const auto *constraint : listOf(subject.plan.constraints()))
    page.paragraph("constraint: " + constraint->str());
  // Who has just compiled the graph has read them.
  if (!subject.question.isCompiledNow)
    printRemarks(page, subject);
}

/// ", driver host: code for avx512f, else code" for each driver on which there is a choice.
std::vector<std::string> variantChoices(const fb::Plan &plan, const fb::Kernel &kernel) {
  std::map<std::string_view, std::vector<std::string>> byDriver;
  for (const KernelVariant &variant : variantsOf(plan, kernel))
    byDriver[variant.driver].push_back(variant.describe(plan));
  std::vector<std::string> choices;
  for (const auto &[driver, variants] : byDriver) {
    if (variants.size() < 2)
      continue;
    choices.push_back(", driver " + std::string(driver) + ": " + variants.front());
    for (size_t i = 1; i < variants.size(); ++i)
      choices.back() += ", else " + variants[i];
  }
  return choices;
}

/// What load chooses among, a line for all kernels with the same choice.
void printVariants(Page &page, const fb::Plan &plan) {
  std::map<std::string, uint64_t> kernels;
  for (const auto *kernel : listOf(plan.kernels()))
    for (const std::string &choice : variantChoices(plan, *kernel))
      ++kernels[choice];
  for (const auto &[choice, count] : kernels)
    page.paragraph(counted(count, "kernel") + choice);
}

void printHints(Page &page, const Subject &subject) {
  page.print("\n");
  page.paragraph(std::string("more: --all, --op NAME, --memory, --timeline") +
                 (subject.question.isCompiledNow ? ", --why-not NAME DEVICE" : "") +
                 "; `gantry report` draws it");
}

} // namespace

std::string why(const Subject &subject, const fb::PlacedOp &op) {
  std::string text(textOf(op.rule()));
  if (!textOf(op.reason()).empty())
    text += ": " + subject.where(textOf(op.reason()));
  for (const char *more : {op.fall_back() ? "fell back" : "", op.once() ? "once at load" : ""})
    if (*more)
      text += (text.empty() ? "" : ", ") + std::string(more);
  return text;
}

uint64_t boundBytes(const fb::Function &function, uint32_t device) {
  uint64_t bytes = 0;
  for (const auto *bindings : {function.inputs(), function.outputs()})
    for (const auto *binding : listOf(bindings))
      if (binding->device() == device)
        bytes += typeBytes(*binding->type());
  return bytes;
}

void printBindings(Page &page, const Subject &subject, const fb::Function &function, size_t rows) {
  Table table({"", "~name", "~type", ">bytes", "device"});
  // An output may be an input's array, when that is given away.
  const auto over = [&](const fb::Binding &binding) {
    if (binding.over() == plan::nothingSaid)
      return std::string();
    return ", over '" + std::string(textOf(function.inputs()->Get(binding.over())->name())) + "'";
  };
  const auto add = [&](const char *kind, const auto *bindings) {
    const auto all = listOf(bindings);
    const size_t shown = std::min(all.size(), rows);
    for (size_t i = 0; i < shown; ++i)
      table.add({kind, std::string(textOf(all[i]->name())), typeText(*all[i]->type()),
                 std::to_string(typeBytes(*all[i]->type())),
                 shortDeviceName(subject.plan, all[i]->device()) + over(*all[i])});
    if (shown < all.size())
      table.add({"", format("… and %zu more %ss", all.size() - shown, kind)});
  };
  add("input", function.inputs());
  add("output", function.outputs());
  if (!table.empty())
    page.table(table, Long::cut);
}

std::vector<Rejected> rejectedOf(const Subject &subject, const fb::Function &function) {
  std::vector<Rejected> found;
  std::map<std::string_view, size_t> places;
  for (const auto *op : listOf(function.placed_ops()))
    for (const auto *rejected : listOf(op->rejected())) {
      if (!subject.wants(*op))
        continue;
      const auto [place, isNew] = places.try_emplace(textOf(rejected), found.size());
      if (isNew)
        found.push_back({std::string(textOf(rejected)), {}});
      found[place->second].ops.push_back(nodeOf(*op));
    }
  return found;
}

std::string predictionOf(const Subject &subject, const fb::Function &function) {
  const double seconds = predictedSeconds(subject.plan, function);
  if (seconds <= 0)
    return "";
  std::string text = "predicted " + formatSeconds(seconds) + " per run";
  if (const double bound = lowerBoundSeconds(subject.plan, function); bound > 0)
    text += "; no placement on these devices can take less than " + formatSeconds(bound);
  return text;
}

std::string explainForPeople(const Subject &subject, const Moments &moments) {
  const Question &question = subject.question;
  const bool isPage = !question.memory && !question.all && question.op.empty();
  Page page(question.width);
  printHeader(page, subject);
  printVariants(page, subject.plan);
  for (const fb::Function *function : subject.functions()) {
    page.print("\nfunction %s\n", printable(textOf(function->name())).c_str());
    if (isPage)
      printPage(page, subject, *function,
                subject.functions().size() == 1 ? rowsShown : rowsOfSeveral);
    else if (question.op.empty())
      printBindings(page, subject, *function, SIZE_MAX);
    if (!isPage && !question.memory)
      printDetails(page, subject, *function);
    if (question.timeline)
      page.add("\n" + chartOf(subject, *function, moments));
    if (question.memory || (question.all && question.op.empty()))
      printMemory(page, subject, *function);
  }
  if (isPage && question.hints)
    printHints(page, subject);
  return page.take();
}

} // namespace gantry::show
