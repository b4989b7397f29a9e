// The driver of Gantry (docs/Spec.md, section 7).
#include "Commands.h"

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
  case Command::planText:
    return planTextCommand(options);
  }
  return 0;
}

int main(int argc, char **argv) {
  const ParsedOptions parsed = parseOptions(argc, argv);
  if (!parsed.options)
    return parsed.exitStatus;
  return dispatch(*parsed.options);
}
