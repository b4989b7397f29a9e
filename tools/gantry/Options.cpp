#include "Options.h"

#include "CommandTable.h"
#include "Console.h"
#include "FlagValues.h"
#include "HelpFormatter.h"
#include "UsageErrors.h"

#include "gantry/Placement/OpPattern.h"
#include "gantry/Runtime/Runtime.h"
#include "gantry/Support/Names.h"
#include "gantry/Support/Version.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

namespace gantry::tool {

namespace {

/// One occurrence takes one value, so that a file behind it is not swallowed: `--input a=b model`.
CLI::Option *repeatable(CLI::Option *option) { return option->allow_extra_args(false); }

class Parser {
public:
  Parser()
      : app("Gantry compiles a dataflow graph for the devices you have and runs it.", "gantry") {
    app.set_version_flag("--version", std::string("gantry ") + GANTRY_VERSION_STRING);
    app.set_help_all_flag("--help-all", "Print this help with all flags and exit");
    app.require_subcommand(1);
    app.option_defaults()->disable_flag_override(); // a flag has no value
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(
        "`gantry COMMAND --help` shows a command's everyday flags with examples, --help-all all of "
        "them.\n"
        "Exit status: 0 success, 1 an error in what was given, 2 wrong usage, 3 does not fit.");
    addRun();
    addCompile();
    addCheck();
    addDevices();
    addBench();
    addExplain();
    addReport();
    addDiff();
    addPlanText();
    addCache();
    addCompletion();
    addMan();
  }

  ParsedOptions parse(int argc, char **argv) {
    try {
      app.parse(argc, argv);
      refuseEmptyValues();
      refuseContradictions();
    } catch (const CLI::ParseError &error) {
      return finish(error, argc, argv);
    }
    collectCompileFlags();
    if (options.command == Command::completion)
      options.text = completionScript(table(), shell);
    if (options.command == Command::man)
      options.text = manualPage(table(), page);
    ParsedOptions result;
    result.options = std::move(options);
    return result;
  }

private:
  /// The value of a shell's variable that is not set: the flag would be as if it was not there.
  void refuseEmptyValues() const {
    for (const CLI::App *sub : app.get_subcommands())
      for (const CLI::Option *option : sub->get_options())
        for (const std::string &value : option->results())
          if (value.empty() && !option->get_positional() && option->get_items_expected_max() > 0)
            throw CLI::ArgumentMismatch(option->get_name() + ": empty");
  }

  bool isGiven(const char *flag) const {
    const CLI::Option *option = app.get_subcommands().front()->get_option_no_throw(flag);
    return option && option->count() > 0;
  }

  void refuseContradictions() const {
    if (app.get_subcommands().empty())
      return;
    if (isGiven("--simulate") && isGiven("--emulate"))
      throw CLI::ValidationError(
          "--simulate and --emulate contradict each other: with --simulate GPUs run the kernels of "
          "CPUs on a virtual clock, with --emulate their own kernels are interpreted; give one");
    if (isGiven("--math-limit") && !isGiven("--compare-math"))
      throw CLI::ValidationError("--math-limit is about --compare-math, which is not given");
    for (const char *other : {"--all", "--op", "--why-not", "--memory", "--timeline"})
      if (isGiven("--scaling") && isGiven(other))
        throw CLI::ValidationError("--scaling is a table over numbers of tasks, and " +
                                   std::string(other) + " asks about one plan; give one of them");
    if (isGiven("--with-weights") && !isGiven("--stop-after"))
      throw CLI::ValidationError(
          "--with-weights is about the text of --stop-after, which is not given");
  }

  /// Help and version are no errors; anything else is wrong usage.
  ParsedOptions finish(const CLI::ParseError &error, int argc, char **argv) {
    ParsedOptions result;
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app.exit(error, text, text);
      std::fputs(text.str().c_str(), stdout);
      return result;
    }
    std::string command;
    for (const CLI::App *sub : app.get_subcommands())
      command = " " + sub->get_name();
    printError(describeUsageError(app, error, {argv + 1, argv + argc}));
    printNote("`gantry" + command + " --help` shows the usage");
    result.exitStatus = exitWrongUsage;
    return result;
  }

  CLI::App *subcommand(Command command, const char *name, const char *description,
                       const char *examples) {
    CLI::App *sub = app.add_subcommand(name, description);
    sub->footer(std::string("Examples:\n") + examples);
    sub->callback([this, command] { options.command = command; });
    return sub;
  }

