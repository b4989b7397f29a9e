#include "Options.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Version.h"

#include "UsageErrors.h"

#include <CLI/CLI.hpp>

#include <charconv>

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::tool;

namespace {

constexpr const char *summary =
    "Reads PTX, checks it and runs it on the CPU, bit by bit as PTX defines it. FILE may be '-':\n"
    "standard input.";

constexpr const char *footer =
    "\nExit status: 0 success; 1 wrong PTX, a fault, a finding or a difference; 2 wrong usage.\n"
    R"(
Examples:
  gantry-ptx parse kernel.ptx
  gantry-ptx lint kernel.ptx --allow=ex2.approx
  gantry-ptx run kernel.ptx --kernel=scale --grid=4 --block=256 --arg='f32[1000]=ramp' --arg=2.5 --arg=1000
  gantry-ptx run kernel.ptx --grid=4 --block=256 --arg='f32[1000]=ramp' --arg=2.5 --arg=1000 --save=0:scaled.npy
  gantry-ptx run kernel.ptx --grid=4 --block=256 --arg='f32[1000]' --arg=1 --arg=1000 --checks=memory --threads=2 --repeat=5
)";

template <class T>
bool parseNumber(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parseIndex(std::string_view text, Index3 &index) {
  index = {1, 1, 1};
  for (size_t axis = 0; axis < 3; ++axis) {
    size_t comma = text.find(',');
    if (!parseNumber(text.substr(0, comma), index[axis]))
      return false;
    if (comma == text.npos)
      return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

bool parseNumbered(std::string_view text, std::vector<Options::Numbered> &to) {
  size_t colon = text.find(':');
  Options::Numbered made;
  if (colon == text.npos || !parseNumber(text.substr(0, colon), made.argument))
    return false;
  made.path = std::string(text.substr(colon + 1));
  to.push_back(made);
  return !made.path.empty();
}

bool parseChecks(std::string_view text, Checks &checks) {
  if (text == "all")
    checks = Checks::all;
  else if (text == "memory")
    checks = Checks::memory;
  else if (text == "none")
    checks = Checks::none;
  else
    return false;
  return true;
}

/// Options of one command. Those that repeat are asked for once for each value.
struct Command {
  CLI::App &app;

  template <class Parse>
  CLI::Option *add(const char *name, const char *metavar, const char *help, Parse parse) {
    return app
        .add_option_function<std::vector<std::string>>(
            name,
            [=](const std::vector<std::string> &texts) {
              for (const std::string &text : texts)
                if (!parse(text))
                  throw CLI::ValidationError(gantry::tool::doesNotTake(name, text));
            },
            help)
        ->option_text(metavar)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  template <class Parse>
  void addEach(const char *name, const char *metavar, const char *help, Parse parse) {
    add(name, metavar, help, parse)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
};

Command addCommand(CLI::App &app, Options &options, const char *name, const char *help) {
  CLI::App *command = app.add_subcommand(name, help);
  command->add_option("FILE", options.file, "a PTX file")->required();
  command->get_formatter()->column_width(26);
  command->footer(footer);
  return {*command};
}

/// Reads into `to`; with `least`, no less than that.
template <class T>
auto number(T &to, T least = std::numeric_limits<T>::lowest()) {
  return [&to, least](const std::string &text) { return parseNumber(text, to) && to >= least; };
}

void declareRun(Command run, Options &options) {
  run.add("--kernel", "NAME", "needed where the file has several",
          [&](const std::string &text) { return options.kernel = text, true; });
  run.add("--grid", "X[,Y,Z]", "blocks of the grid (1)",
          [&](const std::string &text) { return parseIndex(text, options.grid); });
  run.add("--block", "X[,Y,Z]", "threads of a block (32)",
          [&](const std::string &text) { return parseIndex(text, options.block); });
  run.add("--shared", "BYTES", "dynamic shared memory (0)", [&](const std::string &text) {
    Expected<uint64_t> bytes = parseByteCount(text);
    options.dynamicShared = bytes ? *bytes : 0;
    return bytes.ok();
  });
  run.addEach("--arg", "VALUE",
              "an argument, in the order of the parameters:\n"
              "  x.npy             a buffer with the array of a file\n"
              "  f32[64,32]        a buffer of zeros\n"
              "  f32[64]=uniform   a buffer that is filled\n"
              "                    (uniform:A:B, normal, randint:A:B, ones, ramp)\n"
              "  12, 0.5, u64:12   a number, of the parameter's type or a given one\n"
              "  null              no buffer",
              [&](const std::string &text) { return options.arguments.push_back(text), true; });
  run.addEach("--save", "N:FILE", "writes the buffer of argument N (from 0) as .npy",
              [&](const std::string &text) { return parseNumbered(text, options.save); });
  run.addEach("--expect", "N:FILE", "compares it with an array; --rtol=R --atol=A (0)",
              [&](const std::string &text) { return parseNumbered(text, options.expect); });
  run.add("--rtol", "R", "relative difference that --expect allows (0)", number(options.rtol));
  run.add("--atol", "A", "absolute difference that --expect allows (0)", number(options.atol));
  run.add("--checks", "LEVEL", "all (default), memory (no races, no uninitialised reads) or none",
          [&](const std::string &text) { return parseChecks(text, options.checks); });
  run.add("--threads", "N", "of the host (1); with --checks=all always 1",
          number(options.threads, 1u));
  run.add("--seed", "N", "mixes the order of blocks", number(options.seed));
  run.add("--steps", "N", "most instructions of warps; then it is a fault",
          number(options.steps, uint64_t(1)));
  run.add("--repeat", "N", "runs it N times and prints the speed", number(options.repeat, 1u));
  run.app.add_flag("--quiet", options.quiet, "prints faults only")->disable_flag_override();
}

} // namespace

std::optional<Options> gantry::ptx::tool::parseOptions(int argc, char **argv, int *status) {
  Options options;
  CLI::App app(summary, "gantry-ptx");
  app.get_formatter()->column_width(26);
  app.set_version_flag("--version", "gantry-ptx " GANTRY_VERSION_STRING);
  app.footer(footer);
  app.require_subcommand(1);
  addCommand(app, options, "parse",
             "lists the kernels with their parameters, shared and local memory");
  addCommand(app, options, "lint",
             "reports unknown opcodes, approximate functions, .ftz and local memory")
      .app
      .add_option(
          "--allow", options.allow,
          "rules (approx, ftz, local, opcode) and opcodes (ex2.approx)\nthat are no finding")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("LIST");
  declareRun(
      addCommand(app, options, "run",
                 "runs a kernel; prints the buffers that it changed, its faults, and what it did"),
      options);
  if (!gantry::tool::parseOrTell(app, argc, argv, status))
    return std::nullopt;
  options.command = app.get_subcommands().front()->get_name();
  return options;
}
