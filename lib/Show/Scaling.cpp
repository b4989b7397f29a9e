// What a plan says of itself for a table over numbers of tasks. Nothing is predicted here: times
// are those of predictRun, bytes those of the ledger, as in an explanation of each plan alone.
#include "gantry/Show/Scaling.h"
#include "ExplainText.h"

#include "gantry/Plan/PlanTopology.h"
#include "gantry/Plan/Tasks.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <set>

namespace gantry::show {

using namespace plan;

namespace {

/// When something is under way, and how often.
struct Span {
  double start = 0, end = 0, rounds = 1;
};

/// In order, each without what those before it cover.
std::vector<Span> disjoint(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.start < b.start; });
  std::vector<Span> apart;
  double reach = 0;
  for (Span span : spans) {
    span.start = std::max(span.start, reach);
    if (span.start >= span.end)
      continue;
    reach = span.end;
    apart.push_back(span);
  }
  return apart;
}

double secondsOf(const std::vector<Span> &spans) {
  double seconds = 0;
  for (const Span &span : spans)
    seconds += span.rounds * (span.end - span.start);
  return seconds;
}

/// Seconds of the first in which one of the second is under way; both are disjoint.
double secondsBehind(const std::vector<Span> &spans, const std::vector<Span> &others) {
  double seconds = 0;
  auto other = others.begin();
  for (const Span &span : spans) {
    while (other != others.end() && other->end <= span.start)
      ++other;
    for (auto at = other; at != others.end() && at->start < span.end; ++at)
      seconds += span.rounds * (std::min(at->end, span.end) - std::max(at->start, span.start));
  }
  return seconds;
}

/// What a task does over a run.
struct Activity {
  std::vector<Span> exchanges, launches;
};

std::vector<Activity> activitiesOf(const fb::Plan &plan, const fb::Function &function) {
  std::unordered_map<const fb::Command *, double> rounds;
  for (const PlacedCommand &placed : commandsOf(function))
    rounds[placed.command] = placed.rounds;
  const Tasks tasks(plan);
  std::vector<Activity> activities(tasks.count());
  for (const Moment &moment : predictRun(plan, function)) {
    Activity &own = activities[tasks.of(moment.command->device())];
    const Span span{moment.start, moment.end, rounds[moment.command]};
    switch (moment.command->opcode()) {
    case fb::Opcode::launch:
      own.launches.push_back(span);
      break;
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      own.exchanges.push_back(span);
      break;
    default:
      break;
    }
  }
  return activities;
}

const ScalingRow *baseOf(const std::vector<ScalingRow> &rows, const std::string &function) {
  for (const ScalingRow &row : rows)
    if (row.functions.contains(function))
      return &row;
  return nullptr;
}

/// Nothing where one of the two is not predicted.
std::optional<double> efficiencyOf(const ScalingRow &base, const ScalingRow &row,
                                   const std::string &function) {
  const double before = base.functions.at(function).step, now = row.functions.at(function).step;
  if (before <= 0 || now <= 0)
    return std::nullopt;
  return base.tasks * before / (row.tasks * now);
}

std::set<std::string> functionsOf(const std::vector<ScalingRow> &rows) {
  std::set<std::string> names;
  for (const ScalingRow &row : rows)
    for (const auto &[name, point] : row.functions)
      names.insert(name);
  return names;
}

/// Of all functions and rows: a column for each.
std::set<DeviceType> typesOf(const std::vector<ScalingRow> &rows) {
  std::set<DeviceType> types;
  for (const ScalingRow &row : rows)
    for (const auto &[name, point] : row.functions)
      for (const auto &[type, bytes] : point.peaks)
        types.insert(type);
  return types;
}

std::vector<std::string> cellsOf(const ScalingPoint &point, std::optional<double> efficiency,
                                 const std::set<DeviceType> &types) {
  std::vector<std::string> cells = {
      formatSeconds(point.step),    efficiency ? format("%.2f", *efficiency) : "",
      formatSeconds(point.compute), formatSeconds(point.exchange),
      formatSeconds(point.hidden),  formatBytes(point.sent)};
  for (DeviceType type : types) {
    const auto peak = point.peaks.find(type);
    cells.push_back(peak == point.peaks.end() ? "" : formatBytes(peak->second));
  }
  return cells;
}