  void addFile(CLI::App *sub, const char *help) {
    sub->add_option("FILE", options.file, help)->required();
  }

  enum class CompileFlags { allButStopAfter, all, aboutDevices, ofCheck };

  void addCompileFlags(CLI::App *sub, CompileFlags which) {
    for (const CompileFlag &flag : compileFlagTable()) {
      const bool isAboutText = flag.name == "stop-after" || flag.name == "with-weights";
      if (isAboutText && which != CompileFlags::all)
        continue;
      if (which == CompileFlags::aboutDevices && flag.group != "Devices")
        continue;
      const std::string dashed = "--" + flag.name;
      CLI::Option *option;
      if (flag.metavar.empty()) {
        option = sub->add_flag(dashed, flag.help);
      } else if (which == CompileFlags::ofCheck && flag.name == "train") {
        addTrainOfCheck(sub);
        continue;
      } else if (flag.repeatable) {
        std::vector<std::string> &values = repeated[sub->get_name() + dashed];
        option = repeatable(sub->add_option(dashed, values, flag.help));
      } else {
        option = sub->add_option(dashed, single[sub->get_name() + dashed], flag.help);
      }
      if (!flag.metavar.empty())
        option->option_text(flag.metavar)->check(valueOf(flag));
      option->group(flag.group);
      compileOptions.insert(option);
    }
  }

  /// Without a loss it is about ways to every output.
  void addTrainOfCheck(CLI::App *sub) {
    compileOptions.insert(
        sub->add_flag("--train{*}", single["check--train"],
                      "list the ops that have no gradient, on the ways from the output LOSS, or "
                      "from all, to named constants of floats")
            ->option_text("[=LOSS]")
            ->disable_flag_override(false)
            ->group("Training"));
  }

  void addPlacementLog(CLI::App *sub) {
    // A flag takes a value behind "=" only, so the file behind a bare one stays the file.
    sub->add_flag("--log-device-placement{text}", placementLog,
                  "print the device of every op to standard error; =json: one object a line")
        ->option_text("[=json]")
        ->disable_flag_override(false)
        ->group("Placement")
        ->check(oneOf({"text", "json"}));
    sub->parse_complete_callback([this] {
      if (!placementLog.empty())
        options.placementLog = placementLog == "json" ? PlacementLog::json : PlacementLog::text;
    });
  }

  void addVerbose(CLI::App *sub) {
    sub->add_flag("-v,--verbose", options.verbose,
                  "print times, plan size, memory of every device, which kernels a library runs "
                  "and, after a run, counted copies to standard error");
  }

  void addThreads(CLI::App *sub) {
    sub->add_option("--threads", options.threads, "threads to run on (default: one per core)")
        ->option_text("N")
        ->check(wholeNumber(1, mostThreads));
  }

  void addDeviceOptions(CLI::App *sub) {
    sub->add_flag("--emulate", options.emulate,
                  "run a plan for NVIDIA GPUs without one: the kernels' PTX is interpreted on this "
                  "machine, slowly, and checked")
        ->group("Devices");
    sub->add_flag("--sync-each", options.syncEach,
                  "wait for each command of a GPU, slowly, so that a failure there names the op")
        ->group("Devices");
    sub->add_option("--emulate-checks", options.emulateChecks,
                    "what --emulate checks: memory (bounds, alignment, barriers; the default), all "
                    "(races and reads of what was never written as well) or none")
        ->option_text("WHAT")
        ->check(oneOf({"all", "memory", "none"}))
        ->group("Devices");
    repeatable(sub->add_option("--bind", options.bindings,
                               "run a device of the plan on another one of its kind: GPU:0=GPU:3"))
        ->option_text("GPU:N=GPU:M")
        ->check(readableBy(runtime::DeviceBinding::parse))
        ->group("Devices");
    repeatable(sub->add_option(
                   "--memory", options.memorySettings,
                   "how much memory of a device may be used, or of each one of a type "
                   "(GPU:*): limit:4GiB; fraction:0.5 of what it has; growth, plans load even "
                   "if their peaks together are over the limit; reserve, of a GPU: take it at "
                   "once, without a limit nearly all that is free; serial, plans do not run at "
                   "the same time, so that only the largest peak counts"))
        ->option_text("DEVICE=SETTING[,SETTING]")
        ->check(readableBy(runtime::MemorySetting::parse))
        ->group("Devices");
    sub->add_option("--sim-order", options.simOrder,
                    "order of simulated commands: virtual (by the virtual clock, the default) or "
                    "random:SEED, any legal one")
        ->option_text("ORDER")
        ->check(readableBy(runtime::CommandOrder::parse))
        ->group("Devices");
  }

