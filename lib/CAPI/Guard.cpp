// The only file of the C API with exceptions: LLVM's frames let them pass.
#include "Guard.h"

#include "Outcome.h"
#include "ThreadPool.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Thread.h"

#include <exception>
#include <new>

using namespace gantry;
using namespace gantry::capi;

/// What MLIR's parser takes for a text as nested as we let it be, and LLVM's passes for large
/// kernels.
static constexpr size_t leastStack = size_t(1) << 20;

/// The message may find no memory either.
static gantry_status_t noMemory() {
  try {
    return finish(Status::doesNotFit("there is no more memory to compile with"));
  } catch (const std::bad_alloc &) {
    lastError().clear();
    return GANTRY_DOES_NOT_FIT;
  }
}

gantry_status_t gantry::capi::guarded(llvm::function_ref<gantry_status_t()> call) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    if (ThreadPool::hasOpenTasks())
      std::terminate(); // what they use is gone
    return noMemory();
  }
}

Status gantry::capi::checkStack() {
  const size_t left = stackLeft();
  if (left >= leastStack)
    return {};
  return Status::doesNotFit("the stack of this thread has " + formatBytes(left) +
                            " left, compiling takes up to " + formatBytes(leastStack) +
                            "; call from a thread with more (ulimit -s)");
}

void gantry::capi::runTask(llvm::function_ref<void()> task) noexcept { task(); }
