// The command line of gantry-memplan.
#pragma once

#include "gantry/Packing/Packing.h"

#include <optional>
#include <string>

namespace gantry::memplan {

/// Exit statuses, as of the other tools (docs/Errors.md).
enum Exit : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2, exitDoesNotFit = 3 };

struct Options {
  std::string input, output, svg;
  uint64_t alignment = 1;
  packing::Options search{.rounds = 3};
  bool hasCapacity = false;
  bool quiet = false;
};

/// None: help or the like was printed, or the command line is wrong; *status is then the exit
/// status.
std::optional<Options> parseOptions(int argc, char **argv, int *status);

} // namespace gantry::memplan
