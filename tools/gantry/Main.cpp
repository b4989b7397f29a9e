// The driver of Gantry (docs/Spec.md, section 7).
#include "Console.h"
#include "LowMemory.h"
#include "SafeStreams.h"
#include "commands/Commands.h"

#include "gantry/Formats/ArrayFiles.h"

#include <cerrno>
#include <cstdio>

using namespace gantry::tool;

static int dispatch(const Options &options) {
  switch (options.command) {
  case Command::run:
    return runCommand(options);
  case Command::compile:
    return compileCommand(options);
  case Command::check:
    return checkCommand(options);
  case Command::devices:
    return devicesCommand(options);
  case Command::bench:
    return benchCommand(options);
  case Command::explain:
    return explainCommand(options);
  case Command::report:
    return reportCommand(options);
  case Command::diff:
    return diffCommand(options);
  case Command::planText:
    return planTextCommand(options);
  case Command::cache:
    return cacheCommand(options);
  case Command::completion:
  case Command::man:
    std::fputs(options.text.c_str(), stdout);
    return exitSuccess;
  }
  return 0;
}

/// Before everything else that is set up here, which allocates, too.
__attribute__((constructor(101))) static void beginInOrder() { endInOrderWithoutMemory(); }

int main(int argc, char **argv) {
  makeStreamsSafe();
  checkStack();
  const ParsedOptions parsed = parseOptions(argc, argv);
  const int status = parsed.options ? dispatch(*parsed.options) : parsed.exitStatus;
  // A full disk behind standard output shows at the last flush.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    printError("cannot write standard output: " + gantry::arrays::systemReason(errno));
    return exitUserError;
  }
  return status;
}