  void addNoCache(CLI::App *sub) {
    sub->add_flag("--no-cache", options.noCache,
                  "compile a graph even if the same was compiled before (see `gantry cache`)");
  }

  void addCache() {
    CLI::App *sub = subcommand(
        Command::cache, "cache",
        "Show the plans that are kept of graphs, so that run, bench, explain, report and diff "
        "compile each only once.",
        "  gantry cache\n"
        "  gantry cache --clear\n"
        "Environment: GANTRY_CACHE_DIR, the folder (default: gantry in XDG_CACHE_HOME or "
        "~/.cache); GANTRY_CACHE_SIZE, bytes that all plans may take, those not used for longest "
        "go "
        "first (default: 4GiB; 0: none is kept).\n");
    sub->add_flag("--clear", options.clear, "remove them");
    addJson(sub, "as JSON");
  }

  void addVerify(CLI::App *sub) {
    sub->add_option("--verify", options.verify,
                    "when a plan's bytes are compared with their checksums: full (at load, the "
                    "default), lazy (of weights that are used from the mapped file: before the "
                    "first run) or off")
        ->option_text("WHEN")
        ->check(oneOf({"full", "lazy", "off"}));
  }

  void addJson(CLI::App *sub, const char *help) { sub->add_flag("--json", options.json, help); }

  void addInputs(CLI::App *sub) {
    repeatable(sub->add_option("--input", options.inputs,
                               "an input's values: .npy or ONNX TensorProto; an .npz without NAME "
                               "gives every input by its name; - reads standard input"))
        ->option_text("NAME=FILE");
    repeatable(sub->add_option("--fill", options.fills,
                               "make up an input: randint:A:B, uniform:A:B, normal, zeros, ones or "
                               "ramp; without NAME every input; needed for those that --input "
                               "leaves out"))
        ->option_text("[NAME=]SPEC")
        ->check(readableFill());
    sub->add_option("--seed", options.seed, "seed of made-up inputs (default 0)")
        ->option_text("N")
        ->check(wholeNumber(0, UINT64_MAX));
    sub->add_option("--function", options.function, "function to run, if the file has several")
        ->option_text("NAME");
  }

