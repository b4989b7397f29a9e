// What the tool says of command lines that cannot be meant, of inputs that were forgotten, and of
// names that would steer a terminal.
#include "ToolFixture.h"

using namespace gantry::tool::test;

namespace {
class Usage : public GantryTool {
protected:
  /// Wrong usage: the text without the line that leads to --help.
  std::string wrong(const std::string &arguments, const std::string &command = " run") {
    const Result run = gantry(arguments);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_EQ(run.out, "");
    const std::string help = "gantry: `gantry" + command + " --help` shows the usage\n";
    EXPECT_TRUE(run.err.ends_with(help)) << run.err;
    const std::string text = run.err.substr(0, run.err.size() - help.size());
    EXPECT_TRUE(text.starts_with("gantry: error: ") && text.ends_with("\n")) << run.err;
    return text.substr(15, text.size() - 16);
  }
};

constexpr char commands[] =
    "run, compile, check, devices, bench, explain, report, diff, plan-text, cache, completion, man";
} // namespace

TEST_F(Usage, NamesTheNearestCommand) {
  EXPECT_EQ(wrong("runn p.gantry", ""), "unknown command 'runn'; did you mean 'run'?");
  EXPECT_EQ(wrong("frobnicate", ""),
            std::string("unknown command 'frobnicate'; the commands are ") + commands);
  EXPECT_EQ(wrong("", ""), std::string("a command is missing; the commands are ") + commands);
  EXPECT_EQ(wrong("--fast", ""),
            std::string("unknown flag '--fast'; a command comes first: ") + commands);
}

TEST_F(Usage, SpeaksOfFlagsAndFilesInItsOwnVoice) {
  EXPECT_EQ(wrong("run"), "FILE is missing");
  EXPECT_EQ(wrong("run --placment=auto"), "unknown flag '--placment'; did you mean '--placement'?");
  EXPECT_EQ(wrong("run p.gantry --frob"), "unknown flag '--frob'");
  EXPECT_EQ(wrong("run p.gantry q.gantry"), "'q.gantry' is one file too many");
  EXPECT_EQ(wrong("run p.gantry --input"), "--input needs a value: --input NAME=FILE");
  EXPECT_EQ(wrong("run p.gantry --seed=1 --seed=2"), "--seed is given more than once");
  EXPECT_EQ(wrong("explain p.gantry --why-not conv", " explain"),
            "--why-not needs a value: --why-not PATTERN DEVICE");
  EXPECT_EQ(wrong("diff p.gantry", " diff"), "B is missing");
  EXPECT_EQ(wrong("run p.gantry --output ''"), "--output needs a value: --output NAME=FILE");
  EXPECT_EQ(wrong("run p.gantry --function ''"), "--function needs a value: --function NAME");
  EXPECT_EQ(wrong("compile m.onnx --devices ''", " compile"),
            "--devices needs a value: --devices LIST");
  EXPECT_EQ(wrong("explain p.gantry --why-not '' CPU:0", " explain"),
            "--why-not needs a value: --why-not PATTERN DEVICE");
  EXPECT_EQ(wrong("run p.gantry --verbose=99999999999999999999"), "--verbose takes no value");
  EXPECT_EQ(wrong("explain p.gantry --json=false", " explain"), "--json takes no value");
  EXPECT_EQ(wrong("run p.gantry --soft-placement=off"), "--soft-placement takes no value");
}

TEST_F(Usage, TakesOnlyValuesThatThereAre) {
  EXPECT_EQ(wrong("run p.gantry --placement=magic"),
            "--placement: expected one of default, follow, auto, got 'magic'");
  EXPECT_EQ(wrong("run p.gantry --copies=explicti"),
            "--copies: expected one of auto, explicit, got 'explicti'; did you mean 'explicit'?");
  EXPECT_EQ(wrong("compile p.gantry --stop-after=foo", " compile"),
            "--stop-after: expected one of import, simplify, replicate, place, copy, fuse, kernel, "
            "schedule, memory, llvm, ptx, got 'foo'");
  EXPECT_EQ(wrong("run p.gantry --fill x=noise"),
            "--fill: unknown fill 'noise'; known are uniform:A:B, normal, randint:A:B, zeros, ones "
            "and ramp");
}

