// The runtime's own executors.
#pragma once

#include "gantry/Runtime/Executor.h"

#include <memory>

namespace gantry::runtime {

/// For programs whose devices all run inline. Both must outlive the executor, here and below.
std::unique_ptr<Executor> createInlineExecutor(const Program &program, ThreadPool &pool);

/// For programs on devices with queues; commands of devices that run inline are done where they
/// stand.
std::unique_ptr<Executor> createQueuedExecutor(const Program &program, ThreadPool &pool);

} // namespace gantry::runtime