  void addRun() {
    CLI::App *sub = subcommand(
        Command::run, "run", "Run a graph (compiled first) or a plan; print or write its outputs.",
        "  gantry run model.onnx --input x=x.npy --output y=y.npy\n"
        "  gantry run model.onnx                        # made-up inputs, outputs printed\n"
        "  gantry run model.gantry --input in.npz --output out.npz\n"
        "  gantry run model.onnx --input x=x.npy --expect y=ref.npy --rtol 1e-3\n"
        "  gantry run bert.onnx --dim batch=8 --fill ids=randint:0:1000\n"
        "  gantry run model.onnx --repeat 3 --trace=trace.json  # then open it in "
        "https://ui.perfetto.dev\n"
        "  gantry run model.onnx --devices=CPU:0,GPU:0 --emulate  # the kernels of a GPU, "
        "interpreted\n"
        "  gantry run model.onnx --devices=CPU:0,GPU:0,GPU:1 --simulate "
        "--place 'op:MatMul=GPU:1' --log-device-placement\n"
        "  gantry run train.mlir --devices=CPU:0,GPU:0,GPU:1 --simulate --replicate GPU:0,GPU:1 "
        "--check-replicas --save-state w.safetensors\n"
        "  gantry run step.gantry --function=step --input batch.npz --repeat=100 --save-state "
        "w.safetensors  # of gantry compile --train\n");
    addFile(sub, "graph (.mlir, .onnx) or plan (.gantry); - reads standard input");
    addInputs(sub);
    repeatable(sub->add_option("--output", options.outputs,
                               "where to write an output; an .npz without NAME takes them all; - "
                               "writes to standard output"))
        ->option_text("NAME=FILE");
    repeatable(
        sub->add_option(
            "--expect", options.expected,
            "compare an output with these values; exit 1 when it differs. Integers must be "
            "equal; others may be off by a part of the largest value: 1e-12 for f64, 1e-5 "
            "for f32, 4e-3 for f16, 3e-2 for bf16, by the coarsest of these in the function"))
        ->option_text("NAME=FILE");
    sub->add_option("--rtol", options.rtol,
                    "of --expect: each value may be off by --atol and this part of itself instead "
                    "(1e-3 when only --atol is given)")
        ->option_text("X")
        ->check(numberUpTo(largestTolerance));
    sub->add_option("--atol", options.atol,
                    "of --expect: each value may be off by this and by --rtol of itself instead "
                    "(1e-6 when only --rtol is given)")
        ->option_text("X")
        ->check(numberUpTo(largestTolerance));
    sub->add_option("--load-state", options.loadState,
                    "values of the plan's variables before the first run, by name: an .npz or "
                    ".safetensors file")
        ->option_text("FILE");
    sub->add_option("--save-state", options.saveState,
                    "where to write the plan's variables after the last run: an .npz file, or "
                    "one that ends in .safetensors")
        ->option_text("FILE");
    sub->add_option(
           "--trace", options.trace,
           "where to write what ran when, for ui.perfetto.dev or chrome://tracing: a track "
           "for each queue of a device, a slice for each kernel and copy; times of the "
           "virtual clock where devices are simulated; commands of GPUs are waited for "
           "one by one")
        ->option_text("FILE");
    sub->add_flag(
        "--check-replicas", options.checkReplicas,
        "run once more on one device (without --replicate, or with each gantry.replicate on its "
        "first device) and compare outputs and variables; exit 1 when they differ");
    sub->add_flag("--compare-math", options.compareMath,
                  "run once more with --math=f32 and print the largest error of each output");
    sub->add_option(
           "--math-limit", options.mathLimit,
           "with --compare-math: exit 1 when an output is off by more than this part of its "
           "largest value")
        ->option_text("X")
        ->check(numberUpTo(largestTolerance));
    sub->add_option("--repeat", options.repeat,
                    "run so many times with the same inputs; every run must give the same bytes, "
                    "unless it changes variables")
        ->option_text("N")
        ->check(wholeNumber(1, atMost));
    addThreads(sub);
    addDeviceOptions(sub);
    addVerify(sub);
    addPlacementLog(sub);
    addVerbose(sub);
    addNoCache(sub);
    addCompileFlags(sub, CompileFlags::allButStopAfter);
  }

  void addCompile() {
    CLI::App *sub = subcommand(Command::compile, "compile", "Compile a graph to a plan.",
                               "  gantry compile model.onnx -o model.gantry\n"
                               "  gantry compile bert.onnx --dim batch=8\n"
                               "  gantry compile model.onnx --outputs=conv1,Conv_3\n"
                               "  gantry compile model.onnx --stop-after=simplify -o -\n"
                               "  gantry compile model.onnx --devices=CPU:0,GPU:0@8GiB,GPU:1@8GiB "
                               "--simulate --placement=auto --write-placement-lock model.lock\n"
                               "  gantry compile model.onnx --topology machine.json --simulate "
                               "--placement-lock model.lock --max-copy=d2d:1MiB\n"
                               "  gantry compile mlp.onnx --train=loss "
                               "--optimizer=adamw,rate=1e-3 -o step.gantry\n"
                               "  gantry compile model.onnx --train=scce "
                               "--optimizer=sgd,rate=0.1,momentum=0.9 --trainable='w3*' -o "
                               "step.gantry\n"
                               "  cat model.onnx | gantry compile - -o - > model.gantry\n");
    addFile(sub, "graph (.mlir, .onnx); - reads standard input");
    sub->add_option("-o,--output", options.output,
                    "the plan (default: FILE with .gantry in place of its ending); - writes to "
                    "standard output")
        ->option_text("PLAN");
    addPlacementLog(sub);
    addVerbose(sub);
    addCompileFlags(sub, CompileFlags::all);
  }

  void addCheck() {
    CLI::App *sub = subcommand(
        Command::check, "check",
        "Say what of a graph is supported: every unsupported op, attribute and type at once.",
        "  gantry check model.onnx\n"
        "  gantry check model.onnx --json\n"
        "  gantry check mlp.onnx --train=loss                # ops without a gradient, too\n");
    addFile(sub, "graph (.mlir, .onnx); - reads standard input");
    addJson(sub, "the report as JSON");
    addCompileFlags(sub, CompileFlags::ofCheck);
  }

