// The options of gantry-memplan, once: --help, the manual page and what shells complete are made of
// it.
#pragma once

#include <string>
#include <string_view>

namespace gantry::memplan {

struct OptionEntry {
  std::string_view name;    ///< "--capacity"
  std::string_view metavar; ///< "BYTES"; "" for a switch
  std::string_view help;
  std::string_view values; ///< words that a shell completes, separated by spaces
  bool takesFile = false;
};

inline constexpr OptionEntry optionTable[] = {
    {"--input", "FILE", "the buffers: a CSV file whose first line names its columns", "", true},
    {"--output", "FILE", "the same lines with their offsets (standard output)", "", true},
    {"--svg", "FILE", "draws the plan: time to the right, offsets upwards", "", true},
    {"--capacity", "BYTES",
     "bytes that there are, with a unit (4MiB) or none; the search ends when the plan fits", ""},
    {"--alignment", "BYTES", "of offsets, where a line has none: a power of two (1)", ""},
    {"--planner", "NAME", "one planner instead of the portfolio of all",
     "portfolio time-order largest-first skyline ejection annealing exact"},
    {"--rounds", "N", "of the search, each with eight times the effort of the one before (3)", ""},
    {"--threads", "N", "that share the search (all); the plan is the same for any number", ""},
    {"--quiet", "", "prints errors only", ""},
};

inline constexpr std::string_view summary =
    "Plans memory: gives each buffer an offset so that buffers that are live together share no "
    "byte, "
    "in as few bytes as it can. A line of the input is id,lower,upper,size: the buffer is live "
    "from "
    "step lower to before step upper. Columns offset (where a buffer must lie; may be empty) and "
    "alignment may follow. Prints the peak beside the lower bound, the largest sum of bytes that "
    "are "
    "live together.";

inline constexpr std::string_view exitStatus =
    "0 success; 1 wrong input; 2 wrong usage; 3 the plan does not fit into the capacity.";

inline constexpr std::string_view examples =
    R"(gantry-memplan --input=buffers.csv
gantry-memplan --input=buffers.csv --capacity=12 --output=plan.csv
gantry-memplan --input=buffers.csv --svg=plan.svg --quiet
gantry-memplan --input=buffers.csv --planner=largest-first --alignment=64
gantry-memplan --input=buffers.csv --capacity=7  # exit status 3
)";

std::string helpText();
std::string manualPage();
/// None for a shell that is not known.
std::string completionScript(std::string_view shell);

} // namespace gantry::memplan
