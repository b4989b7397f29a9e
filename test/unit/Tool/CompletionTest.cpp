// Completion scripts and manual pages: what shells and man make of them, and that they have all
// that
// --help has.
#include "ToolFixture.h"

#include <set>

using namespace gantry::tool::test;

namespace {
class Completion : public GantryTool {
protected:
  Result shell(const std::string &command) {
    const int status =
        std::system(("cd " + folder.path() + " && (" + command + ") >out 2>err").c_str());
    return {WEXITSTATUS(status), contentOf(folder / "out"), contentOf(folder / "err")};
  }

  /// What bash offers for the words; the last one is being typed.
  std::set<std::string> offered(const std::vector<std::string> &words) {
    std::string list;
    for (const std::string &word : words)
      list += " '" + word + "'";
    const Result run =
        shell(GANTRY_TOOL " completion bash > c.bash && bash -c '. ./c.bash; COMP_WORDS=(" +
              std::regex_replace(list, std::regex("'"), "\"") +
              "); COMP_CWORD=" + std::to_string(words.size() - 1) +
              "; _gantry; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err, "");
    std::istringstream lines(run.out);
    std::set<std::string> found;
    for (std::string line; std::getline(lines, line);)
      if (!line.empty())
        found.insert(line);
    return found;
  }

  bool has(const char *program) { return shell(std::string("command -v ") + program).status == 0; }

  std::vector<std::string> commands() {
    return {"run",     "compile", "check", "devices",   "bench",
            "explain", "report",  "diff",  "plan-text", "cache"};
  }

  /// Every --flag that the help of a command starts a line with.
  std::set<std::string> flagsOf(const std::string &command) {
    const std::string help = gantry(command + " --help-all").out;
    const std::regex flag("\n  (?:-\\w,)?(--[a-z-]+)");
    std::set<std::string> flags;
    for (std::sregex_iterator at(help.begin(), help.end(), flag), end; at != end; ++at)
      flags.insert((*at)[1]);
    EXPECT_GE(flags.size(), 2u) << help;
    return flags;
  }
};
using Words = std::set<std::string>;
} // namespace

TEST_F(Completion, OffersCommandsFlagsAndValues) {
  EXPECT_EQ(offered({"gantry", "co"}), (Words{"compile", "completion"}));
  EXPECT_EQ(offered({"gantry", "run", "--place"}),
            (Words{"--place", "--placement", "--placement-lock"}));
  EXPECT_EQ(offered({"gantry", "run", "--placement", ""}), (Words{"default", "follow", "auto"}));
  EXPECT_EQ(offered({"gantry", "run", "--placement", "=", "a"}), (Words{"auto"}));
  EXPECT_EQ(offered({"gantry", "run", "--placement", "="}), (Words{"default", "follow", "auto"}));
  EXPECT_EQ(offered({"gantry", "compile", "--stop-after=", "s"}), (Words{}));
  EXPECT_EQ(offered({"gantry", "compile", "--stop-after", "s"}), (Words{"simplify", "schedule"}));
  EXPECT_EQ(offered({"gantry", "completion", ""}), (Words{"bash", "zsh", "fish"}));
}

TEST_F(Completion, OffersFilesWhereFilesGo) {
  write(folder / "model.onnx", "");
  EXPECT_EQ(offered({"gantry", "run", "mod"}), (Words{"model.onnx"}));
  EXPECT_EQ(offered({"gantry", "run", "--input", "x", "=", "ramp"}), (Words{"ramp.npy"}));
  EXPECT_EQ(offered({"gantry", "compile", "m", "-o", "mod"}), (Words{"model.onnx"}));
  EXPECT_EQ(offered({"gantry", "run", "--seed", ""}), (Words{}));
}

TEST_F(Completion, HasEveryFlagOfEveryHelp) {
  for (const std::string &command : commands()) {
    const std::string page = gantry("man " + command).out;
    const std::set<std::string> flags = flagsOf(command), bash = offered({"gantry", command, "--"});
    EXPECT_EQ(bash, flags) << command;
    for (const std::string &flag : flags) {
      const std::string escaped = std::regex_replace(flag, std::regex("-"), "\\-");
      EXPECT_HAS(page, escaped);
    }
  }
}

TEST_F(Completion, ShellsCanReadTheirScripts) {
  EXPECT_EQ(gantry("completion ksh").status, 2);
  EXPECT_HAS(gantry("completion ksh").err, "SHELL: expected bash, zsh or fish, got 'ksh'\n");
  for (const char *name : {"bash", "zsh", "fish"}) {
    const Result script = gantry("completion " + std::string(name) + " > script; cat script");
    EXPECT_EQ(script.status, 0);
    if (has(name))
      EXPECT_EQ(shell(name + std::string(" -n script")).err, "");
  }
}

TEST_F(Completion, ManCanReadThePages) {
  EXPECT_EQ(gantry("man frobnicate").status, 2);
  if (!has("groff"))
    GTEST_SKIP() << "groff is not installed";
  for (std::string page : {"", "run", "compile", "diff", "man"}) {
    const Result shown = shell(GANTRY_TOOL " man " + page + " | groff -man -Tutf8 -ww | col -bx");
    EXPECT_EQ(shown.err, "") << page;
    EXPECT_HAS(shown.out, page.empty() ? "gantry COMMAND [arguments]" : "gantry " + page);
    EXPECT_HAS(shown.out, "EXIT STATUS");
  }
}