  void addDevices() {
    CLI::App *sub =
        subcommand(Command::devices, "devices",
                   "List the devices of this machine; takes none of their memory.",
                   "  gantry devices\n"
                   "  gantry devices --calibrate --json > machine.json\n"
                   "  gantry devices --calibrate --threads 1\n"
                   "  gantry devices --topology machine.json --simulate --split GPU:0=1GiB,1GiB\n"
                   "  gantry devices --devices=CPU:0,GPU:0,GPU:1 --simulate\n");
    addJson(sub, "as a topology file, for compiling on another machine");
    sub->add_flag("--calibrate", options.calibrate,
                  "measure the host's arithmetic, memory and copies instead of assuming rates; "
                  "takes about a second");
    sub->add_option("--threads", options.threads,
                    "threads that --calibrate measures, as runs will have (default: one per core)")
        ->option_text("N")
        ->check(wholeNumber(1, mostThreads));
    addCompileFlags(sub, CompileFlags::aboutDevices);
  }

  void addBench() {
    CLI::App *sub =
        subcommand(Command::bench, "bench", "Measure the warm latency of a graph or a plan.",
                   "  gantry bench model.onnx\n"
                   "  gantry bench model.gantry --threads 1 --runs 200 --json\n"
                   "  gantry bench model.onnx --ops                # where the time goes\n"
                   "  gantry devices --calibrate --json > machine.json && gantry bench model.onnx "
                   "--ops --topology machine.json\n"
                   "  gantry bench model.onnx --devices=CPU:0,GPU:0 --simulate "
                   "--place 'name:head.*=CPU:0'\n");
    addFile(sub, "graph (.mlir, .onnx) or plan (.gantry); - reads standard input");
    addInputs(sub);
    sub->add_option("--runs", options.runs, "measured runs (default: as --min-time allows)")
        ->option_text("N")
        ->check(wholeNumber(1, atMost));
    sub->add_option("--min-time", options.minTime,
                    "measure for at least so many seconds and 5 runs (default 1)")
        ->option_text("SECONDS")
        ->check(numberUpTo(day));
    sub->add_option("--warmup", options.warmup, "runs before the clock starts (default 2)")
        ->option_text("N")
        ->check(wholeNumber(0, atMost));
    sub->add_flag("--ops", options.ops,
                  "also the time of each command and kind of op, in further runs: arithmetic and "
                  "traffic per second, compared with the best rates of the devices (those of "
                  "--topology, else measured) and with the prediction; commands of GPUs run one by "
                  "one");
    sub->add_flag("--all", options.all, "with --ops: every command, also short ones");
    addThreads(sub);
    addDeviceOptions(sub);
    addVerify(sub);
    addJson(sub,
            "one JSON object: median_ms, min_ms, p90_ms, runs, …; of --ops also ops, commands, "
            "rooflines");
    addVerbose(sub);
    addNoCache(sub);
    addCompileFlags(sub, CompileFlags::allButStopAfter);
  }

