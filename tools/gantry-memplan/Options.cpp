#include "Options.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Version.h"

#include "UsageErrors.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <bit>

using namespace gantry;
using namespace gantry::memplan;

namespace {

constexpr const char *summary =
    "Plans memory: gives each buffer an offset so that buffers that are live together share no "
    "byte,\n"
    "in as few bytes as it can. A line of the input is id,lower,upper,size: the buffer is live "
    "from\n"
    "step lower to before step upper. Columns offset (where a buffer must lie; may be empty) and\n"
    "alignment may follow. Prints the peak beside the lower bound, the largest sum of bytes that "
    "are\n"
    "live together.";

constexpr const char *footer = "\nExit status: 0 success; 1 wrong input; 2 wrong usage; 3 the plan "
                               "does not fit into the capacity.\n"
                               R"(
Examples:
  gantry-memplan --input=buffers.csv
  gantry-memplan --input=buffers.csv --capacity=12 --output=plan.csv
  gantry-memplan --input=buffers.csv --svg=plan.svg --quiet
  gantry-memplan --input=buffers.csv --planner=largest-first --alignment=64
  gantry-memplan --input=buffers.csv --capacity=7  # exit status 3
)";

/// In the order of the enumeration.
constexpr std::string_view planners[] = {"portfolio", "time-order", "largest-first", "skyline",
                                         "ejection",  "annealing",  "exact"};

bool parsePlanner(const std::string &text, packing::Planner &planner) {
  const auto found = std::find(std::begin(planners), std::end(planners), text);
  planner = static_cast<packing::Planner>(found - std::begin(planners));
  return found != std::end(planners);
}

bool parseAlignment(const std::string &text, uint64_t &alignment) {
  Expected<uint64_t> bytes = parseByteCount(text);
  alignment = bytes ? *bytes : 0;
  return std::has_single_bit(alignment) && alignment <= uint64_t(1) << 32;
}

void declare(CLI::App &app, Options &options) {
  const auto add = [&](const char *name, const char *metavar, const char *help, auto parse) {
    app.add_option_function<std::string>(
           name,
           [=](const std::string &text) {
             if (!parse(text))
               throw CLI::ValidationError(tool::doesNotTake(name, text));
           },
           help)
        ->option_text(metavar);
  };
  const auto count = [](unsigned &to, unsigned most) {
    return [&to, most](const std::string &text) {
      return CLI::detail::lexical_cast(text, to) && to >= 1 && to <= most && text.front() != '-';
    };
  };
  app.add_option("--input,FILE", options.input,
                 "the buffers: a CSV file whose first line names its columns")
      ->required()
      ->option_text("FILE");
  app.add_option("--output", options.output, "the same lines with their offsets (standard output)")
      ->option_text("FILE");
  app.add_option("--svg", options.svg, "draws the plan: time to the right, offsets upwards")
      ->option_text("FILE");
  add("--capacity", "BYTES",
      "bytes that there are, with a unit (4MiB) or none; the search\nends when the plan fits",
      [&options](const std::string &text) {
        Expected<uint64_t> bytes = parseByteCount(text);
        options.search.capacity = bytes ? *bytes : 0;
        return options.hasCapacity = bytes.ok();
      });
  add("--alignment", "BYTES", "of offsets, where a line has none: a power of two (1)",
      [&options](const std::string &text) { return parseAlignment(text, options.alignment); });
  add("--planner", "NAME",
      "one planner instead of the portfolio of all: portfolio,\n"
      "time-order, largest-first, skyline, ejection, annealing, exact",
      [&options](const std::string &text) { return parsePlanner(text, options.search.planner); });
  add("--rounds", "N", "of the search, each with eight times the effort of the one\nbefore (3)",
      count(options.search.rounds, 8));
  add("--threads", "N", "that share the search (all); the plan is the same for any number",
      count(options.search.threads, 1024));
  app.add_flag("--quiet", options.quiet, "prints errors only")->disable_flag_override();
}

} // namespace

std::optional<Options> gantry::memplan::parseOptions(int argc, char **argv, int *status) {
  Options options;
  CLI::App app(summary, "gantry-memplan");
  app.get_formatter()->column_width(26);
  app.set_version_flag("--version", "gantry-memplan " GANTRY_VERSION_STRING);
  app.footer(footer);
  declare(app, options);
  if (!tool::parseOrTell(app, argc, argv, status))
    return std::nullopt;
  return options;
}
