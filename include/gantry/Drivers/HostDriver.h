// The driver of CPUs: plain memory, code as shared objects, kernels as functions on the thread
// pool.
#pragma once

#include "gantry/Runtime/Device.h"
#include "gantry/Runtime/Driver.h"

#include <memory>

namespace gantry::runtime {

class ThreadPool;

/// `pool` must outlive the driver.
std::unique_ptr<Driver> createHostDriver(ThreadPool &pool);

/// Memory of the machine, or of the container that we are in.
Expected<MemoryInfo> readHostMemory();

} // namespace gantry::runtime
