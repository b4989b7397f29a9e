// Simulated devices: they have memory, limits and queues of their own, and run on the host (spec
// D6).
//
// The devices of one driver take turns: the memory of each is a range of addresses that nobody can
// touch but the command that runs at the moment. Programs that use them run one command at a time,
// with time counted on a virtual clock.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <memory>

namespace gantry::runtime {

class ThreadPool;

/// Memory of a simulated device whose plan gives no limit.
inline constexpr uint64_t simDefaultMemory = uint64_t(16) << 30;

/// `pool` runs the kernels and must outlive the driver.
std::unique_ptr<Driver> createSimDriver(ThreadPool &pool);

} // namespace gantry::runtime