  void addExplain() {
    CLI::App *sub = subcommand(Command::explain, "explain",
                               "Say what a plan does and why: devices, kernels, copies, memory.",
                               "  gantry explain model.onnx\n"
                               "  gantry explain model.gantry --all\n"
                               "  gantry explain model.gantry --memory\n"
                               "  gantry explain model.gantry --op Conv\n"
                               "  gantry explain model.gantry --op 'conv{1..4}'\n"
                               "  gantry explain model.onnx --why-not conv1 GPU:1 "
                               "--devices=CPU:0,GPU:0,GPU:1 --simulate\n"
                               "  gantry explain model.onnx --timeline "
                               "--devices=CPU:0,GPU:0,GPU:1 --simulate\n"
                               "  gantry explain step.mlir --topology=cluster.json "
                               "--scaling=1,2,4,8\n"
                               "  gantry explain model.gantry --json\n");
    addFile(sub, "graph (.mlir, .onnx) or plan (.gantry); - reads standard input");
    sub->add_option("--function", options.function, "only this function")->option_text("NAME");
    sub->footer(sub->get_footer() + "\n" + std::string(placement::opPatternHelp()));
    sub->add_flag("--all", options.all, "every op, copy and kernel; with --memory every buffer");
    sub->add_option("--op", options.op, "only these ops, in full; how to name them: below")
        ->option_text("PATTERN")
        ->check(readablePattern());
    sub->add_option(
           "--why-not", options.whyNot,
           "of a graph: the smallest change that would put these ops on the device, and what "
           "it would cost")
        ->option_text("PATTERN DEVICE")
        ->expected(2)
        ->check(readablePattern().application_index(0))
        ->check(readableBy(DeviceName::parse).application_index(1));
    sub->add_option("--scaling", options.scaling,
                    "of a graph: plan it for so many tasks each, of the first job of --tasks or of "
                    "that of --topology, and predict the step: efficiency of n tasks is n0 T(n0) / "
                    "(n T(n)), n0 the first number")
        ->option_text("N,...")
        ->check(readableBy(parseTaskCounts));
    sub->add_flag("--timeline", options.timeline,
                  "run once on simulated devices and draw what each queue does when");
    sub->add_flag("--memory", options.memory,
                  "memory: the arenas, and what is in them at the peak");
    addJson(sub, "as JSON");
    addPlacementLog(sub);
    addVerbose(sub);
    addNoCache(sub);
    addCompileFlags(sub, CompileFlags::allButStopAfter);
  }

  void addReport() {
    CLI::App *sub = subcommand(Command::report, "report",
                               "Draw a plan as a page for the browser: the graph by device, the "
                               "queues over time, the memory of each device; or two plans and "
                               "what differs.",
                               "  gantry report model.gantry\n"
                               "  gantry report model.onnx --devices=CPU:0,GPU:0,GPU:1 "
                               "--simulate --placement=auto -o report.html\n"
                               "  gantry report before.gantry after.gantry -o two.html\n"
                               "  gantry run model.gantry --repeat 5 --trace=trace.json && "
                               "gantry report model.gantry --measured trace.json\n"
                               "  gantry bench model.gantry --ops --json > bench.json && "
                               "gantry report model.gantry --measured bench.json\n");
    addFile(sub, "graph (.mlir, .onnx) or plan (.gantry); - reads standard input");
    sub->add_option("B", options.other,
                    "a second graph or plan, to see what differs from the first");
    repeatable(sub->add_option("--measured", options.measured,
                               "what runs took, beside what is predicted: JSON of `gantry bench "
                               "--ops` or a trace of `gantry run --trace`; of two plans A=FILE or "
                               "B=FILE"))
        ->option_text("[A=|B=]FILE");
    sub->add_option("-o,--output", options.output,
                    "where to (default: FILE with .html); - is standard output")
        ->option_text("FILE");
    sub->add_option("--function", options.function, "only this function")->option_text("NAME");
    addNoCache(sub);
    addCompileFlags(sub, CompileFlags::allButStopAfter);
  }

  void addDiff() {
    CLI::App *sub = subcommand(
        Command::diff, "diff",
        "Say what differs between two graphs or plans: ops that moved, copies, memory, prediction.",
        "  gantry diff before.gantry after.gantry       # exit status 1\n"
        "  gantry diff old.onnx new.onnx --devices=CPU:0,GPU:0,GPU:1 --simulate  # exit status 1\n"
        "  gantry diff model.gantry model.onnx --devices=CPU:0,GPU:0,GPU:1 --simulate "
        "--place op:Conv=GPU:1  # exit status 1\n"
        "Exit status: 0 nothing differs, 1 something does. Flags of the compiler are for "
        "graphs.\n");
    sub->add_option("A", options.file, "graph or plan; - reads standard input")->required();
    sub->add_option("B", options.other, "graph or plan to compare it with")->required();
    sub->add_flag("--all", options.all, "every op and copy, a row each");
    addJson(sub, "as JSON");
    addVerbose(sub);
    addNoCache(sub);
    addCompileFlags(sub, CompileFlags::allButStopAfter);
  }

  void addPlanText() {
    CLI::App *sub = subcommand(Command::planText, "plan-text", "Print a plan in words.",
                               "  gantry plan-text model.gantry\n"
                               "  gantry plan-text model.gantry -o model.plan.mlir\n");
    addFile(sub, "plan (.gantry); - reads standard input");
    sub->add_option("-o,--output", options.output, "where to (default: standard output)")
        ->option_text("FILE");
  }

