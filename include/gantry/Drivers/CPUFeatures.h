// What this machine's CPU can run: instruction sets by the names of /proc/cpuinfo.
#pragma once

#include "gantry/Runtime/Device.h"

#include <span>
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

/// Names what is missing, unless `available` (sorted) has all of `required`.
Unmet unmetByCPU(std::span<const std::string_view> required,
                 const std::vector<std::string> &available);

/// What this machine's CPU lacks for a variant; its features are read once.
Unmet unmetByHost(const VariantNeeds &needs);

} // namespace gantry::runtime
