// The subcommands: each does its whole work and gives the exit status.
#pragma once

#include "Options.h"

namespace gantry::tool {

int runCommand(const Options &options);
int compileCommand(const Options &options);
int checkCommand(const Options &options);
int devicesCommand(const Options &options);
int benchCommand(const Options &options);
int explainCommand(const Options &options);
/// explain --scaling.
int explainScaling(const Options &options);
int reportCommand(const Options &options);
int diffCommand(const Options &options);
int planTextCommand(const Options &options);
int cacheCommand(const Options &options);

} // namespace gantry::tool