  void addCompletion() {
    CLI::App *sub =
        subcommand(Command::completion, "completion",
                   "Print a script that completes commands, flags and values.",
                   "  gantry completion bash > gantry.bash      # and source it\n"
                   "  gantry completion zsh > _gantry           # in a folder of fpath\n"
                   "  gantry completion fish > gantry.fish      # in fish/completions\n");
    sub->add_option("SHELL", shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::Validator(
            [this](const std::string &name) {
              const bool known = std::find(shells.begin(), shells.end(), name) != shells.end();
              return known ? std::string()
                           : "expected bash, zsh or fish, got '" + printable(name) + "'";
            },
            ""));
  }

  void addMan() {
    CLI::App *sub = subcommand(Command::man, "man", "Print a manual page, for man to show.",
                               "  gantry man > gantry.1\n"
                               "  gantry man run > gantry-run.1\n");
    std::vector<std::string> commands;
    for (const CLI::App *command : app.get_subcommands({}))
      commands.push_back(command->get_name());
    sub->add_option("COMMAND", page, "the command that it is about (default: the tool)")
        ->check(CLI::Validator(
            [commands](const std::string &name) {
              const bool known =
                  std::find(commands.begin(), commands.end(), name) != commands.end();
              return known ? std::string()
                           : "there is no command '" + printable(name) + "'" +
                                 didYouMean(name, commands);
            },
            ""));
  }

  FlagEntry entryOf(const CLI::Option *option) const {
    FlagEntry entry;
    for (const std::string &name : option->get_snames())
      entry.names.push_back("-" + name);
    for (const std::string &name : option->get_lnames())
      entry.names.push_back("--" + name);
    entry.isSwitch = option->get_items_expected_max() == 0;
    entry.metavar = option->get_option_text();
    entry.help = option->get_description();
    entry.group = option->get_group();
    entry.repeatable = option->get_expected_max() > 2; // --why-not has two values
    for (const char *kind : {"FILE", "PLAN", ".npy", ".npz"})
      entry.takesFile |= entry.metavar.find(kind) != entry.metavar.npos;
    for (const CompileFlag &flag : compileFlagTable())
      if (entry.names.back() == "--" + flag.name)
        entry.values = flag.values;
    if (entry.names.back() == "--log-device-placement")
      entry.values = {"text", "json"};
    return entry;
  }

  CommandTable table() const {
    CommandTable result{app.get_description(), app.get_footer(), {}};
    for (const CLI::App *sub : app.get_subcommands({})) {
      CommandEntry command{sub->get_name(), sub->get_description(), sub->get_footer(), {}, {}, {}};
      for (const CLI::Option *option : sub->get_options())
        if (option->get_positional())
          command.positionals.emplace_back(option->get_name(true), option->get_description());
        else
          command.flags.push_back(entryOf(option));
      if (command.name == "completion")
        command.values = shells;
      result.commands.push_back(std::move(command));
    }
    for (CommandEntry &command : result.commands)
      if (command.name == "man")
        for (const CommandEntry &other : result.commands)
          command.values.push_back(other.name);
    return result;
  }

  /// Compile flags in the order of the command line, each as the compiler's C API takes it.
  void collectCompileFlags() {
    const CLI::App *sub = app.get_subcommands().front();
    std::map<const CLI::Option *, size_t> seen;
    for (const CLI::Option *option : sub->parse_order()) {
      if (!compileOptions.contains(option))
        continue;
      const std::string name = option->get_lnames().front();
      options.stopsEarly |= name == "stop-after";
      const bool isSwitch = option->get_items_expected_max() == 0 && name != "train";
      const size_t occurrence = seen[option]++;
      if (!isSwitch)
        options.compileFlags.push_back(name + "=" + option->results().at(occurrence));
      else if (occurrence == 0)
        options.compileFlags.push_back(name);
    }
  }

  CLI::App app;
  Options options;
  std::string placementLog, shell, page;
  const std::vector<std::string> shells{"bash", "zsh", "fish"};
  std::map<std::string, std::vector<std::string>> repeated; // values of compile flags: CLI11 wants
  std::map<std::string, std::string> single;                // a place for each
  std::set<const CLI::Option *> compileOptions;
};

} // namespace

ParsedOptions parseOptions(int argc, char **argv) { return Parser().parse(argc, argv); }

} // namespace gantry::tool
