// Which instruction sets this machine has, by the names of /proc/cpuinfo.
#pragma once

#include "gantry/Support/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::runtime {

/// "x86-64" or "aarch64": what a plan's code names as its target.
std::string_view machineTarget();

/// The features of the first processor in the text of /proc/cpuinfo, sorted. Exposed for tests.
std::vector<std::string> parseCPUFeatures(std::string_view cpuinfo);

/// This machine's features, read anew at each call.
std::vector<std::string> machineFeatures();

/// UNSUPPORTED, naming what is missing, unless `available` (sorted) has all of `required`.
Status checkCPUFeatures(const std::vector<std::string> &required,
                        const std::vector<std::string> &available);

} // namespace gantry::runtime
