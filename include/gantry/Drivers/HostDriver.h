// The driver of CPUs: plain memory, code as shared objects, kernels as functions on the thread
// pool.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <memory>

namespace gantry::runtime {

class ThreadPool;

/// `pool` must outlive the driver.
std::unique_ptr<Driver> createHostDriver(ThreadPool &pool);

} // namespace gantry::runtime
