// Emulated GPUs: what a plan gives an NVIDIA GPU, executed by the interpreter of PTX on the host.
//
// They go by the name of the driver that they stand for, so that a plan for real GPUs runs on them
// as it is. A launch is interpreted on the calling thread, and every access of the kernel is
// checked.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <memory>

namespace gantry::runtime {

/// What is checked of each launch: nothing; bounds, alignment and barriers; races and reads of what
/// was never written as well.
enum class EmulatorChecks { none, memory, all };

/// Memory of an emulated device whose plan gives no limit.
inline constexpr uint64_t emulatedMemory = uint64_t(16) << 30;

/// A driver of the name "cuda".
std::unique_ptr<Driver> createEmulatedDriver(EmulatorChecks checks);

} // namespace gantry::runtime
