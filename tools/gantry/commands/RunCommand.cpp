// gantry run: the main job. Compile or load, bind, run, then write, compare or print the outputs.
#include "Commands.h"
#include "Console.h"
#include "CounterCheck.h"
#include "Execution.h"
#include "ExpectCheck.h"
#include "MathCheck.h"
#include "Print.h"
#include "ReplicaCheck.h"
#include "StateFile.h"
#include "TracedRuns.h"

#include "gantry/Formats/Archive.h"
#include "gantry/Formats/Values.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"

#include <cstring>
#include <map>

namespace gantry::tool {

namespace {

/// Runs --repeat times; later runs must give the bytes of the first (spec G4), unless each goes on
/// from the variables that the one before it wrote.
Status runRepeatedly(TracedRuns &runs, Execution &execution, uint64_t times) {
  GANTRY_RETURN_IF_ERROR(runs.run());
  if (execution.function().writesVariables) {
    for (uint64_t round = 1; round < times; ++round)
      GANTRY_RETURN_IF_ERROR(runs.run());
    return {};
  }
  const auto &outputs = execution.function().outputs;
  std::vector<std::vector<uint8_t>> first;
  for (uint64_t round = 1; round < times; ++round) {
    for (unsigned i = 0; i < outputs.size(); ++i) {
      auto view = execution.output(i);
      if (!view)
        return view.status();
      if (round == 1)
        first.emplace_back(view->data, view->data + view->size());
    }
    GANTRY_RETURN_IF_ERROR(runs.run());
    for (unsigned i = 0; i < outputs.size(); ++i) {
      auto view = execution.output(i);
      if (!view)
        return view.status();
      if (std::memcmp(first[i].data(), view->data, first[i].size()) != 0)
        return Status::internal("run " + std::to_string(round + 1) +
                                " gave other bytes in output '" + outputs[i].name + "' than run 1");
    }
  }
  return {};
}

/// Before anything is compiled or run for them.
Status checkOutputFiles(const Options &options) {
  std::vector<std::string> files;
  for (const std::string &text : options.outputs)
    files.push_back(parseNamedFile(text).file);
  for (const std::string &file : {options.saveState, options.trace})
    if (!file.empty())
      files.push_back(file);
  return checkOutputs(options, std::move(files));
}

Status writeOutput(const std::string &file, const std::string &name,
                   const arrays::ArrayView &view) {
  if (view.element == ElementType::bf16)
    printNote("output '" + name + "' is bf16, which NumPy lacks: its bits are written as uint16");
  return arrays::writeNpy(file, view);
}

/// All outputs into one archive.
Status writeArchive(Execution &execution, const std::string &file) {
  const auto &outputs = execution.function().outputs;
  std::vector<std::pair<std::string, arrays::ArrayView>> arrays;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    auto view = execution.output(i);
    if (!view)
      return view.status();
    arrays.emplace_back(outputs[i].name, *view);
  }
  return arrays::writeNpz(file, arrays);
}

/// A request of --output with the output that it is about; none: all of them, into an archive.
struct Target {
  std::string file;
  std::optional<unsigned> output;
};

/// Resolved before the run, so that a wrong name costs none.
Expected<std::vector<Target>> resolveOutputs(const Options &options,
                                             const runtime::FunctionInfo &function) {
  std::vector<Target> targets;
  for (const std::string &text : options.outputs) {
    const NamedFile request = parseNamedFile(text);
    if (!request.name.empty()) {
      auto index = function.outputIndex(request.name);
      if (!index)
        return index.status();
      targets.push_back({request.file, *index});
    } else if (request.file.ends_with(".npz")) {
      targets.push_back({request.file, {}});
    } else if (function.outputs.size() == 1) {
      targets.push_back({request.file, 0u});
    } else {
      return Status::invalidArgument("--output " + text +
                                     " does not say which output: use --output "
                                     "NAME=" +
                                     text + "; the outputs are " +
                                     describeBindings(function.outputs));
    }
  }
  return targets;
}

Status writeOutputs(Execution &execution, const std::vector<Target> &targets) {
  for (const Target &target : targets) {
    if (!target.output) {
      GANTRY_RETURN_IF_ERROR(writeArchive(execution, target.file));
      continue;
    }
    auto view = execution.output(*target.output);
    if (!view)
      return view.status();
    GANTRY_RETURN_IF_ERROR(
        writeOutput(target.file, execution.function().outputs[*target.output].name, *view));
  }
  return {};
}

Status printOutputs(Execution &execution) {
  const auto &outputs = execution.function().outputs;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    auto view = execution.output(i);
    if (!view)
      return view.status();
    std::printf("%s: %s on %s\n%s\n", printable(outputs[i].name).c_str(),
                outputs[i].type.str().c_str(), shortDeviceName(outputs[i].device->name()).c_str(),
                arrays::formatValues(*view).c_str());
  }
  return {};
}

