// The command line of gantry-ptx.
#pragma once

#include "gantry/PTX/Machine.h"

#include <optional>
#include <string>
#include <vector>

namespace gantry::ptx::tool {

/// Exit statuses, as of the other tools (docs/Errors.md).
enum Exit : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

struct Options {
  std::string command; ///< parse, lint, run
  std::string file;
  std::string kernel;
  Index3 grid = {1, 1, 1}, block = {32, 1, 1};
  uint64_t dynamicShared = 0;
  std::vector<std::string> arguments;
  struct Numbered {
    size_t argument;
    std::string path;
  };
  std::vector<Numbered> save, expect;
  double rtol = 0, atol = 0;
  std::vector<std::string> allow;
  Checks checks = Checks::all;
  unsigned threads = 1;
  uint64_t seed = 0, steps = uint64_t(1) << 40;
  unsigned repeat = 1;
  bool quiet = false;
};

/// None: help was printed or the command line is wrong; *status is then the exit status.
std::optional<Options> parseOptions(int argc, char **argv, int *status);

} // namespace gantry::ptx::tool
