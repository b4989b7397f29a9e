// gantry explain: what a plan does, where and why, read from its metadata; with --timeline also
// when, and with --why-not what would have to change. --scaling is Scaling.cpp's.
#include "Commands.h"
#include "Console.h"
#include "Execution.h"
#include "Print.h"

#include "gantry/Drivers/SimDriver.h"
#include "gantry/Support/JSONWriter.h"

namespace gantry::tool {

namespace {

/// --why-not: the compiler knows the graph, a plan does not.
int explainWhyNot(const Options &options) {
  if (isPlanFile(options.file))
    return report(Status::invalidArgument("'" + options.file +
                                          "' is a plan; --why-not needs the graph, whose "
                                          "constraints the plan does not keep"));
  auto request = requestFor(options);
  if (!request)
    return report(request.status());
  auto compiler = Compiler::open();
  if (!compiler)
    return report(compiler.status());
  const Outcome outcome = compiler->whyNot(*request, options.whyNot[0], options.whyNot[1]);
  if (!outcome.status.ok())
    return report(outcome.status);
  const std::string_view text = outcome.artifact->text();
  if (options.json) {
    JSONWriter json;
    json.beginObject()
        .member("op", options.whyNot[0])
        .member("device", options.whyNot[1])
        .member("text", text);
    std::puts(json.endObject().text().c_str());
    return exitSuccess;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exitSuccess;
}

/// Runs the function once with made-up inputs, which change no times on the virtual clock.
Expected<std::vector<plan::Moment>> runOnVirtualClock(const Options &options, const Model &model) {
  auto execution = Execution::prepare(options, model, {});
  if (!execution)
    return execution.status();
  if (!execution->plan().hasVirtualClock())
    return Status::invalidArgument(
        "--timeline draws the virtual clock of simulated devices, and '" + options.file +
        "' has none; compile it with --devices=... --simulate");
  GANTRY_RETURN_IF_ERROR(execution->run());
  std::vector<plan::Moment> moments;
  for (const runtime::CommandEvent &event : execution->timeline())
    moments.push_back({event.command, event.start, event.end});
  return moments;
}

} // namespace

int explainCommand(const Options &options) {
  if (!options.whyNot.empty())
    return explainWhyNot(options);
  if (!options.scaling.empty())
    return explainScaling(options);
  // The simulator runs kernels: what branches and loops do depends on what they compute.
  auto model = Model::load(options, options.timeline ? Purpose::run : Purpose::tell);
  if (!model)
    return report(model.status());
  Subject subject = model->subject(options);
  if (Status status = subject.checkFunction(); !status.ok())
    return report(status);
  if (Status status = subject.readPattern(); !status.ok())
    return report(Status(status.code(), "--op " + status.message()));
  Moments moments;
  if (options.timeline) {
    auto ran = runOnVirtualClock(options, *model);
    if (!ran)
      return report(ran.status());
    moments = ran.take();
  }
  printPlacementLog(subject.plan, options.function, options.placementLog);
  const std::string text =
      options.json ? explainAsJson(subject, moments) + "\n" : explainForPeople(subject, moments);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (options.verbose && model->compileSeconds)
    printNote(model->describeCompilation());
  return exitSuccess;
}

} // namespace gantry::tool