/// Which variants the kernels run as, a line for each way.
void printVariants(const runtime::LoadedPlan &plan) {
  std::map<std::string, size_t> ways;
  for (const runtime::KernelChoice &choice : plan.kernelChoices())
    ++ways[" on " + shortDeviceName(choice.device->name()) + ": " +
           choice.variant.describe(plan.metadata())];
  for (const auto &[way, kernels] : ways)
    printNote(counted(kernels, "kernel") + way);
}

/// -v. Fails when the runtime copied what the plan does not say.
Status describeRun(const Options &options, const Prepared &prepared, const CounterCheck &counters,
                   double runMilliseconds) {
  const auto &[model, execution] = prepared;
  if (model.compileSeconds)
    printNote(model.describeCompilation());
  printNote(format("plan of %s, loaded in %.3f ms, ran in %.3f ms",
                   formatBytes(model.file.bytes().size()).c_str(), execution.loadMilliseconds(),
                   runMilliseconds / static_cast<double>(options.repeat)));
  if (const auto seconds = execution.virtualSeconds())
    printNote("on the virtual clock: " + formatSeconds(*seconds));
  printVariants(execution.plan());
  std::fputs(memorySummary(model.plan()).c_str(), stderr);
  GANTRY_RETURN_IF_ERROR(counters.compare(options.repeat));
  printNote(counters.summary(options.repeat));
  return {};
}

Status checkCompareMath(const Options &options, const Model &model) {
  if (!options.compareMath)
    return {};
  if (!model.compileSeconds)
    return Status::invalidArgument(
        "--compare-math compiles the graph once more, with --math=f32; '" + options.file +
        "' is a plan, give the graph");
  if (mathOf(options) == "f32")
    return Status::invalidArgument(
        "--compare-math compares with f32, and nothing else is asked for; "
        "add --math=bf16, --math=f16 or --math=tf32");
  return {};
}

} // namespace

int runCommand(const Options &options) {
  if (Status status = checkStandardInput(options); !status.ok())
    return reportUsage(status);
  auto expected = readGiven(options.expected, "--expect");
  if (!expected)
    return report(expected.status());
  if (Status status = checkOutputFiles(options); !status.ok())
    return report(status);
  auto inputs = readGiven(options.inputs, "--input");
  if (!inputs)
    return report(inputs.status());
  // A pipe cannot be read again for a further run.
  auto again = options.checkReplicas ? copyOf(*inputs) : GivenArrays();
  if (!again)
    return report(again.status());
  auto inF32 = options.compareMath ? copyOf(*inputs) : GivenArrays();
  if (!inF32)
    return report(inF32.status());
  auto prepared = Prepared::from(options, inputs.take());
  if (!prepared)
    return report(prepared.status());
  auto &[model, execution] = *prepared;
  if (options.checkReplicas && !model.compileSeconds)
    return report(Status::invalidArgument("--check-replicas compiles the graph once more, for one "
                                          "device; '" +
                                          options.file + "' is a plan, give the graph"));
  if (Status status = checkCompareMath(options, model); !status.ok())
    return report(status);
  auto targets = resolveOutputs(options, execution.function());
  if (!targets)
    return report(targets.status());
  auto references =
      assignGiven(expected.take(), execution.function().outputs, "--expect", "output");
  if (!references)
    return report(references.status());
  // Who has just compiled the graph has heard them.
  if (!model.compileSeconds && (options.placementLog == PlacementLog::text || options.verbose))
    printRemarks(model.plan());
  printPlacementLog(model.plan(), execution.function().name, options.placementLog);

  StateValues state;
  if (!options.loadState.empty()) {
    auto read = StateValues::read(options.loadState);
    if (!read)
      return report(read.status());
    state = read.take();
    if (Status status = loadState(execution, state, options.loadState); !status.ok())
      return report(status);
  }
  const CounterCheck counters(execution);
  TracedRuns runs(execution, options.trace);
  Stopwatch watch;
  if (Status status = runRepeatedly(runs, execution, options.repeat); !status.ok())
    return report(status);
  const double runMilliseconds = watch.milliseconds();
  if (Status status = runs.write(); !status.ok())
    return report(status);

  if (Status status = writeOutputs(execution, *targets); !status.ok())
    return report(status);
  if (!options.saveState.empty())
    if (Status status = saveState(execution, options.saveState); !status.ok())
      return report(status);
  auto agree = checkExpected(options, execution, *references);
  if (!agree)
    return report(agree.status());
  if (options.checkReplicas) {
    auto same = checkReplicas(options, execution, again.take(), state);
    if (!same)
      return report(same.status());
    *agree &= *same;
  }
  if (options.compareMath) {
    auto close = compareMath(options, execution, inF32.take(), state);
    if (!close)
      return report(close.status());
    *agree &= *close;
  }
  // Who asked for files or a comparison does not want the numbers as well.
  if (options.outputs.empty() && options.expected.empty() && !options.checkReplicas &&
      !options.compareMath)
    if (Status status = printOutputs(execution); !status.ok())
      return report(status);
  if (options.verbose)
    if (Status status = describeRun(options, *prepared, counters, runMilliseconds); !status.ok())
      return report(status);
  return *agree ? exitSuccess : exitUserError;
}

} // namespace gantry::tool