Table tableOf(const std::vector<ScalingRow> &rows, const std::string &function) {
  const std::set<DeviceType> types = typesOf(rows);
  std::vector<std::string> titles = {">tasks",   ">step",           ">efficiency",   ">compute",
                                     ">network", ">behind compute", ">sent per task"};
  for (DeviceType type : types)
    titles.push_back(">peak of a " + std::string(deviceTypeName(type)));
  Table table(titles);
  const ScalingRow *base = baseOf(rows, function);
  for (const ScalingRow &row : rows) {
    std::vector<std::string> cells = {std::to_string(row.tasks)};
    if (const auto point = row.functions.find(function); point != row.functions.end())
      for (std::string &cell : cellsOf(point->second, efficiencyOf(*base, row, function), types))
        cells.push_back(std::move(cell));
    else
      cells.push_back("no plan");
    cells.resize(titles.size());
    table.add(std::move(cells));
  }
  return table;
}

void addPoint(JSONWriter &json, const std::string &function, const ScalingPoint &point,
              std::optional<double> efficiency) {
  json.beginObject().member("function", function).member("predicted_seconds", point.step);
  if (efficiency)
    json.member("efficiency", *efficiency);
  json.member("predicted_compute_seconds", point.compute)
      .member("predicted_network_seconds", point.exchange)
      .member("behind_compute_seconds", point.hidden)
      .member("sent_bytes", point.sent)
      .key("peak_bytes")
      .beginObject();
  for (const auto &[type, bytes] : point.peaks)
    json.member(deviceTypeName(type), bytes);
  json.endObject().endObject();
}

} // namespace

ScalingPoint scalingPointOf(const Subject &subject, const fb::Function &function) {
  const Ledger ledger = Ledger::of(subject.plan, function);
  ScalingPoint point;
  point.step = predictedSeconds(subject.plan, function);
  for (const DeviceLoad &load : subject.loadsOf(function, ledger))
    point.compute = std::max(point.compute, load.compute);
  for (const Activity &activity : activitiesOf(subject.plan, function)) {
    const std::vector<Span> exchanges = disjoint(activity.exchanges);
    const double seconds = secondsOf(exchanges);
    if (seconds <= point.exchange)
      continue;
    point.exchange = seconds;
    point.hidden = secondsBehind(exchanges, disjoint(activity.launches));
  }
  for (const auto &[task, traffic] : trafficOf(subject, function, ledger))
    point.sent = std::max(point.sent, traffic.sent);
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const Expected<DeviceName> name = nameOf(*subject.plan.devices()->Get(d));
    if (!name || !name->type)
      continue;
    uint64_t &peak = point.peaks[*name->type];
    peak = std::max(peak, subject.memoryOf(d).total() + boundBytes(function, d));
  }
  return point;
}

std::string scalingForPeople(const std::vector<ScalingRow> &rows, size_t width) {
  Page page(width);
  for (const std::string &function : functionsOf(rows)) {
    page.print("function %s\n", printable(function).c_str());
    page.table(tableOf(rows, function));
    page.print("\n");
  }
  for (const ScalingRow &row : rows)
    if (!row.failure.empty())
      page.paragraph("no plan for " + counted(row.tasks, "task") + ": " + row.failure);
  if (const std::set<std::string> functions = functionsOf(rows); !functions.empty()) {
    const std::string n0 = std::to_string(baseOf(rows, *functions.begin())->tasks);
    page.paragraph("efficiency of n tasks: " + n0 + " x step of " + n0 +
                   " / (n x step of n); the graph is the same, so n tasks share its work");
  }
  return page.take();
}

std::string scalingAsJson(const std::vector<ScalingRow> &rows) {
  JSONWriter json;
  json.beginObject().key("rows").beginArray();
  for (const ScalingRow &row : rows) {
    json.beginObject().member("tasks", row.tasks);
    if (!row.failure.empty()) {
      json.member("error", row.failure).endObject();
      continue;
    }
    json.key("functions").beginArray();
    for (const auto &[name, point] : row.functions)
      addPoint(json, name, point, efficiencyOf(*baseOf(rows, name), row, name));
    json.endArray().endObject();
  }
  return json.endArray().endObject().text();
}

} // namespace gantry::show
