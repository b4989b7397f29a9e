// The command line, parsed into one plain struct; only what parses it (Options.cpp, FlagValues,
// HelpFormatter, UsageErrors) knows CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry::tool {

enum class Command {
  run,
  compile,
  check,
  devices,
  bench,
  explain,
  report,
  diff,
  planText,
  cache,
  completion,
  man
};

enum class PlacementLog { off, text, json };

struct Options {
  Command command = Command::run;
  std::string file;  ///< a graph or a plan; "-" is standard input
  std::string other; ///< diff, report: the second one

  /// For the compiler, as its C API takes them ("dim=batch=8"), in the order given.
  std::vector<std::string> compileFlags;
  bool noCache = false;    ///< compile, whatever was compiled before
  bool stopsEarly = false; ///< --stop-after was given: the result is text

  std::vector<std::string> inputs;   ///< NAME=FILE, or FILE for an archive of named arrays
  std::vector<std::string> outputs;  ///< NAME=FILE, or FILE.npz for all
  std::vector<std::string> expected; ///< NAME=FILE, or FILE for an archive
  std::vector<std::string> fills;    ///< NAME=SPEC, or SPEC for every input
  std::string function;              ///< empty: the only or first one
  std::optional<double> rtol, atol;  ///< of --expect; none: by the largest value
  uint64_t seed = 0;
  uint64_t repeat = 1;
  uint64_t threads = 0;                    ///< 0: one per core
  std::vector<std::string> bindings;       ///< GPU:0=GPU:3: run a device of the plan on another one
  bool emulate = false;                    ///< GPUs of the plan, on the host
  bool syncEach = false;                   ///< commands of GPUs are waited for
  std::string emulateChecks = "memory";    ///< of the emulator: all, memory, none
  std::string verify = "full";             ///< of a plan's bytes: full, lazy, off
  std::vector<std::string> memorySettings; ///< GPU:0=limit:4GiB: what may be taken of devices
  std::string simOrder;                    ///< of simulated commands: virtual, random:SEED

  std::string loadState, saveState; ///< run: files of the plan's variables; empty: none
  bool checkReplicas = false;       ///< run: compare with a run on one device
  bool compareMath = false;         ///< run: compare with a run in f32
  std::optional<double> mathLimit;  ///< of that, as a part of the largest value
  std::string trace;                ///< run: file for what ran when; empty: none
  bool quietInputs = false;         ///< what is made up was said already

  std::string output; ///< compile, report, plan-text: where to; empty: derived or standard output

  uint64_t runs = 0;    ///< bench: this many, or as many as minTime allows
  double minTime = 1.0; ///< bench: seconds
  uint64_t warmup = 2;  ///< bench: runs before the clock starts
  bool ops = false;     ///< bench: time of each command, too

  std::vector<std::string> measured; ///< report: what runs took, FILE or A=FILE and B=FILE

  std::string op;                  ///< explain: only ops that this pattern describes
  std::vector<std::string> whyNot; ///< explain: an op and the device that it is not on
  std::string scaling;             ///< explain: numbers of tasks to plan for, side by side
  bool timeline = false;           ///< explain: queues over a run
  bool memory = false;             ///< explain: memory instead of ops
  bool all = false;                ///< bench, explain, diff: every row instead of the first page
  bool json = false;
  bool clear = false;     ///< cache: remove what is there
  bool calibrate = false; ///< devices: measure the rates of the host
  PlacementLog placementLog = PlacementLog::off;
  int verbose = 0;

  std::string text; ///< completion, man: what to print
};

/// Parses the command line. Gives options, or the status to exit with after it printed help (0) or
/// what is wrong with the usage (2).
struct ParsedOptions {
  std::optional<Options> options;
  int exitStatus = 0;
};
ParsedOptions parseOptions(int argc, char **argv);

} // namespace gantry::tool
