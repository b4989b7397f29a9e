// gantry compile, gantry check, gantry plan-text: what the compiler gives, written to where it
// goes.
#include "Commands.h"
#include "Console.h"
#include "Model.h"
#include "Print.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Support/Bytes.h"

#include <filesystem>
#include <unistd.h>

namespace gantry::tool {

namespace {

/// model.onnx -> model.gantry, beside it.
Expected<std::string> outputPath(const Options &options) {
  if (!options.output.empty())
    return options.output;
  if (isStream(options.file) || options.stopsEarly)
    return std::string("-");
  std::filesystem::path path = options.file;
  path.replace_extension(".gantry");
  if (path == options.file)
    return Status::invalidArgument(
        "'" + options.file + "' would be overwritten by its plan; give the plan's name with -o");
  return path.string();
}

Status write(const std::string &path, std::span<const uint8_t> bytes) {
  const arrays::ByteSpan parts[] = {bytes};
  return arrays::writeFile(path, parts);
}

/// The plan that was written to `path`, or to standard output from `bytes`.
void describePlan(const Options &options, const std::string &path, std::span<const uint8_t> bytes,
                  double seconds) {
  if (options.verbose)
    printNote(format("compiled '%s' in %.3f s", options.file.c_str(), seconds));
  if (!options.verbose && options.placementLog == PlacementLog::off)
    return;
  const plan::ReadOptions read = {plan::Check::metadataOnly};
  auto file = path == "-" ? plan::PlanFile::fromBytes(bytes, nullptr, read)
                          : plan::PlanFile::open(path, read);
  if (!file) // a pipe or device; a plan the runtime would refuse is refused when it is loaded
    return;
  if (options.verbose && path != "-")
    printNote("wrote '" + path + "', " + formatBytes(file->bytes().size()));
  printPlacementLog(file->plan(), options.function, options.placementLog);
  if (options.verbose)
    std::fputs(memorySummary(file->plan()).c_str(), stderr);
}

} // namespace

int compileCommand(const Options &options) {
  if (isPlanFile(options.file))
    return report(Status::invalidArgument("'" + options.file +
                                          "' is a plan already; `gantry run` runs it, `gantry "
                                          "plan-text` prints it"));
  auto path = outputPath(options);
  if (!path)
    return report(path.status());
  if (*path == "-" && !options.stopsEarly && ::isatty(STDOUT_FILENO))
    return report(Status::invalidArgument("a plan is not for a terminal; give a file with -o"));
  if (Status status = checkOutputs(options, {*path}); !status.ok())
    return report(status);
  // A plan goes straight to its file, so that weights are not copied in memory on the way.
  auto request = requestFor(options);
  if (!request)
    return report(request.status());
  const bool throughMemory = options.stopsEarly || *path == "-";
  if (!throughMemory)
    request->output = *path;
  Stopwatch watch;
  auto compiler = Compiler::open();
  if (!compiler)
    return report(compiler.status());
  const Outcome outcome = compiler->compile(*request);
  if (!outcome.status.ok())
    return report(outcome.status);
  const double seconds = watch.seconds();
  const auto bytes = outcome.artifact->bytes();
  if (throughMemory)
    if (Status status = write(*path, bytes); !status.ok())
      return report(status);
  if (!options.stopsEarly)
    describePlan(options, *path, bytes, seconds);
  return exitSuccess;
}

int checkCommand(const Options &options) {
  if (isPlanFile(options.file))
    return report(Status::invalidArgument(
        "'" + options.file +
        "' is a plan, whose graph was supported; `gantry check` takes a graph"));
  auto request = requestFor(options);
  if (!request)
    return report(request.status());
  auto compiler = Compiler::open();
  if (!compiler)
    return report(compiler.status());
  const CheckOutcome outcome = compiler->check(*request);
  // The report says what is not supported, so the status adds one line only when there is none.
  if (const auto &text = options.json ? outcome.json : outcome.text)
    std::fwrite(text->data(), 1, text->size(), stdout);
  return report(outcome.status);
}

int planTextCommand(const Options &options) {
  const std::string path = options.output.empty() ? "-" : options.output;
  if (Status status = checkOutputs(options, {path}); !status.ok())
    return report(status);
  auto file = arrays::FileBytes::open(options.file);
  if (!file)
    return report(file.status());
  if (!plan::PlanFile::looksLikePlan(file->bytes()))
    return report(Status::invalidArgument("'" + options.file +
                                          "' is not a plan; `gantry compile --stop-after=memory` "
                                          "prints a graph's"));
  auto compiler = Compiler::open();
  if (!compiler)
    return report(compiler.status());
  const Outcome outcome = compiler->planToText(file->bytes());
  if (!outcome.status.ok())
    return report(outcome.status);
  return report(write(path, outcome.artifact->bytes()));
}

} // namespace gantry::tool