TEST_F(Usage, TakesNumbersWholeAndWithinBounds) {
  for (const char *value : {"-1", "inf", "nan", "1e99", "5x", "0x10", "1.5", "' 1'"}) {
    for (const char *flag : {"run p.gantry --seed", "run p.gantry --repeat",
                             "run p.gantry --threads", "run p.gantry --effort"}) {
      const std::string text = wrong(flag + std::string("=") + value);
      EXPECT_HAS(text, ": expected a whole number from ");
    }
    for (const char *flag : {"bench p.gantry --warmup", "bench p.gantry --runs"})
      EXPECT_HAS(wrong(flag + std::string("=") + value, " bench"),
                 ": expected a whole number from ");
  }
  for (const char *value : {"-1", "inf", "nan", "1e99", "5x", "''"}) {
    const auto is = [&](const std::string &text, const std::string &flag, const char *most) {
      if (std::string(value) == "''")
        EXPECT_HAS(text, "--" + flag + " needs a value");
      else
        EXPECT_EQ(text,
                  "--" + flag + ": expected a number from 0 to " + most + ", got '" + value + "'");
    };
    is(wrong("bench p.gantry --min-time=" + std::string(value), " bench"), "min-time", "86400");
    is(wrong("run p.gantry --rtol=" + std::string(value)), "rtol", "1e+30");
    is(wrong("run p.gantry --atol=" + std::string(value)), "atol", "1e+30");
  }
  EXPECT_EQ(wrong("run p.gantry --repeat=0"),
            "--repeat: expected a whole number from 1 to 1073741824, got '0'");
  for (const char *value : {"a=-1", "a=", "=1", "a", "a=1e99", "a=5x"})
    EXPECT_EQ(wrong("run p.gantry --dim " + std::string(value)),
              "--dim: expected NAME=N, N being a whole number from 0 on, got '" +
                  std::string(value) + "'");
  EXPECT_EQ(gantry("bench p.gantry --runs=2 --warmup=0 --min-time=0 --seed=010").status, 0);
}

TEST_F(Usage, RefusesFlagsThatContradictEachOther) {
  EXPECT_EQ(
      wrong("run p.gantry --simulate --emulate"),
      "--simulate and --emulate contradict each other: with --simulate GPUs run the kernels of "
      "CPUs on a virtual clock, with --emulate their own kernels are interpreted; give one");
  EXPECT_EQ(wrong("run p.gantry --math-limit 0.1"),
            "--math-limit is about --compare-math, which is not given");
  EXPECT_EQ(wrong("compile m.onnx --with-weights", " compile"),
            "--with-weights is about the text of --stop-after, which is not given");
}

TEST_F(GantryTool, WhatOnlyTheCompilerKnowsToBeAWrongValueIsWrongUsage) {
  compiler = fake;
  write(folder / "m.onnx", "error no such thing\nfail 1 no such thing");
  for (const char *command : {"compile", "check", "run", "explain"}) {
    EXPECT_EQ(gantry(std::string(command) + " m.onnx --target-cpu=wrong").status, 2) << command;
    EXPECT_EQ(gantry(std::string(command) + " m.onnx --target-cpu=x86-64-v3").status, 1) << command;
  }
  EXPECT_EQ(gantry("explain m.onnx --target-cpu=wrong --why-not x CPU:0").status, 2);
  write(folder / "big.onnx", "fail 5 too small");
  EXPECT_EQ(gantry("compile big.onnx --target-cpu=wrong").status, 3);
  for (const char *flags : {"--op ops:x", "--why-not ops:x CPU:0", "--why-not x XPU:0"})
    EXPECT_EQ(gantry(std::string("explain m.onnx ") + flags).status, 2) << flags;
  for (const char *flags :
       {"--verify=sometimes", "--emulate-checks=some", "--log-device-placement=xml"})
    EXPECT_HAS(gantry(std::string("run p.gantry ") + flags).err, "expected one of ");
  for (const char *flag : {"--devices=FPU:0", "--devices=GPU:0@0", "--devices=GPU:0,GPU:0",
                           "--visible=x", "--visible=0,0", "--split=GPU:0=0", "--visible=3"})
    EXPECT_EQ(gantry(std::string("devices ") + flag).status, 2) << flag;
  EXPECT_EQ(gantry("devices --topology none.json").status, 1);
}

