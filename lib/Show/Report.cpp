// The page of a report: its script and style, and the data that they draw.
#include "gantry/Show/Report.h"

#include "DiffGroups.h"
#include "PlanData.h"
#include "ReportPage.h"

#include "gantry/Support/Names.h"

namespace gantry::show {

using namespace plan;

namespace {

/// Inside of a script element "<" may begin its end.
std::string forScript(const std::string &json) {
  std::string data;
  for (char c : json)
    c == '<' ? data += "\\u003c" : data += c;
  return data;
}

/// Text in the page itself.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

void replace(std::string &page, std::string_view mark, const std::string &text) {
  page.replace(page.find(mark), mark.size(), text);
}

/// What the page is called: the model, or both.
std::string titleOf(std::span<const Reported> plans) {
  std::string title;
  for (const Reported &reported : plans) {
    const std::string source = printable(textOf(reported.subject.plan.source()));
    title += (title.empty() ? "" : " and ") + (source.empty() ? "Gantry plan" : source);
  }
  return title;
}

} // namespace

/// What the page reads: one plan or two.
static std::string objectOf(std::span<const Reported> plans) {
  std::string data = "{\"plans\":[";
  for (const Reported &reported : plans)
    data += (data.ends_with('[') ? "" : ",") + planData(reported);
  data += "]";
  if (plans.size() == 2) {
    const PlanDiff diff = diffPlans(plans[0].subject.plan, plans[1].subject.plan);
    data += ",\"diff\":" + diffAsJSON(diff) + ",\"groups\":" + groupsAsJSON(diff);
  }
  return data + "}";
}

std::string reportData(std::span<const Reported> plans) {
  return plans.size() == 1 ? planData(plans.front()) : objectOf(plans);
}

std::string reportPage(std::span<const Reported> plans) {
  std::string page(reportTemplate);
  replace(page, "GANTRY_REPORT_DATA", forScript(objectOf(plans)));
  // After the data, which may hold any text; this mark stands before them.
  replace(page, "GANTRY_REPORT_TITLE", escaped(titleOf(plans)));
  return page;
}

} // namespace gantry::show
