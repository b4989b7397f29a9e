// gantry explain --scaling: the same graph compiled for several numbers of tasks, one after the
// other; of each plan only its row is kept.
#include "Commands.h"
#include "Console.h"
#include "DeviceFlags.h"
#include "FlagValues.h"
#include "Model.h"
#include "Print.h"

#include "gantry/Show/Scaling.h"

#include <algorithm>
#include <set>

namespace gantry::tool {

namespace {

/// What --tasks says with a number in the place of that of the job that is scaled, the first one.
struct TaskList {
  std::string job;
  std::string others; ///< ",ps=1"

  std::string with(uint32_t tasks) const { return job + "=" + std::to_string(tasks) + others; }
};

/// That of --tasks, else the one job of the topology file.
Expected<TaskList> findTasks(const TopologyFlags &flags) {
  if (!flags.tasks.empty()) {
    // Of a file the number that is replaced may be more than there are.
    if (Status status = TopologyRequest::parse(flags).status(); !status.ok() && flags.file.empty())
      return status;
    const size_t comma = std::min(flags.tasks.find(','), flags.tasks.size());
    const std::string_view first = std::string_view(flags.tasks).substr(0, comma);
    return TaskList{std::string(first.substr(0, first.find('='))), flags.tasks.substr(comma)};
  }
  if (flags.file.empty())
    return Status::invalidArgument(
        "--scaling: nothing says what a task has; give --tasks=worker=1 with the --devices of each "
        "task, or a --topology file with tasks");
  auto request = TopologyRequest::parse(flags);
  if (!request)
    return request.status();
  std::set<std::string> jobs;
  for (const TaskName &task : tasksOf(*request->devices))
    jobs.insert(task.job);
  if (jobs.size() == 1)
    return TaskList{*jobs.begin(), ""};
  std::string all;
  for (const std::string &job : jobs)
    all += (all.empty() ? "" : ",") + job + "=1";
  return Status::invalidArgument("--scaling: the tasks of '" + flags.file +
                                 "' are of several jobs; say how many each has, the one to scale "
                                 "first: --tasks=" +
                                 all);
}

/// Whether devices for the most tasks can be made; the compiler would say so of each number alone.
Status checkTasks(const TopologyFlags &flags, const TaskList &list,
                  const std::vector<uint32_t> &counts) {
  TopologyFlags most = flags;
  most.tasks = list.with(*std::max_element(counts.begin(), counts.end()));
  const Status status = TopologyRequest::parse(most).status();
  return status.ok() ? status : Status(status.code(), "--scaling: " + status.message());
}

/// The first error of the compiler's, whose lines were printed as they came.
std::string reasonOf(const Status &status, const std::vector<CompilerLine> &lines) {
  for (const CompilerLine &line : lines)
    if (line.severity == GANTRY_SEVERITY_ERROR)
      return line.text;
  return status.message();
}

Expected<ScalingRow> rowOf(const Options &options, const TaskList &list, uint32_t count) {
  Options one = options;
  std::erase_if(one.compileFlags,
                [](const std::string &flag) { return flag.starts_with("tasks="); });
  one.compileFlags.push_back("tasks=" + list.with(count));
  ScalingRow row{count, "", {}};
  std::vector<CompilerLine> lines;
  auto model = Model::load(one, Purpose::tell, {}, &lines);
  if (!model) {
    row.failure = reasonOf(model.status(), lines);
    return row;
  }
  const Subject subject = model->subject(one);
  GANTRY_RETURN_IF_ERROR(subject.checkFunction());
  for (const plan::fb::Function *function : subject.functions())
    row.functions[std::string(plan::textOf(function->name()))] = scalingPointOf(subject, *function);
  return row;
}

} // namespace

int explainScaling(const Options &options) {
  if (Status status = checkIsFile(options.file); !status.ok())
    return report(status);
  if (isPlanFile(options.file))
    return report(Status::invalidArgument("'" + options.file +
                                          "' is a plan, whose tasks are what they are; --scaling "
                                          "needs the graph"));
  TopologyFlags flags = topologyFlagsOf(options);
  if (Status status = readTopologyFile(flags); !status.ok())
    return report(status);
  const auto list = findTasks(flags);
  if (!list)
    return reportUsage(list.status());
  const std::vector<uint32_t> counts = *parseTaskCounts(options.scaling);
  if (Status status = checkTasks(flags, *list, counts); !status.ok())
    return reportUsage(status);
  std::vector<ScalingRow> rows;
  for (uint32_t count : counts) {
    auto row = rowOf(options, *list, count);
    if (!row)
      return report(row.status());
    rows.push_back(row.take());
  }
  const std::string text =
      options.json ? scalingAsJson(rows) + "\n" : scalingForPeople(rows, outputWidth());
  std::fwrite(text.data(), 1, text.size(), stdout);
  const bool isWhole = std::all_of(rows.begin(), rows.end(),
                                   [](const ScalingRow &row) { return row.failure.empty(); });
  return isWhole ? exitSuccess : exitUserError;
}

} // namespace gantry::tool