TEST_F(GantryTool, HelpHasTheFlagsOfEveryDay_HelpAllTheOthers) {
  const auto flagsIn = [](const std::string &help) {
    const std::regex line("\\n  (-., ?)?(--[a-z-]+)");
    std::vector<std::string> flags;
    for (std::sregex_iterator it(help.begin(), help.end(), line), end; it != end; ++it)
      if (const std::string flag = (*it)[2]; !flag.starts_with("--help"))
        flags.push_back(flag);
    return flags;
  };
  const std::string top = gantry("--help").out;
  size_t commands = 0;
  const std::regex line("\n  ([a-z-]+) ");
  const std::string list = top.substr(std::min(top.find("Subcommands:"), top.find("SUBCOMMANDS:")));
  for (std::sregex_iterator it(list.begin(), list.end(), line), end; it != end; ++it, ++commands) {
    const std::string command = (*it)[1];
    const std::string some = gantry(command + " --help").out,
                      all = gantry(command + " --help-all").out;
    const auto shown = flagsIn(some), every = flagsIn(all);
    EXPECT_LE(shown.size(), 15u) << command;
    for (const std::string &flag : shown)
      EXPECT_NE(std::find(every.begin(), every.end(), flag), every.end()) << command << flag;
    const std::string more = std::to_string(every.size() - shown.size()) + " more flags: gantry " +
                             command + " --help-all\n";
    EXPECT_EQ(some.find(more) != some.npos, every.size() > shown.size()) << some;
    EXPECT_EQ(all.find("more flags"), all.npos);
    // The manual keeps all of them, and so does completion.
    const std::string manual = gantry("man " + command).out, bash = gantry("completion bash").out;
    for (const std::string &flag : every) {
      EXPECT_HAS(bash, flag);
      EXPECT_HAS(manual, std::regex_replace(flag, std::regex("-"), "\\-"));
    }
  }
  EXPECT_EQ(commands, 12u);
}

TEST_F(GantryTool, AForgottenInputIsNotMadeUp) {
  const Result run = gantry("run p.gantry --input a=ramp.npy");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(
      run.err,
      "gantry: error: --input gives no value for b: f32[2,2]; give it with --input b=FILE, or "
      "have it made up with --fill b=SPEC, or --fill SPEC for all\n");
  EXPECT_EQ(gantry("run p.gantry --input a=ramp.npy --fill b=ones").status, 0);
  EXPECT_EQ(gantry("run p.gantry --input a=ramp.npy --fill ones").status, 0);
  EXPECT_EQ(gantry("bench p.gantry --runs 1 --input a=ramp.npy").status, 1);
}

namespace {
/// A plan whose input, output, kernel and op are called what a hostile model calls them.
class HostileNames : public GantryTool {
protected:
  void describe(PlanBuilder &builder) override {
    GantryTool::describe(builder);
    const std::string name = "x\x1b]0;pwned\x07\ngantry: error: \xff\xc2\x9bк";
    builder.function().inputs[0]->name = name;
    builder.function().outputs[0]->name = name;
    builder.function().placed_ops[0]->name = name;
    builder.function().placed_ops[0]->log_name = name;
    builder.plan.source = name;
  }
  static constexpr char shown[] = "x\\x1b]0;pwned\\x07\\ngantry: error: \\xff\\x9bк";
};
} // namespace

TEST_F(HostileNames, DoNotReachTheTerminal) {
  for (const char *command : {"run p.gantry", "run p.gantry --log-device-placement",
                              "run p.gantry -v", "explain p.gantry", "explain p.gantry --memory",
                              "run p.gantry --input q=ramp.npy", "bench p.gantry --runs 1"}) {
    const Result run = gantry(command);
    const std::string all = run.out + run.err;
    for (const char *raw : {"\x1b", "\x07", "\xff", "\xc2\x9b", "\ngantry: error: \\xff"})
      EXPECT_EQ(all.find(raw), std::string::npos) << command << "\n" << all;
  }
  EXPECT_HAS(gantry("run p.gantry").out, std::string(shown) + ": f32[2,2] on CPU:0\n");
  EXPECT_HAS(gantry("explain p.gantry").out, shown);
  EXPECT_HAS(gantry("run p.gantry --log-device-placement").err, std::string("op ") + shown);
  EXPECT_HAS(gantry("run p.gantry --input q=ramp.npy").err, shown);
}

TEST_F(HostileNames, StayValidInJSON) {
  const std::string json = gantry("explain p.gantry --json").out;
  EXPECT_HAS(json, "x\\u001b]0;pwned\\u0007\\u000agantry: error: \\ufffd\\u009bк");
}
